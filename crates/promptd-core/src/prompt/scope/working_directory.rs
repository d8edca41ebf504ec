//! What must be said of the folder that a turn works in.

use super::TurnScope;
use crate::{
    finding::{Code, Finding, Place},
    profile::{Body, Profile},
    text::inline::inline,
    workspace::MANIFEST,
};

/// How the folder is named in findings.
const FIELD: &str = "turn.working_directory";

impl TurnScope<'_> {
    /// That the folder changes nothing, or is not one of those that were searched for context files.
    pub(in crate::prompt) fn finding_of_working_directory(&self) -> Option<Finding> {
        let directory = &self.turn.working_directory;
        if directory.is_root() || self.files.skips_context_files() {
            return None;
        }
        let unused = |why: String| Some(Finding::new(Code::WorkingDirectoryUnused, Place::Field(FIELD.into()), why));
        if self.snapshot.manifest.context.nested.is_empty() {
            return unused(format!("no context file depends on it: {MANIFEST} has no `context.nested`"));
        }
        if !shows_context_files(self.profile) {
            return unused(format!(
                "no context file depends on it: the profile `{}` has no section of them",
                self.profile.name
            ));
        }
        let not_found = self.snapshot.nested.not_found(directory)?;
        let message = format!("{not_found}; the context files above it hold");
        let message = inline(&message, usize::MAX).text.into_owned();
        Some(Finding::new(Code::WorkingDirectoryUnknown, Place::Field(FIELD.into()), message))
    }
}

fn shows_context_files(profile: &Profile) -> bool {
    profile.sections().any(|(_, section)| matches!(section.body, Body::ContextFiles { .. }))
}
