//! The link layer's header, which Linux's queues count.
//!
//! Sizes of packets are those of IP packets everywhere. Linux's queues and shapers count what the device sends
//! (`qdisc_pkt_len`): at an Ethernet device 14 bytes more. Whether a discipline or parent counts the header stands in
//! its declaration ([`AqmSpec::counts_header`](crate::catalogue::AqmSpec::counts_header),
//! [`ParentSpec::linux`](crate::parents::ParentSpec)); here the header's bytes are added, and taken off again from all
//! that leaves the queue: packets, lengths, counts.

use crate::discipline::{Admitted, Built, Discipline, OnDrop};
use crate::gate::Counters;
use crate::header::Header;
use crate::policy::Reason;
use crate::{Packet, Time};

/// The link layer of a device, as far as its queues see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinkLayer {
    /// Ethernet.
    #[default]
    Ethernet,
    /// No header: a TUN device, or PPP.
    Ip,
}

impl LinkLayer {
    /// All link layers.
    pub const ALL: [LinkLayer; 2] = [LinkLayer::Ethernet, LinkLayer::Ip];

    /// Name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            LinkLayer::Ethernet => "ethernet",
            LinkLayer::Ip => "ip",
        }
    }

    /// Bytes of the link layer's header (Linux: `hard_header_len`).
    pub fn header(self) -> i32 {
        match self {
            LinkLayer::Ethernet => 14,
            LinkLayer::Ip => 0,
        }
    }
}

/// `queue`, in which packets are longer by `bytes` (shorter if negative) than outside.
pub fn counting(queue: Box<dyn Discipline>, bytes: i32) -> Box<dyn Discipline> {
    if bytes == 0 {
        return queue;
    }
    let (reads_headers, counters) = (queue.reads_headers(), Counters::default());
    Box::new(Counting { queue, bytes, reads_headers, counters })
}

/// A discipline in which each packet is longer than outside.
struct Counting {
    queue: Box<dyn Discipline>,
    bytes: i32,
    reads_headers: bool,
    /// Counts of the discipline, with sizes as outside.
    counters: Counters,
}

impl Counting {
    /// Calls `call` with the discipline; drops are reported with their sizes outside.
    #[inline]
    fn around<T>(
        &mut self,
        on_drop: &mut OnDrop<'_>,
        call: impl FnOnce(&mut dyn Discipline, &mut OnDrop<'_>) -> T,
    ) -> T {
        let bytes = self.bytes;
        let result = call(&mut *self.queue, &mut |packet: &Packet, reason: Reason| {
            on_drop(&resized(*packet, -bytes), reason);
        });
        self.count();
        result
    }

    fn count(&mut self) {
        let seen = self.queue.counters();
        let sizes = |packets: u64, bytes: u64| bytes.wrapping_add_signed(-i64::from(self.bytes) * packets as i64);
        self.counters = Counters {
            arrived_bytes: sizes(seen.arrivals, seen.arrived_bytes),
            departed_bytes: sizes(seen.departures, seen.departed_bytes),
            ..*seen
        };
    }
}

#[inline]
fn resized(packet: Packet, bytes: i32) -> Packet {
    Packet { size: packet.size.wrapping_add_signed(bytes), ..packet }
}

impl Discipline for Counting {
    fn inside(&self) -> Option<&dyn Discipline> {
        Some(&*self.queue)
    }

    fn enqueue(&mut self, packet: Packet, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Admitted> {
        if self.reads_headers {
            return self.enqueue_with(packet, &Header::of(&packet), now, on_drop);
        }
        let packet = resized(packet, self.bytes);
        self.around(on_drop, |queue, on_drop| queue.enqueue(packet, now, on_drop))
    }

    fn enqueue_with(
        &mut self,
        packet: Packet,
        header: &Header,
        now: Time,
        on_drop: &mut OnDrop<'_>,
    ) -> Option<Admitted> {
        let packet = resized(packet, self.bytes);
        let header = Header { offset: header.offset + self.bytes, ..*header };
        self.around(on_drop, |queue, on_drop| queue.enqueue_with(packet, &header, now, on_drop))
    }

    fn dequeue(&mut self, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Packet> {
        let packet = self.around(on_drop, |queue, on_drop| queue.dequeue(now, on_drop));
        packet.map(|packet| resized(packet, -self.bytes))
    }

    fn reads_headers(&self) -> bool {
        self.reads_headers
    }

    fn packets(&self) -> u64 {
        self.queue.packets()
    }

    fn bytes(&self) -> u64 {
        self.queue.bytes().wrapping_add_signed(-i64::from(self.bytes) * self.packets() as i64)
    }

    fn waiting(&self, out: &mut dyn FnMut(usize, &Packet)) {
        self.queue.waiting(&mut |queue, packet| out(queue, &resized(*packet, -self.bytes)));
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn reset_counters(&mut self) {
        self.queue.reset_counters();
        self.count();
    }

    fn on_timer(&mut self, now: Time) {
        self.queue.on_timer(now);
        self.count();
    }

    fn on_timers(&mut self, until: Time) -> Option<(u64, Time)> {
        let ran = self.queue.on_timers(until);
        self.count();
        ran
    }

    /// Corrects sums of bytes by the number of their packets.
    fn parent(&self, out: &mut dyn FnMut(Option<usize>, &'static str, f64)) {
        let mut packets = 0.0;
        self.queue.parent(&mut |class, name, value| {
            if name.ends_with("packets") {
                packets = value;
            }
            let longer = if name.ends_with("bytes") { f64::from(self.bytes) * packets } else { 0.0 };
            out(class, name, value - longer);
        });
    }

    fn change(&mut self, built: Built) -> bool {
        self.queue.change(built)
    }

    fn memory(&self, leaving: bool, out: &mut dyn FnMut(*const u8, usize)) {
        out(std::ptr::from_ref(&*self.queue).cast(), size_of_val(&*self.queue));
        self.queue.memory(leaving, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::AqmSpec;
    use crate::prelude::*;

    const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.01 };
    const ETHERNET: i32 = 14;

    fn build(spec: &AqmSpec, values: &Values) -> Box<dyn Discipline> {
        let limit = Limit::Bytes(40_000);
        let built = (spec.build)(values, &LINK, limit).unwrap_or_else(|error| panic!("{}: {error:?}", spec.name));
        built.queue(limit, true, Generator::stream(1, "queue"))
    }

    /// What happened to a packet: its tag, size and ECN field.
    type Seen = (u32, u32, Ecn);
    /// Packets and bytes that wait, and the counts.
    type Reported = (u64, u64, Counters);

    /// What a queue drops, marks and sends of 3000 packets, each `longer` than the one drawn, and what it reports.
    fn decisions(queue: &mut dyn Discipline, longer: i32) -> (Vec<Seen>, Vec<Reported>) {
        let mut random = Generator::stream(2, "arrivals");
        let (mut seen, mut reported, mut now) = (Vec::new(), Vec::new(), 0.0);
        for tag in 0..3000 {
            now += random.uniform() * 1.5e-3;
            let size = (40.0 + 1460.0 * random.uniform()) as u32;
            let time = Time::from_seconds(now);
            while let Some(due) = queue.next_timer().filter(|due| *due <= time) {
                queue.on_timer(due);
            }
            let packet = Packet {
                tag,
                class: (tag % 8) as u8,
                ecn: if tag % 2 == 0 { Ecn::Ect0 } else { Ecn::NotEct },
                ..Packet::new(u64::from(tag % 5), size.wrapping_add_signed(longer))
            };
            let header = Header { offset: longer, ..Header::of(&packet) };
            let mut drop = |victim: &Packet, _| seen.push((victim.tag, victim.size, Ecn::NotEct));
            if queue.reads_headers() {
                queue.enqueue_with(packet, &header, time, &mut drop);
            } else {
                queue.enqueue(packet, time, &mut drop);
            }
            if tag % 4 != 0 {
                if let Some(packet) = queue.dequeue(time, &mut drop) {
                    seen.push((packet.tag, packet.size, packet.ecn));
                }
            }
            reported.push((queue.packets(), queue.bytes(), *queue.counters()));
            if tag == 1500 {
                queue.reset_counters();
            }
        }
        (seen, reported)
    }

    /// Every discipline decides as over packets with the header, and reports packets without.
    #[test]
    fn a_header_is_counted_inside_only() {
        for spec in catalogue::all() {
            let (longer, of_longer) = decisions(&mut *build(spec, &Values::new()), ETHERNET);
            let (seen, reported) = decisions(&mut *counting(build(spec, &Values::new()), ETHERNET), 0);
            let shorter = longer.into_iter().map(|(tag, size, ecn)| (tag, size - 14, ecn));
            assert!(seen.into_iter().eq(shorter), "{}", spec.name);
            for (found, (packets, bytes, counters)) in reported.into_iter().zip(of_longer) {
                let arrived_bytes = counters.arrived_bytes - 14 * counters.arrivals;
                let departed_bytes = counters.departed_bytes - 14 * counters.departures;
                let counters = Counters { arrived_bytes, departed_bytes, ..counters };
                assert_eq!(found, (packets, bytes - 14 * packets, counters), "{}", spec.name);
            }
            // Shorter and longer by as much: nothing changes.
            let nothing = counting(counting(build(spec, &Values::new()), -ETHERNET), ETHERNET);
            let (mut both, mut plain) = (nothing, build(spec, &Values::new()));
            assert!(decisions(&mut *both, 0) == decisions(&mut *plain, 0), "{}", spec.name);
        }
    }

    /// By default, and with each dialect. No discipline changes its dialect while it runs.
    #[test]
    fn what_follows_linux_counts_it() {
        let counts = |spec: &&&AqmSpec| spec.counts_header(&Values::new());
        let by_default: Vec<_> = catalogue::all().iter().filter(counts).map(|spec| spec.name).collect();
        let expected =
            ["linux_ared", "pi2", "cobalt", "fq_pacing", "sfq", "fq_pie", "cake", "dualpi2", "hhf"].as_slice();
        assert_eq!(by_default, expected);
        for spec in catalogue::all() {
            for word in ["paper", "rfc", "linux", "ns2", "ns3"].map(Value::Choice) {
                if spec.param("dialect").is_some_and(|param| param.allows(word)) {
                    let values = Values::of(&[("dialect", word)]);
                    assert_eq!(spec.counts_header(&values), word == Value::Choice("linux"), "{} {word:?}", spec.name);
                }
            }
            let limit = Limit::Packets(100);
            let changes = crate::changeable::changeable(spec, &Values::new(), &LINK, limit);
            assert!(!changes.contains(&"dialect"), "{}", spec.name);
        }
    }

    /// `tc`'s `raw` counts Ethernet's header; `overhead` is added to an IP packet.
    #[test]
    fn cakes_overhead_is_that_of_tc() {
        let spec = catalogue::find("cake").unwrap();
        let spacing = |layer: LinkLayer, overhead: Option<f64>| {
            let mut values = Values::of(&[("bandwidth", Value::Real(8e6))]);
            overhead.map(|bytes| values.set("overhead", Value::Real(bytes)));
            let mut queue = counting(build(spec, &values), layer.header());
            for _ in 0..2 {
                queue.enqueue(Packet::new(1, 1000), Time::ZERO, &mut |_, _| {});
            }
            assert_eq!(queue.dequeue(Time::ZERO, &mut |_, _| {}).map(|packet| packet.size), Some(1000));
            assert_eq!(queue.dequeue(Time::ZERO, &mut |_, _| {}), None);
            (queue.held_until().unwrap().seconds() * 1e6).round()
        };
        assert_eq!([spacing(LinkLayer::Ethernet, None), spacing(LinkLayer::Ip, None)], [1014.0, 1000.0]);
        for layer in LinkLayer::ALL {
            assert_eq!([spacing(layer, Some(38.0)), spacing(layer, Some(0.0))], [1038.0, 1000.0], "{layer:?}");
        }
    }
}
