//! One of the packets that wait, each with the same probability.

use crate::random::Generator;
use crate::ring::Ring;

/// The serial number of one packet of `ring`, each with the same probability; `None` if it is empty.
///
/// One random number for each look. A look may hit a hole, and then there is another: as many as there are slots for
/// each packet, on average.
#[inline]
pub fn any_of(ring: &Ring, random: &mut Generator) -> Option<u64> {
    if ring.packets() == 0 {
        return None;
    }
    let serials = ring.serials();
    let span = serials.end - serials.start;
    loop {
        let pick = serials.start + ((random.uniform() * span as f64) as u64).min(span - 1);
        if ring.get(pick).is_some() {
            return Some(pick);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Packet;

    #[test]
    fn holes_are_passed_over_and_the_rest_is_even() {
        let mut ring = Ring::new();
        let mut random = Generator::stream(1, "pick");
        assert_eq!(any_of(&ring, &mut random), None);
        let serials: Vec<u64> = (0..20).map(|flow| ring.push(Packet::new(flow, 100))).collect();
        for &serial in &serials[3..13] {
            ring.remove(serial);
        }
        let mut hits = [0_u32; 20];
        for _ in 0..10_000 {
            hits[any_of(&ring, &mut random).unwrap() as usize] += 1;
        }
        for (serial, &hits) in hits.iter().enumerate() {
            // 1000 each, standard deviation 30: five of them, false alarm below 1e-5.
            let expected = if (3..13).contains(&serial) { 0..1 } else { 850..1150 };
            assert!(expected.contains(&hits), "serial {serial}: {hits}");
        }
    }

    #[test]
    fn a_uniform_number_of_one_picks_the_newest() {
        let mut ring = Ring::new();
        ring.push(Packet::new(1, 100));
        ring.push(Packet::new(2, 100));
        assert_eq!(any_of(&ring, &mut Generator::custom(|| 1.0)), Some(1));
        assert_eq!(any_of(&ring, &mut Generator::custom(|| 0.0)), Some(0));
    }
}
