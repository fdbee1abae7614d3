//! From a flow key to a queue or a bin: a salted hash that is the same on every machine.

/// 64 well mixed bits of `flow` under `salt` (the finaliser of splitmix64, twice). Equal flows give equal bits; another
/// salt gives unrelated bits.
#[inline]
pub fn mix(flow: u64, salt: u64) -> u64 {
    finalise(flow ^ finalise(salt.wrapping_add(0x9e37_79b9_7f4a_7c15)))
}

/// The bucket of `flow`: the high bits of the hash times `buckets`, which fills any number of buckets evenly without a
/// division (`reciprocal_scale` in Linux).
#[inline]
pub fn bucket(flow: u64, salt: u64, buckets: usize) -> usize {
    (((mix(flow, salt) >> 32) * buckets as u64) >> 32) as usize
}

#[inline]
fn finalise(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_evenly_filled_and_move_with_the_salt() {
        let mut filled = [0_u32; 100];
        let mut stayed = 0;
        for flow in 0..100_000 {
            filled[bucket(flow, 7, 100)] += 1;
            stayed += u32::from(bucket(flow, 7, 100) == bucket(flow, 8, 100));
        }
        // Each bucket expects 1000; five standard deviations are 158.
        assert!(filled.iter().all(|&n| (842..=1158).contains(&n)), "{filled:?}");
        assert!((842..=1158).contains(&stayed), "{stayed}");
    }

    #[test]
    fn the_hash_never_changes() {
        assert_eq!([mix(0, 0), mix(1, 0), mix(0, 1)], GOLDEN, "a change here changes results");
    }
    const GOLDEN: [u64; 3] = [5_197_578_548_964_807_871, 11_385_487_063_155_714_807, 15_916_886_550_466_581_944];
}
