//! Words that the formats of a difference share.

use promptd_core::{
    diff::{CacheDiff, Change, PromptDiff, SectionDiff, SectionState, TextDiff},
    finding::{Finding, escape},
    prompt::Size,
    text::thousands,
};

/// A text with what does not print as escapes, so that it hides nothing and a terminal does not act on it.
pub(in super::super) fn visible(text: &str) -> String {
    text.split('\t').map(escape).collect::<Vec<_>>().join("\t")
}

/// `added workspace_context/USERS.md: +120 chars, +31 tokens`
pub(super) fn section(section: &SectionDiff) -> String {
    let size = |state: &Option<SectionState>| state.as_ref().map(|state| state.size).unwrap_or_default();
    let mut line = headline(section.change(), &section.id, size(&section.before), size(&section.after));
    let state = |state: &Option<SectionState>| state.as_ref().map_or("absent", |state| state.outcome.as_str());
    let (before, after) = (state(&section.before), state(&section.after));
    if before != after {
        line.extend(["; ", before, " before, ", after, " now"]);
    }
    let reason = |state: &Option<SectionState>| state.as_ref().map(|state| state.reason.clone()).unwrap_or_default();
    let (before, after) = (reason(&section.before), reason(&section.after));
    if before != after && !after.is_empty() {
        line.extend(["; ", &visible(&after)]);
    }
    line
}

/// `added workspace_context/USERS.md: +120 chars, +31 tokens`
pub(in super::super) fn headline(what: Change, id: &str, before: Size, after: Size) -> String {
    format!("{} {}: {}", word(what), visible(id), change(before, after))
}

/// What became of a section.
pub(in super::super) fn word(change: Change) -> &'static str {
    match change {
        Change::Added => "added",
        Change::Removed => "removed",
        Change::Changed => "changed",
        Change::Reported => "reported",
    }
}

/// `+120 chars, +31 tokens`
pub(super) fn change(before: Size, after: Size) -> String {
    let chars = signed(before.chars, after.chars, "char");
    match (before.tokens, after.tokens) {
        (None, None) => chars,
        (before, after) => {
            format!("{chars}, {}", signed(before.unwrap_or_default(), after.unwrap_or_default(), "token"))
        }
    }
}

fn signed(before: u64, after: u64, unit: &str) -> String {
    let by = before.abs_diff(after);
    let sign = match before.cmp(&after) {
        std::cmp::Ordering::Less => "+",
        std::cmp::Ordering::Equal => "±",
        std::cmp::Ordering::Greater => "-",
    };
    format!("{sign}{} {unit}{}", thousands(by), if by == 1 { "" } else { "s" })
}

/// The whole prompt: `8,105 chars, 2,003 tokens (+120 chars, +31 tokens)`
pub(super) fn whole(diff: &PromptDiff) -> String {
    let (before, after) = (diff.before.size, diff.after.size);
    let tokens = after.tokens.map(|tokens| format!(", {} tokens", thousands(tokens))).unwrap_or_default();
    format!("{} chars{tokens} ({})", thousands(after.chars), change(before, after))
}

/// What a provider's cache loses.
pub(super) fn cache(cache: &CacheDiff) -> String {
    let prefix = cache.prefix;
    if !prefix.is_lost() {
        return "nothing is lost".to_owned();
    }
    format!(
        "lost from byte {} of {}; the prompts differ from byte {} ({})",
        thousands(prefix.kept),
        thousands(prefix.before),
        thousands(prefix.common),
        visible(&cache.section)
    )
}

/// `warning CONTEXT_FILE_TRUNCATED AGENTS.md: …`
pub(super) fn finding(finding: &Finding) -> String {
    format!("{} {} {}", finding.severity.as_str(), finding.code.as_str(), visible(&finding.to_string()))
}

/// What a text difference does not show; empty where it shows everything.
pub(super) fn limits(diff: &TextDiff) -> Vec<String> {
    let coarse = "too much differs to be compared in full: lines are shown as replaced".to_owned();
    let left_out = format!("{} more lines differ", thousands(diff.lines_left_out));
    let notes = [(diff.coarse, coarse), (diff.lines_left_out > 0, left_out)];
    notes.into_iter().filter(|(is_set, _)| *is_set).map(|(_, note)| note).collect()
}

/// That prompts differ in nothing that is listed.
pub(in super::super) const ONLY_BETWEEN: &str = "only the text between sections differs";

/// Whether the prompts differ in nothing that is listed.
pub(super) fn differs_only_between(diff: &PromptDiff) -> bool {
    diff.before.digest != diff.after.digest && diff.sections.is_empty() && diff.layout.is_empty()
}
