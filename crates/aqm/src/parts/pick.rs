//! A waiting packet drawn at random, in constant time.

use crate::random::Generator;
use crate::ring::Ring;
use crate::Packet;

/// How many slots are drawn before the search goes on by hand. At least one slot in four holds a packet, so so many
/// holes come once in 10^16 draws, or with numbers from a script.
const TRIES: usize = 128;

/// A waiting packet and its serial number, all with the same probability; `None` if none waits.
///
/// A number u names slot floor(u n) of the n slots in use, holes among them; a hole costs another number. At most four
/// numbers are needed in the mean, however many packets have been removed: see [`Ring::slots`].
#[inline]
pub fn any<'a>(ring: &'a Ring, random: &mut Generator) -> Option<(u64, &'a Packet)> {
    within(ring, random, TRIES).or_else(|| (0..=draw(ring, random)?).rev().find_map(|slot| ring.at(slot)))
}

/// [`any`] as in Linux' `sch_choke`: after `tries` holes it takes the oldest packet, which is thus a little likelier
/// than others.
#[inline]
pub fn any_or_oldest<'a>(ring: &'a Ring, random: &mut Generator, tries: usize) -> Option<(u64, &'a Packet)> {
    within(ring, random, tries).or_else(|| ring.at(0))
}

#[inline]
fn within<'a>(ring: &'a Ring, random: &mut Generator, tries: usize) -> Option<(u64, &'a Packet)> {
    (0..tries).map_while(|_| draw(ring, random)).find_map(|slot| ring.at(slot))
}

/// A slot drawn at random; if there is none, no number is drawn.
#[inline]
fn draw(ring: &Ring, random: &mut Generator) -> Option<usize> {
    let last = ring.slots().checked_sub(1)?;
    // A script may give the number 1.
    Some(((random.uniform() * ring.slots() as f64) as usize).min(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring of the given pattern: true a packet, false a hole.
    fn ring(pattern: &[bool]) -> Ring {
        let mut ring = Ring::new();
        let serials: Vec<u64> =
            pattern.iter().enumerate().map(|(i, _)| ring.push(Packet::new(i as u64, 100))).collect();
        for (&serial, _) in serials.iter().zip(pattern).filter(|(_, &stays)| !stays) {
            ring.remove(serial);
        }
        ring
    }

    fn script(numbers: impl Into<Vec<f64>>) -> Generator {
        let mut numbers = numbers.into().into_iter();
        Generator::custom(move || numbers.next().expect("no more numbers than these are drawn"))
    }

    #[test]
    fn a_number_names_a_slot_and_a_hole_costs_another() {
        let ring = ring(&[true, false, true, false, true]);
        let picked = |numbers: &[f64]| any(&ring, &mut script(numbers)).map(|(serial, p)| (serial, p.flow));
        assert_eq!(picked(&[0.0]), Some((0, 0)));
        assert_eq!(picked(&[0.199]), Some((0, 0)));
        assert_eq!(picked(&[0.2, 0.799, 0.4]), Some((2, 2)));
        assert_eq!(picked(&[1.0]), Some((4, 4)));
        let linux = |numbers: &[f64]| any_or_oldest(&ring, &mut script(numbers), 3).map(|(serial, _)| serial);
        assert_eq!(linux(&[0.3, 0.7, 0.5]), Some(2));
        assert_eq!(linux(&[0.3, 0.7, 0.3]), Some(0));
    }

    #[test]
    fn an_empty_queue_costs_no_number() {
        assert!(any(&Ring::new(), &mut script([])).is_none());
        assert!(any_or_oldest(&Ring::new(), &mut script([]), 3).is_none());
    }

    #[test]
    fn a_script_that_only_names_holes_still_ends() {
        let ring = ring(&[true, true, false, true]);
        let picked = any(&ring, &mut Generator::custom(|| 0.6)).map(|(serial, _)| serial);
        assert_eq!(picked, Some(1));
    }

    /// Chi-square over 20 packets among 60 slots: the statistic stays below 60.4, its quantile at 1 - 1e-5 with 19
    /// degrees of freedom. Linux's way takes the head 7 times as often and fails the test.
    #[test]
    fn every_packet_is_as_likely_as_the_next_however_many_holes_there_are() {
        let pattern: Vec<bool> = (0..60).map(|i| i % 3 == 0).collect();
        let ring = ring(&pattern);
        assert_eq!((ring.slots(), ring.packets()), (60, 20));
        let statistic = |linux: bool| {
            let mut random = Generator::stream(1, "pick");
            let mut seen = [0.0_f64; 20];
            for _ in 0..100_000 {
                let picked = if linux { any_or_oldest(&ring, &mut random, 3) } else { any(&ring, &mut random) };
                seen[picked.unwrap().1.flow as usize / 3] += 1.0;
            }
            seen.iter().map(|n| (n - 5000.0) * (n - 5000.0) / 5000.0).sum::<f64>()
        };
        assert!(statistic(false) < 60.4, "{}", statistic(false));
        assert!(statistic(true) > 1000.0, "{}", statistic(true));
    }
}
