//! Ranks drawn by Zipf's law: the first is drawn twice as often as the second, three times as often as the third.

/// Draws ranks from 0. The same ones each time.
pub struct Zipf {
    /// The sums of the weights up to each rank.
    sums: Vec<f64>,
    state: u64,
}

impl Zipf {
    /// Of so many ranks.
    pub fn new(ranks: usize) -> Self {
        let weights = (1..=ranks).map(|rank| 1.0 / rank as f64);
        let sums = weights.scan(0.0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        });
        Self { sums: sums.collect(), state: 0x9E37_79B9_7F4A_7C15 }
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> usize {
        self.sums.len()
    }

    pub fn draw(&mut self) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let uniform = (self.state >> 11) as f64 / (1_u64 << 53) as f64;
        let at = uniform * self.sums.last().unwrap();
        self.sums.partition_point(|sum| *sum <= at).min(self.sums.len() - 1)
    }
}
