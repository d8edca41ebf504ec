//! What a request says about its call besides the message: version, deadline, compression.

use http::{
    HeaderMap, HeaderValue,
    header::{ACCEPT_ENCODING, CONTENT_ENCODING},
};

use super::compression::accepts_gzip;
use crate::grpc::pipeline::Error;

/// The longest value of `connect-timeout-ms`.
const MAX_TIMEOUT_DIGITS: usize = 10;
/// The most digits of gRPC's own header.
const MAX_GRPC_TIMEOUT: u64 = 99_999_999;

#[derive(Debug)]
pub(super) struct Terms {
    /// As gRPC writes it.
    pub(super) timeout: Option<HeaderValue>,
    /// The message is compressed, or, where there are envelopes, may be.
    pub(super) gzipped: bool,
    pub(super) accepts_gzip: bool,
}

impl Terms {
    /// Those of a request whose message is its body.
    pub(super) fn of_headers(headers: &HeaderMap, enveloped: bool, gzip: bool) -> Result<Self, Error> {
        let version = headers.get("connect-protocol-version");
        if version.is_some_and(|version| version != "1") {
            return Err(Error::invalid("connect-protocol-version", "must be 1"));
        }
        let (encoding, accept) = if enveloped {
            (headers.get("connect-content-encoding"), headers.get("connect-accept-encoding"))
        } else {
            (headers.get(CONTENT_ENCODING), headers.get(ACCEPT_ENCODING))
        };
        Self::new(headers, encoding.map(HeaderValue::as_bytes), accept, gzip)
    }

    /// `encoding` names the message's compression, `accept` those that the answer may have.
    pub(super) fn new(
        headers: &HeaderMap,
        encoding: Option<&[u8]>,
        accept: Option<&HeaderValue>,
        gzip: bool,
    ) -> Result<Self, Error> {
        let gzipped = match encoding {
            None | Some(b"identity" | b"") => false,
            Some(b"gzip") if gzip => true,
            Some(b"gzip") => {
                let why =
                    "the request is compressed with gzip, which `grpc.gzip` allows; supported encodings: identity";
                return Err(Error::Unimplemented(why.into()));
            }
            Some(_) => {
                let supported = if gzip { "gzip, identity" } else { "identity" };
                let why = format!("the request's compression is not supported; supported encodings: {supported}");
                return Err(Error::Unimplemented(why));
            }
        };
        let timeout = headers.get("connect-timeout-ms").map(|value| timeout(value.as_bytes())).transpose()?;
        Ok(Self { timeout, gzipped, accepts_gzip: accept.is_some_and(accepts_gzip) })
    }
}

/// Milliseconds as gRPC writes a timeout, which has fewer digits.
fn timeout(given: &[u8]) -> Result<HeaderValue, Error> {
    let digits = (1..=MAX_TIMEOUT_DIGITS).contains(&given.len()) && given.iter().all(u8::is_ascii_digit);
    let millis = std::str::from_utf8(given).ok().filter(|_| digits).and_then(|text| text.parse::<u64>().ok());
    let millis = millis.ok_or_else(|| {
        Error::invalid(
            "connect-timeout-ms",
            format!("must be a number of milliseconds of at most {MAX_TIMEOUT_DIGITS} digits"),
        )
    })?;
    let written = if millis <= MAX_GRPC_TIMEOUT { format!("{millis}m") } else { format!("{}S", millis / 1_000) };
    HeaderValue::from_str(&written).map_err(|_| Error::Internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_written_as_grpc_writes_them() {
        for (given, written) in [
            ("0", Some("0m")),
            ("1500", Some("1500m")),
            ("99999999", Some("99999999m")),
            ("100000000", Some("100000S")),
            ("9999999999", Some("9999999S")),
            ("10000000000", None),
            ("", None),
            ("-1", None),
            ("1.5", None),
            ("1s", None),
        ] {
            let timeout = timeout(given.as_bytes()).ok();
            assert_eq!(timeout.as_ref().and_then(|value| value.to_str().ok()), written, "{given}");
        }
    }
}
