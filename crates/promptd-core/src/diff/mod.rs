//! What differs between two prompts: the sections, the text inside them, sizes, findings, and what providers' caches lose.
//!
//! It is for people who ask what an edit does: two revisions of a workspace, assembled for the same turn. Sections are
//! compared by id, so that one that moves is not one that is new.

mod parts;
mod text;

pub use text::{Hunk, Line, LineKind, Piece, TextDiff};

use std::collections::BTreeMap;

use self::{
    parts::{Part, layout, parts},
    text::Effort,
};
use crate::{
    digest::Digest,
    finding::{Finding, Place},
    prompt::{Outcome, Prompt, SectionReport, Size},
    render::{CachedPrefix, cached_prefixes},
};

/// What differs between two prompts.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptDiff {
    /// The first prompt's digest and size.
    pub before: Whole,
    /// The second one's.
    pub after: Whole,
    /// The sections that differ, in the second prompt's order; those that it no longer has come behind the one that they
    /// followed.
    pub sections: Vec<SectionDiff>,
    /// The order of what both have: a line for each message, role and name, and one for each of its sections.
    pub layout: TextDiff,
    /// What each provider's cache loses.
    pub cache: Vec<CacheDiff>,
    /// Findings that only the second prompt has.
    pub appeared: Vec<Finding>,
    /// Findings that only the first prompt has.
    pub vanished: Vec<Finding>,
}

/// A prompt in figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole {
    /// Its digest.
    pub digest: Digest,
    /// Its size; with tokens if they were counted before.
    pub size: Size,
}

/// A section that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionDiff {
    /// Its id; `conversation/N` for a message of the turn's conversation.
    pub id: String,
    /// The file that it is made from, in the second prompt or else in the first.
    pub path: Option<String>,
    /// What it was in the first prompt; `None`: not there.
    pub before: Option<SectionState>,
    /// What it is in the second prompt; `None`: not there.
    pub after: Option<SectionState>,
    /// What of its text differs.
    pub text: TextDiff,
}

/// A section in one prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionState {
    /// What became of it.
    pub outcome: Outcome,
    /// Why it was left out or cut.
    pub reason: String,
    /// The size of its text in the prompt, without markers.
    pub size: Size,
    /// Whether it has text in the prompt.
    pub is_shown: bool,
}

/// What became of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Only the second prompt shows it.
    Added,
    /// Only the first prompt shows it.
    Removed,
    /// Both show it, with another text.
    Changed,
    /// Its text is the same, or it has none; its outcome is another, or its reason.
    Reported,
}

/// What a provider's cache loses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheDiff {
    /// How much it keeps.
    pub prefix: CachedPrefix,
    /// The section of the first prompt in which, or behind which, they begin to differ; empty where one is the other's beginning.
    pub section: String,
}

impl PromptDiff {
    /// Whether the prompts and their findings are the same.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.before.digest == self.after.digest
            && self.sections.is_empty()
            && self.layout.is_empty()
            && self.appeared.is_empty()
            && self.vanished.is_empty()
            && self.cache.iter().all(|cache| cache.prefix.difference.is_none())
    }

    /// Whether something was too long to be compared in full.
    #[must_use]
    pub fn is_coarse(&self) -> bool {
        self.layout.coarse || self.sections.iter().any(|section| section.text.coarse)
    }
}

impl SectionDiff {
    /// What became of it.
    #[must_use]
    pub fn change(&self) -> Change {
        let is_shown = |state: &Option<SectionState>| state.as_ref().is_some_and(|state| state.is_shown);
        match (is_shown(&self.before), is_shown(&self.after)) {
            (false, true) => Change::Added,
            (true, false) => Change::Removed,
            _ if self.text.is_empty() => Change::Reported,
            _ => Change::Changed,
        }
    }
}

/// What differs between two prompts of the same turn. It takes bounded time, whatever the prompts are: what is too long to be
/// compared line by line is shown as replaced, and says so.
#[must_use]
pub fn diff(before: &Prompt<'_>, after: &Prompt<'_>) -> PromptDiff {
    let whole = |prompt: &Prompt<'_>| Whole { digest: prompt.digest, size: prompt.size };
    let (first, second) = (parts(before), parts(after));
    let mut effort = Effort::default();
    let sections = sections(&first, &second, &mut effort);
    let layout = TextDiff::new(&layout(before, &first, &second), &layout(after, &second, &first), &mut effort);
    let (appeared, vanished) = findings(before, after);
    let cache = cached_prefixes(before, after).into_iter().map(|prefix| CacheDiff {
        section: prefix.difference.map_or_else(String::new, |(message, byte)| parts::at(before, &first, message, byte)),
        prefix,
    });
    PromptDiff {
        before: whole(before),
        after: whole(after),
        sections,
        layout,
        cache: cache.collect(),
        appeared,
        vanished,
    }
}

/// The sections that differ.
fn sections(first: &[Part<'_>], second: &[Part<'_>], effort: &mut Effort) -> Vec<SectionDiff> {
    let by_id: BTreeMap<_, _> = second.iter().enumerate().map(|(at, part)| (&part.id, at)).collect();
    let before: BTreeMap<_, _> = first.iter().map(|part| (&part.id, part)).collect();
    // Where a removed section goes: behind the last one before it that both have.
    let mut gone: BTreeMap<usize, Vec<&Part<'_>>> = BTreeMap::new();
    let mut place = 0;
    for part in first {
        match by_id.get(&part.id) {
            Some(at) => place = at + 1,
            None => gone.entry(place).or_default().push(part),
        }
    }
    let mut sections = Vec::new();
    for (at, part) in second.iter().map(Some).chain([None]).enumerate() {
        let removed = gone.remove(&at).unwrap_or_default();
        sections.extend(removed.into_iter().filter_map(|part| section(Some(part), None, effort)));
        sections.extend(part.and_then(|part| section(before.get(&part.id).copied(), Some(part), effort)));
    }
    sections
}

/// `None`: nothing differs. A section that one prompt has no report of, and that the other leaves out without a loss, is no
/// difference to anyone who reads the prompts.
fn section(before: Option<&Part<'_>>, after: Option<&Part<'_>>, effort: &mut Effort) -> Option<SectionDiff> {
    let text = |part: Option<&Part<'_>>| part.and_then(|part| part.text).unwrap_or_default().to_owned();
    let state = |part: &Part<'_>| SectionState {
        outcome: part.report.map_or(Outcome::Included, |report| report.outcome),
        reason: part.report.map_or_else(String::new, |report| report.reason.to_string()),
        size: part.size(),
        is_shown: part.text.is_some(),
    };
    let (old, new) = (before.map(state), after.map(state));
    let reported = |state: &Option<SectionState>| {
        let state = state.as_ref().filter(|state| state.outcome != Outcome::Omitted)?;
        Some((state.outcome, state.reason.clone(), state.is_shown))
    };
    let (first, second) = (text(before), text(after));
    if first == second && reported(&old) == reported(&new) {
        return None;
    }
    let path = |part: Option<&Part<'_>>| Some(part?.report?.source.as_ref()?.path.to_string());
    let id = after.or(before)?.id.to_string();
    let text = TextDiff::new(&first, &second, effort);
    Some(SectionDiff { id, path: path(after).or_else(|| path(before)), before: old, after: new, text })
}

/// The findings that appeared, and those that vanished. One that only moved to another line is the same.
fn findings(before: &Prompt<'_>, after: &Prompt<'_>) -> (Vec<Finding>, Vec<Finding>) {
    let key = |finding: &Finding| {
        let place = match &finding.place {
            Place::File { path, .. } => Place::file(path.clone()),
            place => place.clone(),
        };
        (finding.code, finding.severity, place, finding.message.clone())
    };
    let only = |one: &Prompt<'_>, other: &Prompt<'_>| {
        let mut counts = BTreeMap::new();
        for finding in &other.findings {
            *counts.entry(key(finding)).or_insert(0_usize) += 1;
        }
        let is_new = |finding: &&std::borrow::Cow<'_, Finding>| match counts.get_mut(&key(finding)) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        };
        one.findings.iter().filter(is_new).map(|finding| finding.clone().into_owned()).collect()
    };
    (only(after, before), only(before, after))
}

#[cfg(test)]
mod tests;
