//! Random numbers of a case: the same seed, target and case give the same numbers.

/// `SplitMix64`: small, fast and sufficient for choosing mutations.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The numbers of one case.
    pub fn of_case(seed: u64, target: &str, case: u64) -> Self {
        let mut random = Self(seed);
        for word in target.bytes().map(u64::from).chain([case]) {
            random.0 = random.next() ^ word;
        }
        random
    }

    /// The next number.
    #[expect(
        clippy::should_implement_trait,
        reason = "an endless iterator of plain numbers"
    )]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number from 0 to `n` − 1; 0 for an `n` of 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % (n.max(1) as u64)) as usize
    }

    /// True once in `n`.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of the elements; `None` if the slice is empty.
    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        let at = self.below(all.len());
        all.get(at)
    }

    /// A range of up to `most` positions within `len`.
    pub fn range(&mut self, len: usize, most: usize) -> std::ops::Range<usize> {
        let start = self.below(len + 1);
        let length = 1 + self.below(most);
        start..(start + length).min(len)
    }
}
