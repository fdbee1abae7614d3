//! The deficit shaper: what a packet costs on the link, and when the next may leave.

use super::parameters::{Framing, Settings};
use super::tins::Share;

/// cake_calc_overhead: bytes that the shaper counts for a packet of `size`, of which `offset` precede its IP header.
#[inline]
pub(super) fn on_link(set: &Settings, size: u32, offset: i32) -> u32 {
    let overhead = set.overhead.map_or(0, |overhead| overhead - set.offset - i64::from(offset));
    // Linux computes in 32 bits without a sign: a negative sum would be 4 GB. Here it is nothing.
    let bytes = (i64::from(size) + overhead).max(set.mpu).max(0);
    let bytes = match set.framing {
        Framing::None => bytes,
        Framing::Atm => (bytes + 47) / 48 * 53,
        Framing::Ptm => bytes + (bytes + 63) / 64,
    };
    bytes.min(i64::from(u32::MAX)) as u32
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shaper {
    /// time_next_packet.
    pub next: i64,
    /// failsafe_next_packet: advances at two thirds of the rate, and not for dropped packets.
    pub failsafe: i64,
}

impl Shaper {
    /// The first packet of an empty queue arrives: idle time earns no credit.
    pub fn refresh(&mut self, now: i64) {
        if self.next < now {
            *self = Shaper { next: now, failsafe: now };
        }
    }

    /// When the next packet may leave; `None` if `now`.
    #[inline]
    pub fn held(&self, now: i64) -> Option<i64> {
        (self.next > now && self.failsafe > now).then_some(self.next.min(self.failsafe))
    }

    /// cake_advance_shaper: `bytes` leave (or are `dropped` in ingress mode) from the tin whose next packet is due at
    /// `tin_next`.
    #[inline]
    pub fn advance(&mut self, whole: &Share, tin: &Share, tin_next: &mut i64, bytes: u32, now: i64, dropped: bool) {
        let own = tin.duration(bytes);
        if *tin_next < now {
            *tin_next += own;
        } else if *tin_next < now + own {
            *tin_next = now + own;
        }
        let all = whole.duration(bytes);
        self.next += all;
        if !dropped {
            self.failsafe += all + (all >> 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tins;
    use super::*;
    use crate::prelude::*;

    fn settings(framing: Framing) -> Settings {
        Settings { framing, ..Settings::read(&Values::new(), Limit::Packets(100)).unwrap() }
    }

    /// ATM: 53 bytes for each 48; PTM: one byte more for each 64. Full cells and blocks cost no more.
    #[test]
    fn cells_and_blocks_that_are_full_cost_no_more() {
        let on = |framing, size| on_link(&settings(framing), size, 0);
        assert_eq!([48, 49, 96].map(|size| on(Framing::Atm, size)), [53, 106, 106]);
        assert_eq!([64, 65, 128].map(|size| on(Framing::Ptm, size)), [65, 67, 130]);
        assert_eq!(on(Framing::None, 48), 48);
    }

    #[test]
    fn an_idle_shaper_begins_now_and_one_that_is_due_now_goes_on() {
        let mut shaper = Shaper { next: 5, failsafe: 9 };
        shaper.refresh(5);
        assert_eq!((shaper.next, shaper.failsafe), (5, 9));
        shaper.refresh(6);
        assert_eq!((shaper.next, shaper.failsafe), (6, 6));
    }

    /// A tin's next packet is due one packet's time after its last; a tin behind schedule makes up for one packet only.
    #[test]
    fn a_tin_makes_up_for_one_packet_only() {
        let share = tins::shares(&settings(Framing::None), 1_000_000).remove(0);
        let own = share.duration(1000);
        for (due, then) in [(-7, own - 7), (0, own), (own / 2, own), (own, own), (own + 1, own + 1)] {
            let (mut shaper, mut tin_next) = (Shaper { next: 100, failsafe: 200 }, due);
            shaper.advance(&share, &share, &mut tin_next, 1000, 0, false);
            assert_eq!((tin_next, shaper.next), (then, 100 + own), "{due}");
            assert_eq!(shaper.failsafe, 200 + own + own / 2);
            shaper.advance(&share, &share, &mut tin_next, 1000, 0, true);
            assert_eq!(shaper.failsafe, 200 + own + own / 2, "dropped packets do not postpone it");
        }
    }
}
