//! The address of a GET: `?encoding=json&message={…}`.

use base64::{
    Engine as _,
    alphabet::URL_SAFE,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use bytes::Bytes;
use http::{HeaderMap, header::ACCEPT_ENCODING};
use percent_encoding::percent_decode;

use super::{procedure::Codec, terms::Terms};
use crate::grpc::pipeline::Error;

/// With padding or without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The parameters, each as it was given. Others are ignored, as the protocol says.
#[derive(Default)]
pub(super) struct Query {
    connect: Option<Vec<u8>>,
    encoding: Option<Vec<u8>>,
    message: Option<Vec<u8>>,
    base64: Option<Vec<u8>>,
    compression: Option<Vec<u8>>,
}

impl Query {
    pub(super) fn of(query: &str) -> Self {
        let mut read = Self::default();
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let field = match name {
                "connect" => &mut read.connect,
                "encoding" => &mut read.encoding,
                "message" => &mut read.message,
                "base64" => &mut read.base64,
                "compression" => &mut read.compression,
                _ => continue,
            };
            *field = Some(percent_decode(value.replace('+', " ").as_bytes()).collect());
        }
        read
    }

    /// JSON unless it is protobuf.
    pub(super) fn codec(&self) -> Codec {
        if self.encoding.as_deref() == Some(b"proto") { Codec::Proto } else { Codec::Json }
    }

    pub(super) fn terms(&self, headers: &HeaderMap, gzip: bool) -> Result<Terms, Error> {
        if self.connect.as_ref().is_some_and(|version| version != b"v1") {
            return Err(Error::invalid("connect", "must be v1"));
        }
        if !matches!(self.encoding.as_deref(), None | Some(b"json" | b"proto")) {
            return Err(Error::invalid("encoding", "must be json or proto"));
        }
        Terms::new(headers, self.compression.as_deref(), headers.get(ACCEPT_ENCODING), gzip)
    }

    /// The message; none is a request without fields.
    pub(super) fn message(self) -> Result<Bytes, Error> {
        let codec = self.codec();
        let Some(message) = self.message else {
            return Ok(Bytes::from_static(if codec == Codec::Json { b"{}" } else { b"" }));
        };
        if self.base64.as_deref() == Some(b"1") {
            let decoded = BASE64.decode(message);
            return decoded.map(Bytes::from).map_err(|_| Error::invalid("message", "must be base64 for URLs"));
        }
        Ok(message.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_in_each_of_its_forms() {
        for (query, message) in [
            ("", Ok(&b"{}"[..])),
            ("encoding=proto", Ok(b"")),
            ("message=%7B%22a%22%3A+1%7D&other=x", Ok(br#"{"a": 1}"#)),
            ("base64=1&message=-_8=", Ok(b"\xfb\xff")),
            ("base64=1&message=-_8", Ok(b"\xfb\xff")),
            ("base64=0&message=-_8", Ok(b"-_8")),
            ("base64=1&message=*", Err(Error::invalid("message", "must be base64 for URLs"))),
        ] {
            assert_eq!(Query::of(query).message(), message.map(Bytes::copy_from_slice), "{query}");
        }
    }

    #[test]
    fn versions_and_encodings_are_checked() {
        let refused = |query: &str| Query::of(query).terms(&HeaderMap::new(), false).is_err();
        assert!(!refused("connect=v1&encoding=json") && !refused("encoding=proto&x") && !refused(""));
        assert!(refused("connect=v2") && refused("encoding=xml") && refused("compression=gzip"));
    }
}
