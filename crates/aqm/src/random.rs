//! Random numbers: named streams for simulations, ns-2's generator for agreement with ns-2, and injected numbers.

use rand_core::Rng as _;
use rand_core::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

/// A source of uniform random numbers, owned by one component.
///
/// Each component of a run has a stream of its own, named after it and derived from the run's seed, so that adding
/// a flow never moves a queue's draws and two disciplines can be compared under common random numbers.
pub enum Generator {
    /// xoshiro256++, the default.
    Xoshiro(Xoshiro256PlusPlus),
    /// ns-2's default stream.
    Mrg32k3a(Box<Mrg32k3a>),
    /// Numbers from elsewhere: recorded draws, a test's script.
    Custom(Box<dyn FnMut() -> f64 + Send>),
}

impl Generator {
    /// The stream called `name` of the run with `seed`.
    pub fn stream(seed: u64, name: &str) -> Self {
        // FNV-1a of the name, mixed with the seed; seed_from_u64 then spreads it over the state (splitmix64).
        let hash =
            name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
        let mixed = hash.rotate_left(32) ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Generator::Xoshiro(Xoshiro256PlusPlus::seed_from_u64(mixed))
    }

    /// ns-2's stream after `$defaultRNG seed SEED` and `skip` draws.
    pub fn ns2(seed: u32, skip: u64) -> Self {
        let mut generator = Mrg32k3a::new(seed);
        generator.skip(skip);
        Generator::Mrg32k3a(Box::new(generator))
    }

    /// Numbers taken from `next`, each in [0, 1].
    pub fn custom(next: impl FnMut() -> f64 + Send + 'static) -> Self {
        Generator::Custom(Box::new(next))
    }

    /// The next uniform number: [0, 1) from xoshiro (53 bits), (0, 1) from MRG32k3a.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        match self {
            Generator::Xoshiro(x) => (x.next_u64() >> 11) as i64 as f64 * (1.0 / (1_u64 << 53) as f64),
            Generator::Mrg32k3a(x) => x.uniform(),
            Generator::Custom(next) => next(),
        }
    }
}

/// L'Ecuyer's combined multiple recursive generator (Operations Research 47, 1999), seeded as ns-2.35 does: all six
/// words of the state equal the seed.
#[derive(Clone, Debug)]
pub struct Mrg32k3a {
    /// The last three numbers of the first component, modulo M1.
    first: [u64; 3],
    /// The last three numbers of the second component, modulo M2.
    second: [u64; 3],
}

impl Mrg32k3a {
    const M1: u64 = 4_294_967_087;
    const M2: u64 = 4_294_944_443;

    /// ns-2's state after `seed SEED`.
    pub fn new(seed: u32) -> Self {
        Self { first: [u64::from(seed); 3], second: [u64::from(seed); 3] }
    }

    /// Leaves out `numbers` numbers. Each component is a linear map of three numbers, whose power skips them in one
    /// step (L'Ecuyer, Simard, Chen and Kelton, Operations Research 50, 2002, section 2).
    pub fn skip(&mut self, numbers: u64) {
        let first = [[0, 1, 0], [0, 0, 1], [Self::M1 - 810_728, 1_403_580, 0]];
        let second = [[0, 1, 0], [0, 0, 1], [Self::M2 - 1_370_589, 0, 527_612]];
        self.first = applied(&first, numbers, self.first, Self::M1);
        self.second = applied(&second, numbers, self.second, Self::M2);
    }

    /// The next number in (0, 1).
    pub fn uniform(&mut self) -> f64 {
        let p1 = (1_403_580 * self.first[1] % Self::M1 + Self::M1 - 810_728 * self.first[0] % Self::M1) % Self::M1;
        self.first = [self.first[1], self.first[2], p1];
        let p2 = (527_612 * self.second[2] % Self::M2 + Self::M2 - 1_370_589 * self.second[0] % Self::M2) % Self::M2;
        self.second = [self.second[1], self.second[2], p2];
        let difference = if p1 > p2 { p1 - p2 } else { p1 + Self::M1 - p2 };
        difference as f64 * 2.328_306_549_295_728e-10
    }
}

/// `map` applied `times` times to `state`, modulo `m` < 2^32.
fn applied(map: &[[u64; 3]; 3], times: u64, mut state: [u64; 3], m: u64) -> [u64; 3] {
    let sum = |row: &[u64; 3], of: [u64; 3]| row.iter().zip(of).fold(0, |sum, (a, b)| (sum + a * b % m) % m);
    let mut power = *map;
    for bit in 0..u64::BITS - times.leading_zeros() {
        if times >> bit & 1 == 1 {
            state = power.each_ref().map(|row| sum(row, state));
        }
        let columns = [0, 1, 2].map(|column| power.map(|row| row[column]));
        power = power.each_ref().map(|row| columns.map(|column| sum(row, column)));
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipping_is_drawing_and_leaving_out() {
        for skip in [0, 1, 2, 3, 7, 100, 12_345] {
            let (mut drawn, mut skipped) = (Mrg32k3a::new(12345), Mrg32k3a::new(12345));
            (0..skip).for_each(|_| {
                drawn.uniform();
            });
            skipped.skip(skip);
            assert_eq!((drawn.first, drawn.second), (skipped.first, skipped.second), "{skip}");
        }
        // A skip in two parts equals one skip, far longer than could be drawn.
        let (mut once, mut twice) = (Mrg32k3a::new(7), Mrg32k3a::new(7));
        once.skip(3 << 60);
        twice.skip(1 << 61);
        twice.skip(1 << 60);
        assert_eq!((once.first, once.second), (twice.first, twice.second));
    }

    #[test]
    fn mrg32k3a_gives_the_numbers_of_ns2() {
        let mut g = Mrg32k3a::new(12345);
        let expected = [
            0.127_011_122_046_577_14,
            0.318_527_565_396_794_5,
            0.309_186_015_583_270_1,
            0.825_846_862_927_113_6,
            0.221_629_915_782_022_9,
        ];
        for want in expected {
            assert_eq!(g.uniform(), want);
        }
        assert_eq!(Mrg32k3a::new(1).uniform(), 0.000_339_577_223_787_098_8);
    }

    #[test]
    fn streams_differ_by_name_and_seed_and_repeat() {
        let draw = |seed, name| Generator::stream(seed, name).uniform();
        assert_eq!(draw(1, "queue.bottleneck").to_bits(), draw(1, "queue.bottleneck").to_bits());
        assert_ne!(draw(1, "queue.bottleneck").to_bits(), draw(1, "queue.reverse").to_bits());
        assert_ne!(draw(1, "queue.bottleneck").to_bits(), draw(2, "queue.bottleneck").to_bits());
    }

    #[test]
    fn first_numbers_of_a_named_stream_never_change() {
        let mut g = Generator::stream(1, "queue.bottleneck");
        let bits: Vec<u64> = (0..3).map(|_| g.uniform().to_bits()).collect();
        assert_eq!(bits, GOLDEN, "a change here changes every result: {bits:#x?}");
    }
    const GOLDEN: [u64; 3] = [0x3fd3_e4d1_e9be_e8f6, 0x3fbd_58d7_a5f0_4d00, 0x3fce_433e_aa5e_0f9c];
}
