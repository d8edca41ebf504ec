//! Values that are put on one line of a prompt.

use std::borrow::Cow;

use crate::{
    finding::{Code, Finding, Place},
    text::{inline::inline, thousands},
};

/// Puts a caller's value on one line; `findings` reports what was removed or cut.
pub(crate) fn one_line<'v>(value: &'v str, limit: usize, field: &str, findings: &mut Vec<Finding>) -> Cow<'v, str> {
    one_line_of(value, limit, "the value", || Place::field(field), findings)
}

/// The same for `what`, which is found at `place`.
pub(super) fn one_line_of<'v>(
    value: &'v str,
    limit: usize,
    what: &str,
    place: impl Fn() -> Place,
    findings: &mut Vec<Finding>,
) -> Cow<'v, str> {
    let line = inline(value, limit);
    if line.cut {
        let message = format!("{what} is longer than {} characters and was cut", thousands(limit as u64));
        findings.push(Finding::new(Code::ValueTruncated, place(), message));
    }
    if line.sanitized {
        let message = format!("line breaks, control or hidden characters were taken out of {what}");
        findings.push(Finding::new(Code::ValueSanitized, place(), message));
    }
    line.text
}
