//! What of a prompt a provider can keep in its cache.

use super::{Message, digest};
use crate::{digest::Digest, profile::Stability, text::clamped};

/// How much of the front stays the same from turn to turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CachePlan {
    /// Messages that lie wholly in the stable front.
    pub stable_messages: u32,
    /// Bytes of the stable front, separators included.
    pub stable_bytes: u64,
    /// Hash of that front.
    pub stable_digest: Digest,
}

impl CachePlan {
    /// The stable front of these: whole messages, then the stable sections that the next one begins with.
    pub(super) fn of(messages: &[Message<'_>]) -> Self {
        let is_stable = |message: &&Message<'_>| message.stability == Stability::Stable && message.origin.is_none();
        let whole = messages.iter().take_while(is_stable).count();
        let (whole, rest) = messages.split_at(whole);
        let chunks = rest.first().map_or(&[][..], |next| &next.cache_prefix.digests);
        Self {
            stable_messages: clamped(whole.len()),
            stable_bytes: whole.iter().map(|message| message.size.bytes).sum::<u64>()
                + rest.first().map_or(0, |next| next.cache_prefix.bytes),
            stable_digest: digest::list(whole.iter().map(|message| message.digest).chain(chunks.iter().copied())),
        }
    }
}
