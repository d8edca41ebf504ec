//! Bytes in hexadecimal.

/// The lower-case digits of each byte.
#[must_use]
pub fn digits<const BYTES: usize>(bytes: [u8; BYTES]) -> [[u8; 2]; BYTES] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]])
}

/// The bytes of that many lower-case hex digits; `None`: there are other characters, or another number of them.
#[must_use]
pub fn bytes<const BYTES: usize>(text: &str) -> Option<[u8; BYTES]> {
    let nibble = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    if text.len() != 2 * BYTES {
        return None;
    }
    let mut bytes = [0; BYTES];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_two_digits_a_byte() {
        assert_eq!(digits([0x0f, 0x1e, 0xa0]).as_flattened(), b"0f1ea0");
    }

    #[test]
    fn reads_what_it_writes_and_nothing_else() {
        assert_eq!(bytes("0f1ea0"), Some([0x0f, 0x1e, 0xa0]));
        for bad in ["", "0f1ea", "0f1ea00", "0F1EA0", "0f1eg0", "0f1eé"] {
            assert_eq!(bytes::<3>(bad), None, "{bad}");
        }
    }
}
