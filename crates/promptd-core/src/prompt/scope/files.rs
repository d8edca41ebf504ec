//! The workspace's files under its own settings, whichever profile reads them.
//!
//! `limit: context_file` of a section, and the kind `context_files`, have limits of their own: those of the workspace, else
//! the defaults. Everywhere else the limits hold only if the workspace sets them.

use crate::{
    profile::{Body, FilePattern, Profile, SectionSpec},
    text::shares::{Want, shares},
    turn::{Turn, WorkingDirectory},
    workspace::{CONTEXT_FILES, ContextSettings, Document, Snapshot},
};

/// What a turn may see of the workspace's files, by a profile.
#[derive(Clone, Copy)]
pub(crate) struct Files<'a> {
    snapshot: &'a Snapshot,
    profile: &'a Profile,
    /// Whether the turn or the workspace leaves the context files out.
    skips: bool,
    /// Where the turn works.
    working_directory: &'a WorkingDirectory,
}

impl<'a> Files<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot, profile: &'a Profile, turn: &'a Turn) -> Self {
        let skips = turn.skip_context_files || snapshot.manifest.agent.skip_context_files;
        Self { snapshot, profile, skips, working_directory: &turn.working_directory }
    }

    /// Whether the context files are left out.
    pub(crate) fn skips_context_files(&self) -> bool {
        self.skips
    }

    /// Whether a file is left out: one of those that are always looked for, or that the workspace names.
    pub(crate) fn skips(&self, path: &str) -> bool {
        let is_own = || self.snapshot.manifest.context.files.iter().any(|file| *file.path == *path);
        self.skips && (CONTEXT_FILES.contains(&path) || is_own())
    }

    /// The document of a pattern, or the path that gave none. A newest file that could not be read is not replaced by an
    /// older one.
    pub(crate) fn find(&self, pattern: &FilePattern) -> Result<&'a Document, String> {
        let snapshot = self.snapshot;
        if let FilePattern::Path(path) = pattern {
            return snapshot.document(path).ok_or_else(|| path.clone());
        }
        let document = snapshot.documents.values().rev().find(|document| pattern.matches(&document.path));
        let unusable = snapshot.unusable.keys().rev().find(|path| pattern.matches(path));
        match (document, unusable) {
            (Some(document), Some(path)) if **path > *document.path => Err(path.to_string()),
            (Some(document), _) => Ok(document),
            (None, path) => Err(path.map_or_else(|| pattern.to_string(), ToString::to_string)),
        }
    }

    /// The nested context files that hold where the turn works, the root's first.
    pub(crate) fn nested(&self) -> impl Iterator<Item = &'a str> {
        self.snapshot.nested.paths_for(self.working_directory)
    }

    /// The most characters of a file in a section without `limit: context_file`, or in an input.
    pub(crate) fn limit(&self, path: &str) -> usize {
        let context = &self.snapshot.manifest.context;
        if !context.sets_max_chars_total {
            return self.own_limit(path);
        }
        let documents = self.unlimited();
        let want = |document: &&Document| want_of(document, self.own_limit(&document.path), context);
        let wants: Vec<Want> = documents.iter().map(want).collect();
        let total = context.max_chars_total.saturating_sub(self.used_by_context_files());
        let share = documents.iter().position(|document| *document.path == *path);
        share.map_or_else(|| self.own_limit(path), |index| shares(&wants, total)[index])
    }

    /// How many characters of the total the kind `context_files` has for all of its files, the nested ones included: what those
    /// that the profile shows elsewhere leave.
    pub(crate) fn total_of_context_files(&self) -> usize {
        let context = &self.snapshot.manifest.context;
        if !context.sets_max_chars_total {
            return context.max_chars_total;
        }
        let elsewhere = self.unlimited().into_iter().map(|document| document.chars.min(self.limit(&document.path)));
        context.max_chars_total.saturating_sub(elsewhere.fold(0, usize::saturating_add))
    }

    /// The same before the files share the total; `usize::MAX`: no limit.
    pub(crate) fn own_limit(&self, path: &str) -> usize {
        let context = &self.snapshot.manifest.context;
        let default = if context.sets_max_chars_per_file { context.max_chars_per_file } else { usize::MAX };
        context.rule(path).max_chars.unwrap_or(default)
    }

    /// How many characters the pinned files of a section of context files have, under their limits; `None`: there are none.
    pub(crate) fn pinned_chars(&self, section: &SectionSpec) -> Option<usize> {
        let Body::ContextFiles { files, .. } = &section.body else { return None };
        let context = &self.snapshot.manifest.context;
        let own = context.files.iter().map(|file| &*file.path);
        let paths = files.iter().map(|(path, _)| path.as_str()).chain(own);
        let pinned = paths.filter(|path| context.rule(path).is_pinned);
        let documents = pinned.filter_map(|path| self.snapshot.document(path));
        let chars = documents.map(|document| want(document, context).need);
        chars.reduce(usize::saturating_add).map(|chars| chars.min(context.max_chars_total))
    }

    /// The documents that the profile shows without a limit of their own, each once.
    fn unlimited(&self) -> Vec<&'a Document> {
        let mut documents: Vec<&Document> = Vec::new();
        let sections = self.profile.sections().filter(|(_, section)| !section.cut);
        let sections = sections.filter_map(|(_, section)| self.find(section.file.as_ref()?).ok());
        let inputs = self.profile.inputs.iter().filter_map(|input| {
            let path = input.default_from.as_deref()?;
            self.snapshot.document(path)
        });
        for document in sections.chain(inputs) {
            if !self.skips(&document.path) && documents.iter().all(|other| other.path != document.path) {
                documents.push(document);
            }
        }
        documents
    }

    /// How many characters the kind `context_files` takes of the total, where the profile has it.
    fn used_by_context_files(&self) -> usize {
        let context = &self.snapshot.manifest.context;
        let listed = self.profile.sections().filter_map(|(_, section)| match &section.body {
            Body::ContextFiles { files, .. } if !self.skips => Some(files),
            _ => None,
        });
        let listed = listed.flat_map(|files| {
            let own = context.files.iter().map(|file| &*file.path);
            files.iter().map(|(path, _)| path.as_str()).chain(own)
        });
        let documents = listed.filter_map(|path| self.snapshot.document(path));
        documents.fold(0_usize, |sum, document| sum.saturating_add(want(document, context).need))
    }
}

/// What a context file wants of the total.
pub(crate) fn want(document: &Document, context: &ContextSettings) -> Want {
    want_of(document, context.max_chars_of(&document.path), context)
}

/// What a document of at most `limit` characters wants of the total.
fn want_of(document: &Document, limit: usize, context: &ContextSettings) -> Want {
    let size = if document.partial { usize::MAX } else { document.chars };
    let priority = if context.rule(&document.path).is_pinned { PINNED } else { 0 };
    Want { need: size.min(limit), floor: 0, priority }
}

/// The priorities of pinned files, and of those nearest to where a turn works.
const PINNED: u32 = 2;
const NEAREST: u32 = 1;

/// Favours the files nearest to where a turn works, those from `nearest` on: after the pinned files they get what they need
/// before the others, of which each keeps half of an equal share of what the pinned ones leave.
pub(crate) fn favour(wants: &mut [Want], nearest: usize, total: usize) {
    let pinned = wants.iter().filter(|want| want.priority == PINNED);
    let left = total.saturating_sub(pinned.map(|want| want.need).fold(0, usize::saturating_add));
    let sharing = wants.iter().filter(|want| want.priority != PINNED && want.need > 0).count();
    for (index, want) in wants.iter_mut().enumerate().filter(|(_, want)| want.priority != PINNED) {
        if index < nearest {
            want.floor = left / (2 * sharing.max(1));
        } else {
            want.priority = NEAREST;
        }
    }
}
