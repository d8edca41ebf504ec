//! A call's ids in logs: its request id, and the trace that it belongs to.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

use http::{HeaderMap, HeaderName, HeaderValue};

use promptd_core::text::hex;

use crate::grpc::tracer::TraceParent;

/// The header of request ids, in requests and answers.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The header of the trace that a call belongs to.
pub(super) const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");
/// The header of what systems of tracing tell each other of it.
pub(super) const TRACE_STATE: HeaderName = HeaderName::from_static("tracestate");

/// A longer request id of a caller is replaced.
const MAX_REQUEST_ID_BYTES: usize = 128;

/// The id of a call in logs and in its response.
#[derive(Clone)]
pub(super) enum RequestId {
    /// The caller's own.
    Given(HeaderValue),
    /// 32 hex digits.
    Generated([[u8; 2]; 16]),
}

impl RequestId {
    /// The caller's where it is valid, else a new one.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let given = headers.get(REQUEST_ID).filter(|id| is_valid(id.as_bytes())).cloned();
        given.map_or_else(|| Self::Generated(hex::digits(new_id().to_be_bytes())), Self::Given)
    }

    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Given(id) => id.to_str().unwrap_or_default(),
            Self::Generated(digits) => std::str::from_utf8(digits.as_flattened()).unwrap_or_default(),
        }
    }

    /// The value of the response's header. It is not secret, but marking it so keeps it out of HPACK's table, where it
    /// would evict headers that repeat: no other response has the same id.
    pub(super) fn into_header(self) -> HeaderValue {
        let mut value = match self {
            Self::Given(id) => id,
            Self::Generated(digits) => {
                HeaderValue::from_bytes(digits.as_flattened()).unwrap_or(HeaderValue::from_static("-"))
            }
        };
        value.set_sensitive(true);
        value
    }
}

fn is_valid(id: &[u8]) -> bool {
    (1..=MAX_REQUEST_ID_BYTES).contains(&id.len()) && id.iter().all(u8::is_ascii_graphic)
}

/// A number that is unique in this process, and most likely among processes: the upper half is drawn at random once. Ids
/// tell calls apart and are not secret: some can be computed from others.
fn new_id() -> u128 {
    static OWN: LazyLock<(u64, u64)> = LazyLock::new(|| {
        let random = RandomState::new();
        (random.hash_one(0_u8), random.hash_one(1_u8))
    });
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let (process, first) = *OWN;
    let number = mixed(first.wrapping_add(COUNT.fetch_add(1, Ordering::Relaxed)));
    u128::from(process) << 64 | u128::from(number)
}

/// SplitMix64's output function: a bijection, so that no number comes twice.
fn mixed(count: u64) -> u64 {
    let mut number = count.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// What a W3C `traceparent` header's value names.
pub(super) fn trace_parent(value: &HeaderValue) -> Option<TraceParent<'_>> {
    let mut parts = value.to_str().ok()?.split('-');
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
    // The lowest bit: the caller records its trace.
    let is_sampled = flags.chars().last().and_then(|digit| digit.to_digit(16)).is_some_and(|digit| digit & 1 == 1);
    good.then_some(TraceParent { trace_id: trace, span_id: parent, is_sampled })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).unwrap())])
    }

    #[test]
    fn a_fit_request_id_is_kept_and_others_are_replaced() {
        let of = |id: &str| RequestId::of(&headers("x-request-id", id));
        assert_eq!((of("abc-1").as_str(), of("abc-1").into_header()), ("abc-1", "abc-1".parse().unwrap()));
        for bad in ["", "a b", "é", &"x".repeat(129)] {
            let made = of(bad);
            assert!(made.as_str().len() == 32 && made.as_str().bytes().all(|b| b.is_ascii_hexdigit()), "{bad}");
            assert_eq!(made.as_str().to_owned(), made.into_header().to_str().unwrap());
        }
    }

    #[test]
    fn ids_differ_and_are_kept_out_of_the_header_table() {
        let made: std::collections::HashSet<u128> = (0..1_000).map(|_| new_id()).collect();
        assert_eq!(made.len(), 1_000);
        assert!(RequestId::of(&HeaderMap::new()).into_header().is_sensitive());
        assert!(RequestId::of(&headers("x-request-id", "abc-1")).into_header().is_sensitive());
    }

    #[test]
    fn reads_well_formed_trace_parents_alone() {
        let (trace, parent) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        let good = format!("00-{trace}-{parent}-01");
        let value = |text: &str| HeaderValue::from_str(text).unwrap();
        let named = TraceParent { trace_id: trace, span_id: parent, is_sampled: true };
        assert_eq!(trace_parent(&value(&good)), Some(named));
        for (flags, is_sampled) in
            [("00", false), ("01", true), ("02", false), ("03", true), ("ff", true), ("f0", false)]
        {
            let value = value(&format!("00-{trace}-{parent}-{flags}"));
            assert_eq!(trace_parent(&value).unwrap().is_sampled, is_sampled, "{flags}");
        }
        assert!(trace_parent(&value(&format!("cc-{trace}-{parent}-01-more"))).is_some());
        for bad in [
            format!("00-{trace}-{parent}-01-more"),
            format!("ff-{trace}-{parent}-01"),
            format!("00-{}-{parent}-01", "0".repeat(32)),
            format!("00-{}-{parent}-01", trace.to_uppercase()),
            format!("00-{trace}-{parent}"),
            "x".into(),
        ] {
            assert_eq!(trace_parent(&value(&bad)), None, "{bad}");
        }
    }
}
