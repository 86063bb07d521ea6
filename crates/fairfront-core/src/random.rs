use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The purpose of a random stream. Streams for different purposes never share numbers.
///
/// The numbers of the variants are part of the guarantee that the same seed gives the same bytes:
/// they are never changed or reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Assignment of rows to training, validation and test.
    Split = 1,
    /// Rows that are kept when groups are balanced.
    Balance = 2,
    /// The rows of the demo table.
    Demo = 3,
    /// The rows of the synthetic data sets.
    Synthetic = 4,
    /// Rows of a mini-batch.
    Batch = 5,
    /// Starting points, perturbations and choices of a solver.
    Solver = 6,
    /// Assignment of the rows of a stream to splits.
    Arrival = 7,
    /// Rows of a stream that a sample keeps.
    Reservoir = 8,
    /// Combinations of a grid of settings that are tried.
    Tuning = 9,
    /// Assignment of rows to the folds of a cross-validation.
    Fold = 10,
    /// Weights of rows in a bootstrap replicate.
    Bootstrap = 11,
    /// Assignment of rows to the folds of cross-fitting.
    CrossFit = 12,
    /// Shuffled columns, to find out how much a learner depends on them.
    Importance = 13,
    /// Order of the rows within a split.
    Order = 14,
    /// Weights from which the descent of a network starts.
    Network = 20,
}

/// A random stream keyed by (seed, purpose, two further keys).
///
/// The key *is* the `ChaCha8` key, so any stream can be created at any time, in any order and on
/// any thread, without stored state. The few distributions are implemented here, on top of a
/// pure-Rust `libm`, because the bytes of a result must not depend on the version of a library or
/// on the machine's math library.
///
/// ```
/// use fairfront_core::{Purpose, Stream};
/// let mut a = Stream::new(7, Purpose::Split, [0, 0]);
/// let mut b = Stream::new(7, Purpose::Split, [0, 0]);
/// assert_eq!(a.uniform(), b.uniform());
/// ```
#[derive(Debug, Clone)]
pub struct Stream {
    rng: ChaCha8Rng,
    spare_normal: Option<f64>,
}

impl Stream {
    /// The stream with this key, at its start.
    pub fn new(seed: u64, purpose: Purpose, keys: [u64; 2]) -> Self {
        let mut key = [0_u8; 32];
        for (bytes, word) in key
            .chunks_exact_mut(8)
            .zip([seed, purpose as u64, keys[0], keys[1]])
        {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        Self {
            rng: ChaCha8Rng::from_seed(key),
            spare_normal: None,
        }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.rng.next_u64()
    }

    /// Uniform in [0, 1), with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * f64::EPSILON * 0.5
    }

    /// Uniform in 0 .. n, without bias (rejection of the incomplete last interval).
    ///
    /// # Panics
    /// If `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        assert!(n > 0, "below(0) has no value to return");
        let n = n as u64;
        let limit = u64::MAX - (u64::MAX % n + 1) % n;
        loop {
            let bits = self.bits();
            if bits <= limit {
                return (bits % n) as usize;
            }
        }
    }

    /// `true` with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.uniform() < p
    }

    /// Standard normal (Box–Muller; the second number of each pair is kept for the next call).
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare_normal.take() {
            return spare;
        }
        // 1 − u lies in (0, 1], so that the logarithm is finite.
        let radius = (-2.0 * libm::log(1.0 - self.uniform())).sqrt();
        let angle = std::f64::consts::TAU * self.uniform();
        self.spare_normal = Some(radius * libm::sin(angle));
        radius * libm::cos(angle)
    }

    /// An index drawn with probabilities proportional to `weights`.
    ///
    /// # Panics
    /// If `weights` is empty.
    pub fn pick(&mut self, weights: &[f64]) -> usize {
        assert!(!weights.is_empty(), "pick needs at least one weight");
        let total: f64 = weights.iter().sum();
        let mut left = self.uniform() * total;
        for (i, w) in weights.iter().enumerate() {
            left -= w;
            if left < 0.0 {
                return i;
            }
        }
        weights.len() - 1
    }

    /// Shuffles in place (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(key: u64) -> Stream {
        Stream::new(1, Purpose::Synthetic, [key, 0])
    }

    #[test]
    fn streams_of_different_keys_differ() {
        let first = |seed, purpose, keys| Stream::new(seed, purpose, keys).bits();
        let base = first(1, Purpose::Split, [0, 0]);
        assert_ne!(base, first(2, Purpose::Split, [0, 0]));
        assert_ne!(base, first(1, Purpose::Balance, [0, 0]));
        assert_ne!(base, first(1, Purpose::Split, [1, 0]));
        assert_ne!(base, first(1, Purpose::Split, [0, 1]));
    }

    #[test]
    fn the_bytes_of_a_stream_never_change() {
        // Recorded once; a change here would change every published split.
        let mut s = Stream::new(0, Purpose::Split, [0, 0]);
        assert_eq!(
            [s.bits(), s.bits()],
            [4_606_029_925_845_525_861, 5_881_008_411_243_030_533]
        );
    }

    #[test]
    fn normal_has_the_moments_of_a_normal() {
        let mut s = stream(1);
        let n = 200_000;
        let draws: Vec<f64> = (0..n).map(|_| s.normal()).collect();
        let moment = |k: i32| draws.iter().map(|x| x.powi(k)).sum::<f64>() / f64::from(n);
        // Five standard errors of each sample moment.
        assert!(moment(1).abs() < 5.0 * (1.0 / f64::from(n)).sqrt());
        assert!((moment(2) - 1.0).abs() < 5.0 * (2.0 / f64::from(n)).sqrt());
        assert!((moment(4) - 3.0).abs() < 5.0 * (96.0 / f64::from(n)).sqrt());
    }

    #[test]
    fn below_is_uniform_and_stays_below() {
        let mut s = stream(2);
        let mut counts = [0_u32; 7];
        for _ in 0..70_000 {
            counts[s.below(7)] += 1;
        }
        // χ² with 6 degrees of freedom; 30 has probability 4e-5.
        let chi2: f64 = counts
            .iter()
            .map(|&c| (f64::from(c) - 1e4).powi(2) / 1e4)
            .sum();
        assert!(chi2 < 30.0, "χ² = {chi2}");
    }

    #[test]
    fn pick_follows_its_weights() {
        let mut s = stream(3);
        let hits = (0..40_000).filter(|_| s.pick(&[1.0, 3.0]) == 1).count();
        assert!((hits as f64 / 40_000.0 - 0.75).abs() < 0.015);
    }

    #[test]
    fn shuffle_is_a_permutation() {
        let mut items: Vec<u32> = (0..1000).collect();
        stream(4).shuffle(&mut items);
        assert_ne!(items, (0..1000).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..1000).collect::<Vec<_>>());
    }
}
