//! A call's names in logs: its request id and the trace it belongs to.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

use http::{HeaderMap, HeaderName, HeaderValue};

/// The header of request ids, in requests and answers.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const TRACE_PARENT: &str = "traceparent";

/// The longest request id that is taken over.
const MAX_REQUEST_ID_BYTES: usize = 128;

/// The caller's request id where it is fit for a log line, else a new one.
pub(super) fn request_id(headers: &HeaderMap) -> HeaderValue {
    headers.get(REQUEST_ID).filter(|id| is_fit(id.as_bytes())).cloned().unwrap_or_else(new_id)
}

fn is_fit(id: &[u8]) -> bool {
    (1..=MAX_REQUEST_ID_BYTES).contains(&id.len()) && id.iter().all(u8::is_ascii_graphic)
}

/// 32 hex digits that no other call of this or another process is likely to have.
fn new_id() -> HeaderValue {
    static KEYS: LazyLock<(RandomState, RandomState)> = LazyLock::new(|| (RandomState::new(), RandomState::new()));
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let text = format!("{:016x}{:016x}", KEYS.0.hash_one(count), KEYS.1.hash_one(count));
    HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static("-"))
}

/// The ids of a W3C `traceparent` header: trace and parent span.
pub(super) fn trace_parent(headers: &HeaderMap) -> Option<(&str, &str)> {
    let value = headers.get(TRACE_PARENT)?.to_str().ok()?;
    let mut parts = value.split('-');
    let (version, trace, parent, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let hex = |text: &str, len: usize| {
        text.len() == len && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    };
    let zero = |text: &str| text.bytes().all(|b| b == b'0');
    let good = hex(version, 2)
        && version != "ff"
        && (version != "00" || parts.next().is_none())
        && hex(trace, 32)
        && !zero(trace)
        && hex(parent, 16)
        && !zero(parent)
        && hex(flags, 2);
    good.then_some((trace, parent))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).unwrap())])
    }

    #[test]
    fn a_fit_request_id_is_kept_and_others_are_replaced() {
        assert_eq!(request_id(&headers("x-request-id", "abc-1")), "abc-1");
        for bad in ["", "a b", "é", &"x".repeat(129)] {
            assert_eq!(request_id(&headers("x-request-id", bad)).len(), 32, "{bad}");
        }
        assert_ne!(request_id(&HeaderMap::new()), request_id(&HeaderMap::new()));
    }

    #[test]
    fn reads_well_formed_trace_parents_alone() {
        let (trace, parent) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        let good = format!("00-{trace}-{parent}-01");
        assert_eq!(trace_parent(&headers("traceparent", &good)), Some((trace, parent)));
        assert!(trace_parent(&headers("traceparent", &format!("cc-{trace}-{parent}-01-more"))).is_some());
        for bad in [
            format!("00-{trace}-{parent}-01-more"),
            format!("ff-{trace}-{parent}-01"),
            format!("00-{}-{parent}-01", "0".repeat(32)),
            format!("00-{}-{parent}-01", trace.to_uppercase()),
            format!("00-{trace}-{parent}"),
            "x".into(),
        ] {
            assert_eq!(trace_parent(&headers("traceparent", &bad)), None, "{bad}");
        }
    }
}
