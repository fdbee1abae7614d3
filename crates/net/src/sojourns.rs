//! Histogram of the sojourn times of one queue, in little memory.
//!
//! The buckets are those of an HDR histogram with three digits: 1 us wide up to 2047 us, then a thousandth of the
//! value. A network has thousands of queues, whose tables of buckets fit into no cache. So each queue keeps the buckets
//! of its latest packets in a list and counts them in batches, which touches the table once per batch and not once per
//! packet. The latest 31 buckets lie beside the queue's other statistics: that saves access to another page of memory.

/// Longest sojourn time that is counted, microseconds (one hour); longer times count as this.
const LONGEST_US: u64 = 3_600_000_000;
/// Buckets below this power of two are 1 us wide.
const FINE_BITS: u32 = 11;
/// Largest batch, and the first capacity of the list.
const BATCH: usize = 4096;
const FIRST: usize = 64;
/// Buckets stored inline; they and their number take 64 bytes.
const LATEST: usize = 31;

/// Histogram of the sojourn times of one queue.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Sojourns {
    /// Buckets of the latest packets, and their number.
    latest: [u16; LATEST],
    len: u16,
    /// Buckets of the packets before those, not counted yet.
    recent: Vec<u16>,
    counted: Option<Box<Counted>>,
}

/// Counts by bucket.
#[derive(Clone, Debug, Default)]
struct Counted {
    /// Counts of buckets, up to the highest bucket used.
    buckets: Vec<u16>,
    /// A bucket for each time that its 16-bit count wrapped around.
    carries: Vec<u16>,
}

/// The bucket of a time in microseconds.
#[inline(always)]
fn bucket(microseconds: u32) -> u16 {
    let shift = 32 - FINE_BITS - (microseconds | ((1 << FINE_BITS) - 1)).leading_zeros();
    ((shift << (FINE_BITS - 1)) + (microseconds >> shift)) as u16
}

/// The longest time in a bucket, microseconds.
fn longest_in(bucket: usize) -> u64 {
    let shift = (bucket >> (FINE_BITS - 1)).saturating_sub(1);
    (((bucket - (shift << (FINE_BITS - 1))) as u64 + 1) << shift) - 1
}

impl Counted {
    fn count(&mut self, buckets: &[u16]) {
        let highest = usize::from(buckets.iter().copied().max().unwrap_or(0));
        if highest >= self.buckets.len() {
            self.buckets.reserve_exact(highest + 1 - self.buckets.len());
            self.buckets.resize(highest + 1, 0);
        }
        for &bucket in buckets {
            let count = &mut self.buckets[usize::from(bucket)];
            *count = count.wrapping_add(1);
            if *count == 0 {
                self.carries.push(bucket);
            }
        }
    }
}

impl Sojourns {
    /// Forgets all packets, and keeps the memory.
    pub fn clear(&mut self) {
        self.len = 0;
        self.recent.clear();
        if let Some(counted) = &mut self.counted {
            counted.buckets.fill(0);
            counted.carries.clear();
        }
    }

    /// Adds a sojourn time, s.
    #[inline(always)]
    pub fn add(&mut self, seconds: f64) {
        self.push((seconds * 1e6 + 0.5).min(LONGEST_US as f64) as u32);
    }

    /// Adds a sojourn time, microseconds.
    #[inline(always)]
    pub fn push(&mut self, microseconds: u32) {
        let mut at = usize::from(self.len);
        if at >= LATEST {
            self.set_aside();
            at = 0;
        }
        self.latest[at] = bucket(microseconds);
        self.len = at as u16 + 1;
    }

    /// Moves the inline buckets to the list, and counts the list if it is full.
    #[inline(never)]
    fn set_aside(&mut self) {
        if self.recent.len() + LATEST > BATCH {
            self.counted.get_or_insert_default().count(&self.recent);
            self.recent.clear();
        } else if self.recent.len() + LATEST > self.recent.capacity() {
            let room = (2 * self.recent.capacity()).clamp(FIRST, BATCH);
            self.recent.reserve_exact(room - self.recent.len());
        }
        self.recent.extend_from_slice(&self.latest);
        self.len = 0;
    }

    /// Adds the packets of another histogram.
    pub fn absorb(&mut self, other: &Sojourns) {
        let (counts, all) = (other.counts(), self.counted.get_or_insert_default());
        if counts.len() > all.buckets.len() {
            all.buckets.resize(counts.len(), 0);
        }
        for (bucket, packets) in counts.into_iter().enumerate() {
            let sum = u64::from(all.buckets[bucket]) + packets;
            all.buckets[bucket] = sum as u16;
            all.carries.extend((0..sum >> 16).map(|_| bucket as u16));
        }
    }

    /// Packets by bucket.
    fn counts(&self) -> Vec<u64> {
        let mut all = self.counted.as_deref().cloned().unwrap_or_default();
        all.count(&self.recent);
        all.count(&self.latest[..usize::from(self.len)]);
        let mut counts: Vec<u64> = all.buckets.iter().map(|&count| count.into()).collect();
        for bucket in all.carries {
            counts[usize::from(bucket)] += 1 << 16;
        }
        counts
    }

    /// The buckets that are not empty: the longest time in each, microseconds, and its packets.
    pub fn buckets(&self) -> Vec<(u64, u64)> {
        let counts = self.counts().into_iter().enumerate();
        counts.filter(|&(_, packets)| packets > 0).map(|(bucket, packets)| (longest_in(bucket), packets)).collect()
    }

    /// Quantiles at these rising fractions, microseconds (to a thousandth or 1 us); 0 without packets.
    pub fn quantiles<const N: usize>(&self, fractions: [f64; N]) -> [u64; N] {
        let counts = self.counts();
        let total: u64 = counts.iter().sum();
        if total == 0 {
            return [0; N];
        }
        let (mut bucket, mut up_to) = (0, counts[0]);
        fractions.map(|fraction| {
            let rank = ((fraction * total as f64).ceil() as u64).clamp(1, total);
            while up_to < rank {
                bucket += 1;
                up_to += counts[bucket];
            }
            longest_in(bucket)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use earlydrop_aqm::random::Generator;
    use hdrhistogram::Histogram;

    #[test]
    fn buckets_follow_one_another_and_are_a_thousandth_wide() {
        let mut first = 0_u64;
        for bucket_at in 0..=usize::from(bucket(3_600_000_000)) {
            let last = longest_in(bucket_at);
            assert_eq!(usize::from(bucket(first as u32)), bucket_at);
            assert_eq!(usize::from(bucket(last as u32)), bucket_at);
            assert!(last == first || (last - first) as f64 <= 1e-3 * first as f64, "{first} to {last}");
            first = last + 1;
        }
        assert!(first > 3_600_000_000);
    }

    /// Times of every size, so many that a count wraps around, held against an HDR histogram.
    #[test]
    fn quantiles_are_those_of_an_hdr_histogram() {
        let mut random = Generator::stream(3, "sojourns");
        let fractions = [0.0001, 0.25, 0.5, 0.95, 0.99, 0.9999, 1.0];
        let mut sojourns = Sojourns::default();
        for (number, longest) in [(1, 5.0), (100, 4000.0), (5000, 1e5), (30_000, 3.6e9), (200_000, 1.0)] {
            sojourns.clear();
            let mut histogram = Histogram::<u32>::new(3).expect("three digits are valid");
            for _ in 0..number {
                let microseconds = (random.uniform() * random.uniform() * longest) as u32;
                sojourns.push(microseconds);
                histogram.record(u64::from(microseconds)).expect("it grows");
            }
            let expected = fractions.map(|fraction| histogram.value_at_quantile(fraction));
            assert_eq!(sojourns.quantiles(fractions), expected, "{number} up to {longest}");
        }
    }

    #[test]
    fn buckets_count_every_packet() {
        let mut sojourns = Sojourns::default();
        for microseconds in (0..100_000).map(|k| k % 7).chain([5000]) {
            sojourns.push(microseconds);
        }
        let buckets = sojourns.buckets();
        assert_eq!(buckets.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 5003]);
        assert_eq!(buckets.iter().map(|(_, packets)| packets).sum::<u64>(), 100_001);
        assert_eq!(buckets[0], (0, 14_286));
        assert_eq!(Sojourns::default().buckets(), []);
    }

    /// Of one million packets every tenth is in the second histogram, and some buckets have more than 16 bits hold.
    #[test]
    fn histograms_add_up() {
        let mut random = Generator::stream(4, "sojourns");
        let (mut whole, mut parts) = (Sojourns::default(), [Sojourns::default(), Sojourns::default()]);
        for number in 0..1_000_000 {
            let microseconds = (random.uniform() * random.uniform() * 20.0) as u32 * 1000;
            whole.push(microseconds);
            parts[usize::from(number % 10 == 0)].push(microseconds);
        }
        let mut sum = Sojourns::default();
        parts.iter().for_each(|part| sum.absorb(part));
        assert_eq!(sum.buckets(), whole.buckets());
        assert!(whole.buckets()[0].1 > 2 << 16);
        sum.absorb(&Sojourns::default());
        sum.push(5);
        whole.push(5);
        assert_eq!(sum.buckets(), whole.buckets());
    }

    #[test]
    fn nothing_has_no_quantiles() {
        assert_eq!(Sojourns::default().quantiles([0.5, 1.0]), [0, 0]);
    }
}
