//! The head of a request of HTTP/1.1, which has a bound while it arrives. HTTP/2 has one of its own.

use std::io;

use super::{MAX_HEAD_BYTES, peer::Peer};

/// What every HTTP/2 connection starts with.
pub(super) const HTTP2: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What has arrived of the next head.
pub(super) enum Head {
    /// So many bytes of the connection are those of HTTP/2.
    Unknown(usize),
    Http1 {
        bytes: usize,
        /// How many requests had come before it.
        requests: usize,
    },
    Http2,
}

impl Head {
    /// Notes what was read; fails where it is too long for a head.
    pub(super) fn note(&mut self, read: &[u8], peer: &Peer) -> io::Result<()> {
        if let Self::Unknown(seen) = self {
            let rest = &HTTP2[*seen..];
            let common = rest.len().min(read.len());
            *self = match read[..common] == rest[..common] {
                true if common == rest.len() => Self::Http2,
                true => Self::Unknown(*seen + common),
                false => Self::Http1 { bytes: *seen, requests: 0 },
            };
        }
        let Self::Http1 { bytes, requests } = self else { return Ok(()) };
        if peer.is_calling() || *requests != peer.requests() {
            (*bytes, *requests) = (0, peer.requests());
        }
        *bytes += read.len();
        if *bytes > MAX_HEAD_BYTES as usize && !peer.is_calling() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the head of a request is too long"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grpc::{Limits, Options};

    #[test]
    fn a_head_is_bounded_and_bodies_and_http2_are_not() {
        let peer = Peer::new(&Limits::new(&Options::default()));
        let (long, half) = (vec![b'x'; MAX_HEAD_BYTES as usize], vec![b'x'; MAX_HEAD_BYTES as usize / 2]);
        let mut http2 = Head::Unknown(0);
        for part in [&HTTP2[..1], &HTTP2[1..20], &HTTP2[20..], &long, &long] {
            http2.note(part, &peer).unwrap();
        }
        for first in ["G", "P", "PRI * HTTP/1.1"] {
            let mut head = Head::Unknown(0);
            head.note(first.as_bytes(), &peer).unwrap();
            head.note(&half, &peer).unwrap();
            assert!(head.note(&half, &peer).is_err(), "{first}");
        }
        let mut head = Head::Unknown(0);
        for _ in 0..3 {
            head.note(&long, &peer).unwrap();
            peer.add_request();
        }
        let calling = peer.calling();
        for _ in 0..3 {
            head.note(&long, &peer).unwrap();
        }
        drop(calling);
        assert!(head.note(b"x", &peer).is_err(), "{:?}", peer.requests());
    }
}
