//! The link layer's header, which Linux's queues count.
//!
//! Sizes of packets are those of IP packets everywhere. Linux's queues and shapers count what the device sends
//! (`qdisc_pkt_len`): at an Ethernet device 14 bytes more. Which disciplines and parents do so is a part of their
//! declarations ([`AqmSpec::counts_header`](crate::catalogue::AqmSpec::counts_header),
//! [`ParentSpec::linux`](crate::parents::ParentSpec)); the bytes are added here, and taken off again from all that
//! leaves the queue: packets, lengths, counts. What `tc -s qdisc` shows of tins and classes keeps them.

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
    /// None: a TUN device, or PPP.
    Ip,
}

impl LinkLayer {
    /// All of them.
    pub const ALL: [LinkLayer; 2] = [LinkLayer::Ethernet, LinkLayer::Ip];

    /// Name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            LinkLayer::Ethernet => "ethernet",
            LinkLayer::Ip => "ip",
        }
    }

    /// Bytes of its header (Linux: `hard_header_len`).
    pub fn header(self) -> i32 {
        match self {
            LinkLayer::Ethernet => 14,
            LinkLayer::Ip => 0,
        }
    }
}

/// `queue` with packets that are `bytes` longer, or shorter, than those around it.
pub fn counting(queue: Box<dyn Discipline>, bytes: i32) -> Box<dyn Discipline> {
    if bytes == 0 {
        return queue;
    }
    let (reads_headers, counters) = (queue.reads_headers(), Counters::default());
    Box::new(Counting { queue, bytes, reads_headers, counters })
}

/// A discipline that counts so many bytes more of each packet.
struct Counting {
    queue: Box<dyn Discipline>,
    bytes: i32,
    reads_headers: bool,
    /// The discipline's, in bytes of those around it.
    counters: Counters,
}

impl Counting {
    /// What `call` does with the discipline, whose drops are reported with their own sizes.
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

    fn held_until(&self) -> Option<Time> {
        self.queue.held_until()
    }

    fn reads_headers(&self) -> bool {
        self.reads_headers
    }

    fn washes(&self, class: u8) -> bool {
        self.queue.washes(class)
    }

    fn packets(&self) -> u64 {
        self.queue.packets()
    }

    fn bytes(&self) -> u64 {
        self.queue.bytes().wrapping_add_signed(-i64::from(self.bytes) * self.packets() as i64)
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn reset_counters(&mut self) {
        self.queue.reset_counters();
        self.count();
    }

    fn watches_departures(&self) -> bool {
        self.queue.watches_departures()
    }

    fn next_timer(&self) -> Option<Time> {
        self.queue.next_timer()
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

    fn average(&self) -> Option<f64> {
        self.queue.average()
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.queue.gauges(out);
    }

    fn groups(&self, out: &mut dyn FnMut(usize, &'static str, f64)) {
        self.queue.groups(out);
    }

    fn parent(&self, out: &mut dyn FnMut(Option<usize>, &'static str, f64)) {
        self.queue.parent(out);
    }

    fn change(&mut self, built: Built) -> bool {
        self.queue.change(built)
    }

    fn memory(&self, leaving: bool, out: &mut dyn FnMut(*const u8, usize)) {
        out(std::ptr::from_ref(&*self.queue).cast(), size_of_val(&*self.queue));
        self.queue.memory(leaving, out);
    }
}
