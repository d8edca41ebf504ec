//! Numbers as people read them.

/// The number with a comma between thousands: `9,000`.
#[must_use]
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A count, a line or a place in 32 bits, as the contract has them; what it comes from has far lower limits.
#[must_use]
pub fn clamped(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// A count of bytes in the largest unit that leaves at least one whole: `20.0 GiB`; below one KiB, `512 bytes`.
#[must_use]
pub fn byte_size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut unit = (bytes.ilog2() / 10) as usize - 1;
    let tenths = |unit: usize| (u128::from(bytes) * 10 + (1 << (unit * 10 + 9))) >> ((unit + 1) * 10);
    // 1,048,575 bytes would round to `1024.0 KiB`.
    if tenths(unit) >= 10_240 && unit + 1 < UNITS.len() {
        unit += 1;
    }
    format!("{}.{} {}", tenths(unit) / 10, tenths(unit) % 10, UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_thousands() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (12_000, "12,000"), (1_234_567, "1,234,567")] {
            assert_eq!(thousands(number), text);
        }
        assert_eq!(thousands(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn picks_the_unit() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1_023, "1023 bytes"),
            (1_024, "1.0 KiB"),
            (1_536, "1.5 KiB"),
            (1_048_575, "1.0 MiB"),
            (1 << 20, "1.0 MiB"),
            (20 << 30, "20.0 GiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(byte_size(bytes), text);
        }
    }
}
