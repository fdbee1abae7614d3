//! Bytes by flow and interval, reported as average rates.

/// A last interval shorter than this fraction of the others is rounding, and is merged with the interval before.
const ROUNDING: f64 = 1e-9;

/// Bytes of some flows in each interval of a run.
#[derive(Clone, Debug)]
pub struct Rates {
    interval: f64,
    duration: f64,
    /// Recorded flows in rising order, each with its row.
    rows: Vec<(u32, u32)>,
    /// Bytes of each recorded flow, in the order asked for, by interval.
    bytes: Vec<Vec<u64>>,
}

impl Rates {
    /// Rates before any bytes are counted. `flows` are numbered from 0, each once.
    pub fn new(interval: f64, duration: f64, flows: &[u32]) -> Self {
        let count = (duration / interval * (1.0 - ROUNDING)).ceil().max(1.0) as usize;
        let mut rows: Vec<(u32, u32)> = flows.iter().copied().zip(0..).collect();
        rows.sort_unstable();
        Rates { interval, duration, rows, bytes: vec![vec![0; count]; flows.len()] }
    }

    /// `flow` got `bytes` at `now`, a time of the run.
    #[inline(never)]
    pub fn add(&mut self, flow: u32, now: f64, bytes: u64) {
        let Ok(found) = self.rows.binary_search_by_key(&flow, |&(flow, _)| flow) else { return };
        let row = &mut self.bytes[self.rows[found].1 as usize];
        let mut at = (now / self.interval) as usize;
        // The quotient is rounded; interval n starts at exactly n times the length.
        if at as f64 * self.interval > now {
            at -= 1;
        } else if (at + 1) as f64 * self.interval <= now {
            at += 1;
        }
        let last = row.len() - 1;
        row[at.min(last)] += bytes;
    }

    /// Starts of the intervals, s.
    pub fn starts(&self) -> Vec<f64> {
        let count = self.bytes.first().map_or(0, Vec::len);
        (0..count).map(|at| at as f64 * self.interval).collect()
    }

    /// Bytes by recorded flow, in the order asked for, then by interval.
    pub fn bytes(&self) -> &[Vec<u64>] {
        &self.bytes
    }

    /// [`Rates::bytes`] as rates, Mbit/s; the last interval ends with the run.
    pub fn mbps(&self) -> Vec<Vec<f64>> {
        let rate = |bytes: u64, length: f64| bytes as f64 * 8.0 / length / 1e6;
        let of_flow = |row: &Vec<u64>| {
            let last = row.len() - 1;
            let rest = self.duration - last as f64 * self.interval;
            row.iter().enumerate().map(|(at, &b)| rate(b, if at < last { self.interval } else { rest })).collect()
        };
        self.bytes.iter().map(of_flow).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_fall_into_their_intervals() {
        let mut rates = Rates::new(10.0, 25.0, &[7, 2]);
        for (flow, now, bytes) in
            [(7, 0.0, 1000), (7, 10.0_f64.next_down(), 1), (7, 10.0, 500), (2, 24.999, 2500), (3, 5.0, 9)]
        {
            rates.add(flow, now, bytes);
        }
        assert_eq!(rates.starts(), [0.0, 10.0, 20.0]);
        assert_eq!(rates.bytes(), [vec![1001, 500, 0], vec![0, 0, 2500]]);
        // 2500 B in the last 5 s.
        assert_eq!(rates.mbps()[1], [0.0, 0.0, 0.004]);
        assert_eq!(rates.mbps()[0][1], 0.0004);
    }

    #[test]
    fn an_interval_starts_at_its_number_times_the_length() {
        for (interval, duration, count) in
            [(0.1, 2.3, 23), (0.3, 0.9, 3), (0.7, 2.1, 3), (10.0, 100.0, 10), (0.1, 0.25, 3), (5.0, 1.0, 1)]
        {
            let mut rates = Rates::new(interval, duration, &[0]);
            let starts = rates.starts();
            assert_eq!(starts.len(), count, "{duration} s in steps of {interval} s");
            for (at, &begin) in starts.iter().enumerate() {
                rates.add(0, begin, 1);
                if at > 0 {
                    rates.add(0, begin.next_down(), 100);
                }
            }
            let expected: Vec<u64> = (1..=count).map(|at| if at < count { 101 } else { 1 }).collect();
            assert_eq!(rates.bytes()[0], expected, "{duration} s in steps of {interval} s");
            let mbps = rates.mbps();
            let lengths = mbps[0].iter().zip(&expected).map(|(rate, &bytes)| bytes as f64 * 8e-6 / rate);
            assert!((lengths.sum::<f64>() - duration).abs() < 1e-9 * duration);
        }
    }
}
