//! Bytes in hexadecimal.

/// The lower-case digits of each byte.
#[must_use]
pub fn digits<const BYTES: usize>(bytes: [u8; BYTES]) -> [[u8; 2]; BYTES] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_two_digits_a_byte() {
        assert_eq!(digits([0x0f, 0x1e, 0xa0]).as_flattened(), b"0f1ea0");
    }
}
