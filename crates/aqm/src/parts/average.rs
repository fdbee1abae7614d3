//! The averaged queue: an exponentially weighted moving average that decays while the link is idle.

/// Multiplies `average` by (1 - `weight`) `times` times, one multiplication after the other.
///
/// ns-2 does it so (`red.cc`, `estimator`), and a closed power differs from it in the last bits.
pub fn decay_repeatedly(mut average: f64, weight: f64, times: u64) -> f64 {
    let keep = 1.0 - weight;
    for _ in 0..times {
        if average == 0.0 {
            break;
        }
        average *= keep;
    }
    average
}

/// (1 - `weight`)^`times` in closed form, with the same bits on every platform.
pub fn decay_at_once(average: f64, weight: f64, times: u64) -> f64 {
    average * libm::exp(times as f64 * libm::log1p(-weight))
}

/// How many packets the link could have sent in `idle` seconds, rounded down; every reference rounds down.
pub fn idle_packets(idle: f64, packets_per_second: f64) -> u64 {
    (packets_per_second * idle) as u64
}

/// ns-2's and ns-3's update: `missed` decays for the idle time and one more for this arrival, then the new sample.
#[inline]
pub fn update_ns2(average: f64, weight: f64, missed: u64, queue: f64) -> f64 {
    let decayed = if missed == 0 { average } else { decay_repeatedly(average, weight, missed) };
    decayed * (1.0 - weight) + weight * queue
}

/// Linux's fixed-point average (`include/net/red.h`): 2^-`wlog` as weight, bytes, kept scaled by 2^`wlog`, with the
/// decay during idle time read from a table of shifts.
#[derive(Clone, Debug)]
pub struct LinuxAverage {
    scaled: i64,
    wlog: u32,
    cell_log: u32,
    shifts: [u8; 256],
}

impl LinuxAverage {
    /// Seconds in a tick of the packet scheduler's clock.
    const TICK: f64 = 64e-9;

    /// An empty average for packets of `mean_packet` bytes on a link of `rate_bps` (iproute2, `tc_red_eval_idle_damping`).
    pub fn new(wlog: u32, mean_packet: f64, rate_bps: f64) -> Self {
        let ticks = mean_packet * 8.0 / rate_bps / Self::TICK;
        let per_tick = -libm::log1p(-libm::exp2(-f64::from(wlog))) / ticks;
        let longest = 31.0 / per_tick;
        let mut cell_log = 0;
        while cell_log < 32 && longest / f64::from(1_u32 << cell_log.min(31)) >= 512.0 {
            cell_log += 1;
        }
        let mut shifts = [0_u8; 256];
        for (i, shift) in shifts.iter_mut().enumerate().skip(1) {
            let value = (i as f64 * libm::exp2(f64::from(cell_log)) * per_tick) as u64;
            *shift = value.min(31) as u8;
        }
        shifts[255] = 31;
        LinuxAverage { scaled: 0, wlog, cell_log, shifts }
    }

    /// iproute2's choice of the weight (`tc_red_eval_ewma`): the smallest wlog >= 1 that lets `burst` packets pass.
    /// `None` if no weight does.
    pub fn wlog_for_burst(min_bytes: f64, burst: f64, mean_packet: f64) -> Option<u32> {
        let excess = burst + 1.0 - min_bytes / mean_packet;
        if excess < 1.0 {
            return None;
        }
        (1..32).find(|&n| {
            let w = libm::exp2(-f64::from(n));
            excess <= (1.0 - libm::pow(1.0 - w, burst)) / w
        })
    }

    /// The average, bytes.
    pub fn bytes(&self) -> f64 {
        self.scaled as f64 * libm::exp2(-f64::from(self.wlog))
    }

    /// The integer part of the average, bytes, as the kernel compares it.
    pub fn whole_bytes(&self) -> i64 {
        self.scaled >> self.wlog
    }

    /// An arrival that found `backlog` bytes on a busy link.
    pub fn update(&mut self, backlog: i64) {
        self.scaled += backlog - (self.scaled >> self.wlog);
    }

    /// An arrival after `idle` seconds of idle link: decay only.
    pub fn decay(&mut self, idle: f64) {
        let ticks = (idle / Self::TICK).min(255.0 * libm::exp2(f64::from(self.cell_log))) as u64;
        let shift = self.shifts[((ticks >> self.cell_log) as usize).min(255)];
        if shift > 0 {
            self.scaled >>= shift;
        } else {
            let step = (i128::from(self.scaled) * i128::from(ticks) >> self.cell_log) as i64;
            self.scaled -= step.min(self.scaled >> 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_second_on_a_slow_link_decays_as_published() {
        // 1.5 Mbit/s, 1000 B: 187.5 packets/s, so 187 whole packets in one second.
        let m = idle_packets(1.0, 187.5);
        assert_eq!(m, 187);
        assert!((decay_at_once(20.0, 0.002, m) - 13.7544).abs() < 1e-4);
        assert!((update_ns2(20.0, 0.002, m, 0.0) - 13.7269).abs() < 1e-4);
    }

    #[test]
    fn linux_set_up_gives_the_numbers_of_tc() {
        assert_eq!(LinuxAverage::wlog_for_burst(30000.0, 50.0, 1000.0), Some(5));
        let average = LinuxAverage::new(5, 1000.0, 10e6);
        assert_eq!(average.cell_log, 15);
        assert_eq!(average.shifts[254], 21);
        assert_eq!((average.shifts[0], average.shifts[255]), (0, 31));
    }

    #[test]
    fn linux_average_settles_at_the_backlog() {
        let mut average = LinuxAverage::new(9, 1000.0, 10e6);
        for _ in 0..20_000 {
            average.update(30_000);
        }
        assert!((average.bytes() - 30_000.0).abs() < 2.0);
        average.decay(60.0);
        assert!(average.bytes() < 1.0, "a minute of silence empties it");
    }
}
