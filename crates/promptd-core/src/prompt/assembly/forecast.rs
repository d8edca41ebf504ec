//! The findings that prompts of a workspace will have, before any has been asked for.

use std::sync::Arc;

use super::{assemble::assemble, prepared::Prepared};
use crate::{
    finding::{Code, Finding, Place},
    prompt::validate::TurnError,
    time::Moment,
    turn::Turn,
    workspace::{MANIFEST, Snapshot},
};

/// The findings of a plain turn and of a heartbeat turn by the workspace's own profile, without those of the snapshot:
/// what is cut is known only once a prompt is assembled. What is prepared for it is not kept: it is larger than the texts,
/// and most workspaces of many are not asked for.
pub(super) fn forecast(snapshot: &Arc<Snapshot>) -> Vec<Finding> {
    let Some(profile) = snapshot.profiles.get(snapshot.manifest.profile.as_str()) else { return Vec::new() };
    let snapshot = &Prepared::from(Arc::clone(snapshot));
    let turns = [false, true].map(|heartbeat| Turn { heartbeat, ..Turn::at(Moment::EPOCH) });
    let mut found = Vec::new();
    for turn in &turns {
        match assemble(snapshot, profile, turn) {
            Ok(prompt) => found.extend(prompt.findings.into_iter().map(std::borrow::Cow::into_owned)),
            Err(TurnError::BudgetTooSmall(error)) => {
                found.push(Finding::new(Code::BudgetTooSmall, Place::file(MANIFEST), error.to_string()));
            }
            // A profile may need what only a turn can bring.
            Err(TurnError::Invalid { .. } | TurnError::Locked { .. }) => {}
        }
    }
    found.retain(|finding| !snapshot.findings.contains(finding));
    found.sort();
    found.dedup();
    found
}

/// The tags of one skill in the skills block take fewer bytes than this.
const TAGS: usize = 200;
/// Escaped, a byte takes at most so many.
const ESCAPED: usize = 6;

/// Whether a limit may cut text of plain prompts of the workspace. It only adds up sizes, so that [`forecast`] need not
/// render workspaces that nobody asks for; it may be wrong only by answering yes.
pub(super) fn may_lose(snapshot: &Snapshot) -> bool {
    let (context, skills) = (&snapshot.manifest.context, &snapshot.settings.skills);
    let documents = || snapshot.documents.values().map(Arc::as_ref).chain(snapshot.nested.documents());
    let sizes = || documents().map(|document| document.chars);
    let shown = || snapshot.skills.iter().filter(|skill| skill.is_shown());
    let block =
        || shown().map(|skill| ESCAPED * (skill.name.len() + skill.description.len() + skill.location.len()) + TAGS);
    snapshot.manifest.budget.limit.is_some()
        || documents().any(|document| document.chars > context.max_chars_of(&document.path))
        || sizes().sum::<usize>() > context.max_chars_total
        || shown().count() > skills.max_shown
        || shown().any(|skill| skill.description.len() > skills.max_description_chars)
        || block().sum::<usize>() > skills.max_block_chars
}
