//! The time of calls: the one place that reads the clock, and deadlines.

use std::time::Duration;

use http::HeaderMap;
use tokio::time::Instant;

/// The current time, to measure calls with. A turn's own time comes from the backend's clock.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the clock of calls")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// How much earlier than the caller's deadline a call ends.
///
/// tonic has a timer of its own for the same header, which answers CANCELLED; it was started a moment before this
/// one, so this one must end first.
const MARGIN: Duration = Duration::from_millis(2);

/// How long a call may take: the caller's `grpc-timeout`, at most `longest`.
pub(super) fn of(headers: &HeaderMap, longest: Option<Duration>) -> Option<Duration> {
    let asked = headers.get("grpc-timeout").and_then(|value| parse(value.as_bytes()));
    let asked = asked.map(|timeout| timeout.saturating_sub(MARGIN));
    match (asked, longest) {
        (Some(asked), Some(longest)) => Some(asked.min(longest)),
        (asked, longest) => asked.or(longest),
    }
}

/// The value of `grpc-timeout`: 1 to 8 digits and a unit. A malformed one is ignored, as gRPC says.
fn parse(value: &[u8]) -> Option<Duration> {
    let (unit, digits) = value.split_last()?;
    if digits.is_empty() || digits.len() > 8 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let count: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    match unit {
        b'H' => Some(Duration::from_secs(count * 3_600)),
        b'M' => Some(Duration::from_secs(count * 60)),
        b'S' => Some(Duration::from_secs(count)),
        b'm' => Some(Duration::from_millis(count)),
        b'u' => Some(Duration::from_micros(count)),
        b'n' => Some(Duration::from_nanos(count)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_read_and_malformed_values_are_ignored() {
        for (text, wanted) in [
            ("1H", Some(Duration::from_secs(3_600))),
            ("2M", Some(Duration::from_secs(120))),
            ("99999999S", Some(Duration::from_secs(99_999_999))),
            ("5m", Some(Duration::from_millis(5))),
            ("7u", Some(Duration::from_micros(7))),
            ("0n", Some(Duration::ZERO)),
            ("100000000n", None),
            ("5", None),
            ("m", None),
            ("-5m", None),
            ("5x", None),
            ("", None),
        ] {
            assert_eq!(parse(text.as_bytes()), wanted, "{text}");
        }
    }

    #[test]
    fn the_shorter_of_the_two_wins() {
        let headers =
            |text: &'static str| HeaderMap::from_iter([("grpc-timeout".parse().unwrap(), text.parse().unwrap())]);
        let longest = Some(Duration::from_secs(60));
        assert_eq!(of(&headers("1S"), longest), Some(Duration::from_millis(998)));
        assert_eq!(of(&headers("90S"), longest), longest);
        assert_eq!(of(&headers("90S"), None), Some(Duration::from_millis(89_998)));
        assert_eq!(of(&HeaderMap::new(), None), None);
    }
}
