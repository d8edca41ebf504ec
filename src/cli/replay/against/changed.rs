//! A request whose prompt an edit changes, and how.

use std::collections::{BTreeMap, BTreeSet};

use promptd_core::{
    prompt::Prompt,
    render::{RenderFormat, cached_prefixes},
};
use promptd_record::RequestFile;

/// A request whose prompt changes.
pub(super) struct Changed {
    /// Its place in the list of requests.
    pub(super) file: RequestFile,
    /// Why it is refused after the edit.
    pub(super) refused: Option<String>,
    /// The sections whose text or outcome changes.
    pub(super) sections: BTreeSet<String>,
    /// The sections that are cut or left out, and were not before.
    pub(super) lost: BTreeSet<String>,
    /// By provider format: the tokens that its cache had and that are read again.
    pub(super) rebilled: Vec<(RenderFormat, u64)>,
    /// By how many characters the prompt's size changes.
    pub(super) chars: u64,
}

impl Changed {
    pub(super) fn refused(file: &RequestFile, why: String) -> Self {
        Self {
            file: file.clone(),
            refused: Some(why),
            sections: BTreeSet::new(),
            lost: BTreeSet::new(),
            rebilled: Vec::new(),
            chars: 0,
        }
    }

    pub(super) fn of(file: &RequestFile, before: &Prompt<'_>, after: &Prompt<'_>) -> Self {
        let (mut sections, mut lost) = (BTreeSet::new(), BTreeSet::new());
        let first: BTreeMap<&str, _> = before.sections.iter().map(|section| (&*section.id, section)).collect();
        let mut seen = BTreeSet::new();
        for section in &after.sections {
            seen.insert(&*section.id);
            let old = first.get(&*section.id);
            let text = old.and_then(|old| before.section_text(old));
            if text != after.section_text(section) || old.is_some_and(|old| old.outcome != section.outcome) {
                sections.insert(section.id.to_string());
            }
            // A section that was cut and is left out now has lost more.
            let was_lost = old.is_some_and(|old| old.outcome == section.outcome);
            if section.outcome.is_loss() && !was_lost {
                lost.insert(section.id.to_string());
            }
        }
        let gone = first.iter().filter(|(id, old)| !seen.contains(*id) && before.section_text(old).is_some());
        sections.extend(gone.map(|(id, _)| (*id).to_owned()));
        let (bytes, tokens) = (before.size.bytes.max(1), before.size.tokens.unwrap_or_default());
        let rebilled = cached_prefixes(before, after).into_iter().map(|prefix| {
            let again = if prefix.is_lost() { prefix.before - prefix.kept } else { 0 };
            (prefix.format, again * tokens / bytes)
        });
        Self {
            file: file.clone(),
            refused: None,
            sections,
            lost,
            rebilled: rebilled.collect(),
            chars: before.size.chars.abs_diff(after.size.chars),
        }
    }

    /// What makes one worse than another: refused, then what is lost, then what is paid again, then how much changes.
    pub(super) fn badness(&self) -> (bool, usize, u64, u64) {
        let tokens = self.rebilled.iter().map(|(_, tokens)| *tokens).max();
        (self.refused.is_some(), self.lost.len(), tokens.unwrap_or_default(), self.chars)
    }
}
