//! Vectors of messages, and how far they are apart.

/// Vectors of one length, one a message.
#[derive(Debug)]
pub(super) struct Vectors {
    dimensions: usize,
    values: Vec<f32>,
}

impl Vectors {
    pub(super) fn zero(count: usize, dimensions: usize) -> Self {
        Self { dimensions, values: vec![0.0; count * dimensions] }
    }

    /// All are as long as the first.
    pub(super) fn of<'v>(mut vectors: impl Iterator<Item = &'v [f32]>) -> Self {
        let first = vectors.next().unwrap_or_default();
        let mut values = first.to_vec();
        for vector in vectors {
            values.extend_from_slice(vector);
        }
        Self { dimensions: first.len(), values }
    }

    pub(super) fn of_message(&self, index: usize) -> &[f32] {
        &self.values[index * self.dimensions..][..self.dimensions]
    }

    pub(super) fn of_message_mut(&mut self, index: usize) -> &mut [f32] {
        &mut self.values[index * self.dimensions..][..self.dimensions]
    }

    /// The mean of the vectors of these messages.
    pub(super) fn mean(&self, messages: std::ops::Range<usize>) -> Vec<f32> {
        let mut mean = vec![0.0; self.dimensions];
        #[expect(clippy::cast_precision_loss, reason = "a chunk has few messages")]
        let share = 1.0 / messages.len().max(1) as f32;
        for index in messages {
            add(&mut mean, self.of_message(index), share);
        }
        mean
    }
}

/// Adds a multiple of a vector to a sum.
pub(super) fn add(sum: &mut [f32], vector: &[f32], factor: f32) {
    for (sum, value) in sum.iter_mut().zip(vector) {
        *sum += value * factor;
    }
}

/// 1 less the cosine of the angle: 0 where two vectors point the same way, 1 where they have nothing in common or one of
/// them is zero, 2 where they are opposite.
pub(super) fn distance(a: &[f32], b: &[f32]) -> f32 {
    1.0 - cosine(a, b).unwrap_or_default()
}

/// `None`: one of them is zero.
pub(super) fn cosine(a: &[f32], b: &[f32]) -> Option<f32> {
    let (mut both, mut of_a, mut of_b) = (0.0_f64, 0.0_f64, 0.0_f64);
    for (&a, &b) in a.iter().zip(b) {
        let (a, b) = (f64::from(a), f64::from(b));
        both += a * b;
        of_a += a * a;
        of_b += b * b;
    }
    let norm = of_a.sqrt() * of_b.sqrt();
    #[expect(clippy::cast_possible_truncation, reason = "from -1 to 1")]
    let cosine = (both / norm).clamp(-1.0, 1.0) as f32;
    (norm > 0.0 && norm.is_finite()).then_some(cosine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_between_0_and_2_and_zero_is_1_away() {
        for (a, b, apart) in [
            ([1.0, 0.0], [3.0, 0.0], 0.0),
            ([1.0, 0.0], [0.0, 2.0], 1.0),
            ([1.0, 0.0], [-1.0, 0.0], 2.0),
            ([0.0, 0.0], [1.0, 0.0], 1.0),
            ([f32::MAX, f32::MAX], [f32::MAX, f32::MAX], 0.0),
        ] {
            assert!((distance(&a, &b) - apart).abs() < 1e-6, "{a:?} {b:?}");
        }
        let vectors = Vectors::of([&[1.0_f32, 0.0][..], &[3.0, 4.0]].into_iter());
        assert_eq!(vectors.mean(0..2), [2.0, 2.0]);
    }
}
