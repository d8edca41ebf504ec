//! `--max-changed` and `--max-lost`.

use std::{fmt, str::FromStr};

/// How many requests may be so, of all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::cli) enum Gate {
    Count(usize),
    Percent(f64),
}

impl Gate {
    /// Whether so many of so many are too many.
    pub(super) fn is_exceeded(self, count: usize, all: usize) -> bool {
        match self {
            Self::Count(most) => count > most,
            #[expect(clippy::cast_precision_loss, reason = "a folder has fewer than 2^52 requests")]
            Self::Percent(most) => count as f64 * 100.0 > most * all as f64,
        }
    }
}

impl FromStr for Gate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let gate = match text.strip_suffix('%') {
            Some(percent) => percent.parse().ok().filter(|percent| (0.0..=100.0).contains(percent)).map(Self::Percent),
            None => text.parse().ok().map(Self::Count),
        };
        gate.ok_or_else(|| "must be a number of requests such as `20`, or per cent such as `1.5%`".to_owned())
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_or_a_share() {
        let exceeded = |gate: &str, count, all| gate.parse::<Gate>().unwrap().is_exceeded(count, all);
        for (gate, count, all, expected) in [
            ("0", 0, 10, false),
            ("0", 1, 10, true),
            ("3", 3, 10, false),
            ("10%", 10, 100, false),
            ("10%", 11, 100, true),
            ("0%", 1, 100_000, true),
            ("1.5%", 15, 1_000, false),
            ("1.5%", 16, 1_000, true),
        ] {
            assert_eq!(exceeded(gate, count, all), expected, "{gate} {count} of {all}");
        }
        for bad in ["", "%", "-1", "101%", "few", "1.5"] {
            assert!(bad.parse::<Gate>().is_err(), "{bad}");
        }
    }
}
