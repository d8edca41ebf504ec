//! The bound on the spans of one answer.

use std::sync::Arc;

use crate::{
    finding::{Code, Finding, Place},
    profile::Profile,
    prompt::output::{How, Origin, SectionReport, Span},
    text::thousands,
};

/// The most spans of one prompt. A section whose own do not fit any more has one for all of its text, and a finding says so.
pub const MAX_SPANS: usize = 10_000;

/// Keeps the spans of the first sections, `limit` together, and of the others one each; the finding says how many those are.
pub(super) fn limit(sections: &mut [SectionReport<'_>], profile: &Profile, limit: usize) -> Option<Finding> {
    let placed = sections.iter().filter(|section| section.position.is_some()).count();
    // Every section with text has one at least.
    let mut room = limit.saturating_sub(placed);
    let mut merged = 0;
    for section in sections {
        let Some(position) = &section.position else { continue };
        let more = section.spans.len().saturating_sub(1);
        if more <= room {
            room -= more;
            continue;
        }
        merged += 1;
        section.spans = Box::new([Span {
            bytes: position.bytes.clone(),
            origin: Arc::new(Origin::profile(profile.name.as_str(), &*section.id)),
            source: 0..0,
            how: How::Template,
        }]);
    }
    let message = format!(
        "the prompt has more than {} spans: {} sections have one span each instead of their own",
        thousands(limit as u64),
        thousands(merged)
    );
    (merged > 0).then(|| Finding::new(Code::SpansLimited, Place::Unplaced, message))
}
