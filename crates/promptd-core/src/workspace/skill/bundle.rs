//! The files bundled with a skill.

use super::{BundledFile, SKILL_FILE, find};
use crate::{
    digest::sha256_hex,
    finding::{Code, Finding, Place, Severity},
    workspace::{
        files::join,
        tree::{EntryKind, ReadAs, ReadError, Tree},
    },
};

/// How deep below the skill's folder its files are listed.
pub const MAX_BUNDLE_DEPTH: usize = 4;
/// How many files and folders of one skill are looked at.
pub const MAX_BUNDLE_ENTRIES: usize = 500;

/// Lists and hashes the files below `folder`, except for SKILL.md; hidden ones and `node_modules` are not bundled. `shown`
/// is what findings call the folder; `known` are the files that it had: those that cannot be read now stay.
pub(super) fn list(
    tree: &dyn Tree,
    folder: &str,
    shown: &str,
    limit: usize,
    known: &[BundledFile],
) -> (Vec<BundledFile>, Vec<Finding>) {
    let mut bundle =
        Bundle { tree, folder, shown, limit, known, entries: 0, cut: false, files: Vec::new(), findings: Vec::new() };
    bundle.look_into("", 0);
    if bundle.cut {
        let message = format!(
            "more bundled files than the limit: at most {MAX_BUNDLE_ENTRIES} entries, {MAX_BUNDLE_DEPTH} folders deep"
        );
        bundle.findings.push(Finding::new(Code::SkillSearchLimited, Place::file(shown), message));
    }
    bundle.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    (bundle.files, bundle.findings)
}

struct Bundle<'a> {
    tree: &'a dyn Tree,
    folder: &'a str,
    shown: &'a str,
    limit: usize,
    known: &'a [BundledFile],
    entries: usize,
    cut: bool,
    files: Vec<BundledFile>,
    findings: Vec<Finding>,
}

impl Bundle<'_> {
    fn look_into(&mut self, below: &str, depth: usize) {
        let mut entries = match self.tree.list(&join(self.folder, below)) {
            Ok(entries) => entries,
            Err(error) => return self.warn(below, error, ReadAs::Folder),
        };
        entries.retain(|entry| !find::is_skipped(&entry.name) && find::is_printable(&entry.name));
        entries.sort_unstable();
        for entry in entries {
            let path = join(below, &entry.name);
            if path == SKILL_FILE {
                continue;
            }
            if self.entries == MAX_BUNDLE_ENTRIES {
                self.cut = true;
                return;
            }
            self.entries += 1;
            match entry.kind {
                EntryKind::Folder if depth == MAX_BUNDLE_DEPTH => self.cut = true,
                EntryKind::Folder => self.look_into(&path, depth + 1),
                EntryKind::File | EntryKind::Other => self.hash(path),
            }
        }
    }

    fn hash(&mut self, path: String) {
        match self.tree.read(&join(self.folder, &path), self.limit) {
            Ok(file) => self.files.push(BundledFile {
                sha256: sha256_hex(&file.bytes),
                path: path.into(),
                size: file.total,
                whole: !file.is_partial(),
            }),
            Err(error) => self.warn(&path, error, ReadAs::File),
        }
    }

    /// A warning: the skill works without the file.
    fn warn(&mut self, below: &str, error: ReadError, read_as: ReadAs) {
        if error.keeps_last_good() {
            let is_below = |path: &str| {
                path.strip_prefix(below)
                    .is_some_and(|rest| below.is_empty() || rest.is_empty() || rest.starts_with('/'))
            };
            self.files.extend(self.known.iter().filter(|file| is_below(&file.path)).cloned());
        }
        let finding = error.into_finding(&join(self.shown, below), read_as);
        self.findings.push(Finding { severity: Severity::Warning, ..finding });
    }
}
