//! Vectors of length 1 as small whole numbers, a byte each.

/// A vector of length 1: its numbers are those of `numbers`, each a signed byte, times `scale`.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::sqlite) struct Quantised {
    pub(in crate::sqlite) scale: f64,
    pub(in crate::sqlite) numbers: Vec<u8>,
}

impl Quantised {
    /// `None`: the vector has no direction.
    pub(in crate::sqlite) fn of(vector: &[f32]) -> Option<Self> {
        let length = vector.iter().map(|&number| f64::from(number).powi(2)).sum::<f64>().sqrt();
        let greatest = vector.iter().map(|&number| f64::from(number).abs()).fold(0.0, f64::max);
        if greatest == 0.0 || !length.is_finite() {
            return None;
        }
        let step = greatest / f64::from(i8::MAX);
        #[expect(clippy::cast_possible_truncation, reason = "from -127 to 127")]
        let byte = |&number: &f32| ((f64::from(number) / step).round() as i8).cast_unsigned();
        Some(Self { scale: step / length, numbers: vector.iter().map(byte).collect() })
    }
}

/// The sum of the products of two vectors' numbers. Longer ones than 130,000 numbers, which would be too much for it, no model has.
pub(in crate::sqlite) fn dot(one: &[u8], other: &[u8]) -> i32 {
    let product = |(&one, &other): (&u8, &u8)| i32::from(one.cast_signed()) * i32::from(other.cast_signed());
    one.iter().zip(other).map(product).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cosine(one: &[f32], other: &[f32]) -> f64 {
        let [one, other] = [one, other].map(|vector| Quantised::of(vector).unwrap());
        f64::from(dot(&one.numbers, &other.numbers)) * one.scale * other.scale
    }

    #[test]
    fn angles_stay_what_they_are() {
        for (one, other, expected) in [
            (&[1.0, 0.0][..], &[9.0, 0.0][..], 1.0),
            (&[1.0, 0.0], &[0.0, 2.0], 0.0),
            (&[1e-20, 0.0], &[-1e20, 0.0], -1.0),
            (&[1.0, 1.0], &[0.0, 0.3], std::f64::consts::FRAC_1_SQRT_2),
        ] {
            let cosine = cosine(one, other);
            assert!((cosine - expected).abs() < 0.01, "{one:?} {other:?}: {cosine}");
        }
        let wave = |step: f32| (0..384_u16).map(|at| (f32::from(at) * step).sin()).collect::<Vec<_>>();
        let exact: f32 = wave(0.1).iter().zip(wave(0.1004)).map(|(one, other)| one * other).sum();
        let length = |vector: Vec<f32>| vector.iter().map(|number| number * number).sum::<f32>().sqrt();
        let exact = f64::from(exact / length(wave(0.1)) / length(wave(0.1004)));
        assert!((cosine(&wave(0.1), &wave(0.1004)) - exact).abs() < 0.005);
    }

    #[test]
    fn what_has_no_direction_has_no_vector() {
        for vector in [&[][..], &[0.0, 0.0], &[f32::NAN, f32::NAN], &[f32::INFINITY, 1.0]] {
            assert_eq!(Quantised::of(vector), None, "{vector:?}");
        }
    }
}
