//! What is measured of a discipline's bands, such as DualPI2's L and C.

use crate::measure::Share;
use crate::sojourns::Sojourns;
use earlydrop_aqm::{Discipline, Packet};

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

/// Is told by a port what happens to its packets.
pub(crate) trait Watch {
    /// Whether sojourn times are kept here.
    const KEEPS: bool;
    /// `packet` arrives at `queue` with this DSCP (if it is asked for), and gets its band.
    fn arrives<D: Discipline + ?Sized>(&mut self, packet: &mut Packet, dscp: impl Fn(&Packet) -> u8, queue: &D);
    /// `packet` is dropped.
    fn dropped(&mut self, packet: &Packet);
    /// `packet` is marked.
    fn marked(&mut self, packet: &Packet);
    /// `packet` departs after a sojourn of `seconds`.
    fn departed(&mut self, packet: &Packet, seconds: f64);
}

/// A queue without bands.
impl Watch for () {
    const KEEPS: bool = false;
    #[inline(always)]
    fn arrives<D: Discipline + ?Sized>(&mut self, _: &mut Packet, _: impl Fn(&Packet) -> u8, _: &D) {}
    #[inline(always)]
    fn dropped(&mut self, _: &Packet) {}
    #[inline(always)]
    fn marked(&mut self, _: &Packet) {}
    #[inline(always)]
    fn departed(&mut self, _: &Packet, _: f64) {}
}

impl Watch for [Band] {
    const KEEPS: bool = true;

    #[inline(always)]
    fn arrives<D: Discipline + ?Sized>(&mut self, packet: &mut Packet, dscp: impl Fn(&Packet) -> u8, queue: &D) {
        packet.set_band(queue.band_of(packet, dscp(packet)));
        self[packet.band()].share.arrived(packet.size);
    }

    #[inline]
    fn dropped(&mut self, packet: &Packet) {
        self[packet.band()].share.dropped(packet.size);
    }

    #[inline]
    fn marked(&mut self, packet: &Packet) {
        self[packet.band()].share.marks += 1;
    }

    #[inline(always)]
    fn departed(&mut self, packet: &Packet, seconds: f64) {
        let band = &mut self[packet.band()];
        band.share.departed(packet.size, seconds);
        band.sojourns.add(seconds);
    }
}

/// The bands of `queue`, if it has some.
pub(crate) fn of(queue: &dyn Discipline) -> Option<Box<[Band]>> {
    let band = |&name| Band { name, share: Share::default(), sojourns: Sojourns::default() };
    let bands: Box<[Band]> = queue.bands().iter().map(band).collect();
    (!bands.is_empty()).then_some(bands)
}

/// The measured window starts.
pub(crate) fn restart(bands: &mut [Band]) {
    for band in bands {
        band.share = Share::default();
        band.sojourns.clear();
    }
}
