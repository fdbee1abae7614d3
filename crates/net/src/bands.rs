//! What is measured of a discipline's bands, such as DualPI2's L and C.

use crate::measure::Share;
use crate::sojourns::Sojourns;
use earlydrop_aqm::catalogue::Built;
use earlydrop_aqm::discipline::{Admitted, OnDrop};
use earlydrop_aqm::gate::Counters;
use earlydrop_aqm::{Discipline, Header, Packet, Time};

/// What passed a band within the measured window.
#[derive(Clone, Debug)]
pub struct Band {
    /// The band's name.
    pub name: &'static str,
    /// Its packets.
    pub share: Share,
    /// Their sojourn times.
    pub sojourns: Sojourns,
}

/// A packet that waits: the driver's own tag, and the packet's band.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    tag: u32,
    band: u32,
}

/// A discipline with bands, each of which is measured. Packets that wait carry the number of their slot as their tag.
pub struct Banded {
    queue: Box<dyn Discipline>,
    bands: Vec<Band>,
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Banded {
    /// Measures the bands of `queue`, which is empty.
    pub fn new(queue: Box<dyn Discipline>) -> Self {
        let band = |&name| Band { name, share: Share::default(), sojourns: Sojourns::default() };
        let bands = queue.bands().iter().map(band).collect();
        Banded { queue, bands, slots: Vec::new(), free: Vec::new() }
    }

    /// What has passed the bands.
    pub fn measured(&self) -> &[Band] {
        &self.bands
    }

    /// `packet` arrives; `enter` offers it to the queue.
    fn arrive(
        &mut self,
        packet: Packet,
        dscp: u8,
        on_drop: &mut OnDrop<'_>,
        enter: impl FnOnce(&mut dyn Discipline, Packet, &mut OnDrop<'_>) -> Option<Admitted>,
    ) -> Option<Admitted> {
        let Banded { queue, bands, slots, free } = self;
        let place = free.pop().unwrap_or_else(|| {
            slots.push(Slot::default());
            slots.len() as u32 - 1
        });
        slots[place as usize].tag = packet.tag;
        let mut refused = false;
        let admitted = enter(&mut **queue, Packet { tag: place, ..packet }, &mut |victim: &Packet, reason| {
            let slot = slots[victim.tag as usize];
            free.push(victim.tag);
            if victim.tag == place {
                refused = true;
            } else {
                bands[slot.band as usize].share.dropped(victim.size);
            }
            on_drop(&Packet { tag: slot.tag, ..*victim }, reason);
        });
        let at = queue.band_of(&packet, dscp);
        slots[place as usize].band = at as u32;
        let share = &mut bands[at].share;
        share.arrived(packet.size);
        if refused {
            share.dropped(packet.size);
        }
        share.marks += u64::from(admitted.is_some_and(|admitted| admitted.0));
        admitted
    }
}

impl Discipline for Banded {
    fn inside(&self) -> Option<&dyn Discipline> {
        Some(&*self.queue)
    }

    fn enqueue(&mut self, packet: Packet, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Admitted> {
        let dscp = Header::of(&packet).dscp;
        self.arrive(packet, dscp, on_drop, |queue, packet, on_drop| queue.enqueue(packet, now, on_drop))
    }

    fn enqueue_with(
        &mut self,
        packet: Packet,
        header: &Header,
        now: Time,
        on_drop: &mut OnDrop<'_>,
    ) -> Option<Admitted> {
        let enter = |queue: &mut dyn Discipline, packet, on_drop: &mut OnDrop<'_>| {
            queue.enqueue_with(packet, header, now, on_drop)
        };
        self.arrive(packet, header.dscp, on_drop, enter)
    }

    fn dequeue(&mut self, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Packet> {
        let Banded { queue, bands, slots, free } = self;
        let packet = queue.dequeue(now, &mut |victim: &Packet, reason| {
            let slot = slots[victim.tag as usize];
            free.push(victim.tag);
            bands[slot.band as usize].share.dropped(victim.size);
            on_drop(&Packet { tag: slot.tag, ..*victim }, reason);
        })?;
        let slot = slots[packet.tag as usize];
        free.push(packet.tag);
        let (band, sojourn) = (&mut bands[slot.band as usize], now - packet.enqueued);
        band.share.departed(packet.size, sojourn);
        band.share.marks += u64::from(packet.ecn != packet.admitted_ecn);
        band.sojourns.add(sojourn);
        Some(Packet { tag: slot.tag, ..packet })
    }

    fn packets(&self) -> u64 {
        self.queue.packets()
    }

    fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    fn counters(&self) -> &Counters {
        self.queue.counters()
    }

    fn reset_counters(&mut self) {
        self.queue.reset_counters();
        for band in &mut self.bands {
            band.share = Share::default();
            band.sojourns.clear();
        }
    }

    fn on_timer(&mut self, now: Time) {
        self.queue.on_timer(now);
    }

    fn on_timers(&mut self, until: Time) -> Option<(u64, Time)> {
        self.queue.on_timers(until)
    }

    fn parent(&self, out: &mut dyn FnMut(Option<usize>, &'static str, f64)) {
        self.queue.parent(out);
    }

    fn change(&mut self, built: Built) -> bool {
        self.queue.change(built)
    }

    fn memory(&self, leaving: bool, out: &mut dyn FnMut(*const u8, usize)) {
        self.queue.memory(leaving, out);
    }
}
