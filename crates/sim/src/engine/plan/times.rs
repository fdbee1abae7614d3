//! Times at links and of timers, and the effect of rounding on them.

use super::super::network::FlowSpec;
use super::sketch::Sketch;
use earlydrop_net::tcp::ns2::core::MIN_RTO;
use earlydrop_net::tcp::rfc::{self, ControlKind};

/// Longer than any run, s.
pub const LONGEST_RUN: f64 = 1e9;
/// Differences of times below this may vanish by rounding, s.
pub const TOLERANCE: f64 = 1e-9;

/// Transmission time of `size` bytes at a link, s.
pub fn transmission(network: &Sketch, link: usize, size: u16) -> f64 {
    8.0 * f64::from(size) / network.links[link].rate_bps
}

/// How far ahead the arrival at the other end of a link is scheduled, s.
pub fn ahead(network: &Sketch, link: usize, size: u16) -> f64 {
    transmission(network, link, size) + network.links[link].delay_s
}

/// Whether sums of `transmission` and two different times, from `earliest` on, stay different or lie on both sides of a
/// power of two.
///
/// Between two powers of two all doubles are multiples of one step. The rounding error of the sum is the same for all
/// of them, unless it is exactly half a step: then the sum is rounded to the even neighbour. That happens in one range
/// of times, which follows from the last bit of `transmission`.
pub fn keeps_step(transmission: f64, earliest: f64) -> bool {
    let bits = transmission.to_bits();
    let power = f64::from_bits(bits & (0x7ff << 52));
    let zeros = (bits | 1 << 52).trailing_zeros();
    let begin = power * (1_u64 << (zeros + 1)) as f64;
    2.0 * begin <= earliest || begin > LONGEST_RUN
}

/// Shortest time for which a sender's timer is set, s; `None` without a lower bound.
pub fn shortest_timer(spec: &FlowSpec) -> Option<f64> {
    let Some(settings) = &spec.options.rfc else { return Some(MIN_RTO) };
    let finds_losses_by_time = settings.rack.on && settings.sack;
    if settings.pacing.small_queue {
        return None;
    }
    let paces =
        settings.pacing.on || settings.resume.on || matches!(settings.control, ControlKind::Bbr | ControlKind::Bbr3);
    (!finds_losses_by_time && !paces).then(|| settings.rto.min.min(rfc::INITIAL_RTO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_stay_apart_where_steps_are_kept() {
        for transmission in [8e-5, 3.2e-6, 8e-3, 1.2e-5, 0.25, 8.0 * 1000.0 / 3e6] {
            for time in [0.0011_f64, 0.013, 0.4, 0.77, 1.5, 3.1, 100.7] {
                let about_a_power = (time.to_bits() ^ (time + transmission).to_bits()) >> 52 != 0;
                if about_a_power || !keeps_step(transmission, time) {
                    continue;
                }
                let mut time = time;
                for _ in 0..100 {
                    let next = time.next_up();
                    assert!(time + transmission < next + transmission, "{transmission} {time}");
                    time = next;
                }
            }
        }
        assert!(!keeps_step(8e-3, 0.07), "half a step, from 0.0625 to 0.125");
        assert!(keeps_step(8e-3, 0.2));
    }
}
