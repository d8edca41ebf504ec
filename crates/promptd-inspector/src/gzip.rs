//! Files compressed with gzip, for callers that take them so.

use std::io::Write as _;

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http::{HeaderMap, header::ACCEPT_ENCODING};

/// The bytes, compressed as far as gzip goes.
pub(crate) fn compress(bytes: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    #[expect(clippy::expect_used, reason = "memory takes every write")]
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("compressed").into()
}

/// Whether the caller takes gzip.
pub(crate) fn accepted(request: &HeaderMap) -> bool {
    let given = request.get_all(ACCEPT_ENCODING).iter().filter_map(|codings| codings.to_str().ok());
    given.flat_map(|codings| codings.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, "q=1"));
        let weight = weight.trim().trim_start_matches("q=").parse::<f32>();
        name.trim().eq_ignore_ascii_case("gzip") && weight.is_ok_and(|weight| weight > 0.0)
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn what_is_compressed_comes_back_as_it_was() {
        let text = "a prompt, and another prompt\n".repeat(100);
        let compressed = compress(text.as_bytes());
        let mut back = String::new();
        GzDecoder::new(&compressed[..]).read_to_string(&mut back).unwrap();
        assert!(compressed.len() < text.len() / 10);
        assert_eq!(back, text);
    }

    #[test]
    fn gzip_is_taken_where_the_caller_says_so() {
        for (given, taken) in [
            (None, false),
            (Some("gzip"), true),
            (Some("br, GZIP;q=0.5"), true),
            (Some("deflate, gzip; q=1.0"), true),
            (Some("gzip;q=0"), false),
            (Some("identity, br"), false),
        ] {
            let mut request = HeaderMap::new();
            if let Some(given) = given {
                request.insert(ACCEPT_ENCODING, given.parse().unwrap());
            }
            assert_eq!(accepted(&request), taken, "{given:?}");
        }
    }
}
