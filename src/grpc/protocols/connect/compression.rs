//! gzip, for messages in either direction.

use std::io::{self, Write as _};

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http::HeaderValue;

use crate::grpc::pipeline::{self, Error};

/// The message of so many bytes at most.
pub(super) fn gunzip(compressed: &[u8], max_bytes: usize) -> Result<Bytes, Error> {
    let mut message = Vec::new();
    pipeline::gunzip(compressed, max_bytes, &mut message)?;
    Ok(message.into())
}

pub(super) fn gzip(message: &[u8]) -> io::Result<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(message)?;
    encoder.finish().map(Bytes::from)
}

/// Whether the list names gzip, and not only to exclude it.
pub(super) fn accepts_gzip(list: &HeaderValue) -> bool {
    let list = list.to_str().unwrap_or_default();
    list.split(',').any(|one| {
        let (name, weight) = one.split_once(';').unwrap_or((one, ""));
        let excluded = weight.trim().strip_prefix("q=").and_then(|q| q.parse::<f32>().ok()) == Some(0.0);
        name.trim().eq_ignore_ascii_case("gzip") && !excluded
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_compressed_comes_back_within_its_bound() {
        let message = b"berth ".repeat(1_000);
        let compressed = gzip(&message).unwrap();
        assert!(compressed.len() < 200);
        assert_eq!(gunzip(&compressed, message.len()), Ok(message.clone().into()));
        assert_eq!(gunzip(&compressed, message.len() - 1), Err(Error::MessageTooLarge { limit: message.len() - 1 }));
        for bad in [&compressed[..20], b"not gzip", b""] {
            assert_eq!(gunzip(bad, 1_000), Err(Error::Unreadable));
        }
    }

    #[test]
    fn gzip_is_accepted_where_it_is_named() {
        for (list, accepted) in [
            ("gzip", true),
            ("br, GZIP;q=0.5", true),
            ("gzip;q=0", false),
            ("gzip; q=0.0, br", false),
            ("*", false),
            ("", false),
        ] {
            assert_eq!(accepts_gzip(&HeaderValue::from_static(list)), accepted, "{list}");
        }
    }
}
