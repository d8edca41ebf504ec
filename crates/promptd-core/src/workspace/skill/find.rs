//! Finding skills: folders with a SKILL.md, below `skills/` or a shared folder.

use std::collections::VecDeque;

use super::SKILL_FILE;
use crate::{
    finding::{Code, Finding, Place},
    text::hidden::{is_hidden, is_line_break},
    workspace::{
        files::join,
        tree::{Entry, EntryKind, ReadAs, ReadError, Tree},
    },
};

/// How deep a skill's folder may lie below the folder that is searched.
pub const MAX_SKILL_DEPTH: usize = 4;
/// How many folders are looked into below one folder that is searched.
pub const MAX_FOLDERS_SEARCHED: usize = 20_000;
/// How many skills are taken from below one folder that is searched.
pub const MAX_SKILLS_FOUND: usize = 2_000;

/// A folder that is searched for skills.
pub(in crate::workspace) struct Root<'a> {
    pub(in crate::workspace) tree: &'a dyn Tree,
    /// Where it lies in the tree: `skills`, or empty.
    pub(in crate::workspace) folder: &'static str,
    /// What findings and reports call it: `skills` or `@shared`.
    pub(in crate::workspace) shown: &'static str,
    /// Its absolute path.
    pub(in crate::workspace) path: String,
}

/// What a search found.
#[derive(Default)]
pub(in crate::workspace) struct Search {
    /// The skills' folders, relative to the root, by bytes.
    pub(in crate::workspace) folders: Vec<String>,
    /// Folders that could not be listed and may be as they were, relative to the root.
    pub(in crate::workspace) unlisted: Vec<String>,
    /// Each with the name of the folder that it is about.
    pub(in crate::workspace) findings: Vec<(String, Finding)>,
}

/// Searches a root, level by level. A skill's own subfolders are not searched, nor hidden ones and `node_modules`;
/// links are followed as the tree follows them, and a folder that is inside itself by a link is reported once.
///
/// A SKILL.md right in the root is reported: a skill is a folder with a name.
pub(in crate::workspace) fn find(root: &Root<'_>) -> Result<Search, ReadError> {
    let mut search = Search::default();
    let mut queue = VecDeque::from([(String::new(), 0)]);
    let mut visited = 0;
    while let Some((folder, depth)) = queue.pop_front() {
        visited += 1;
        if visited > MAX_FOLDERS_SEARCHED {
            search.limited(
                root,
                &folder,
                &format!("more than {MAX_FOLDERS_SEARCHED} folders; the rest is not searched"),
            );
            break;
        }
        let entries = match root.tree.list(&root.in_tree(&folder)) {
            Ok(entries) => entries,
            Err(error) if folder.is_empty() && !error.keeps_last_good() => return Err(error),
            Err(error) => {
                search.report(&folder, error.into_finding(&root.shown_path(&folder), ReadAs::Folder));
                if error.keeps_last_good() {
                    search.unlisted.push(folder);
                }
                continue;
            }
        };
        let is_skill = search.look_at_files(root, &folder, &entries);
        if is_skill && search.folders.len() == MAX_SKILLS_FOUND {
            search.limited(root, &folder, &format!("more than {MAX_SKILLS_FOUND} skills; the rest is left out"));
            break;
        }
        if is_skill {
            search.folders.push(folder);
            continue;
        }
        let subfolders = search.subfolders(root, &folder, entries);
        if depth < MAX_SKILL_DEPTH {
            queue.extend(subfolders.into_iter().map(|folder| (folder, depth + 1)));
        } else if let Some(first) = subfolders.first() {
            search.limited(root, first, &format!("deeper than {MAX_SKILL_DEPTH} levels; not searched"));
        }
    }
    search.folders.sort_unstable();
    Ok(search)
}

impl Root<'_> {
    pub(in crate::workspace) fn in_tree(&self, folder: &str) -> String {
        join(self.folder, folder)
    }

    pub(in crate::workspace) fn shown_path(&self, folder: &str) -> String {
        join(self.shown, folder)
    }
}

impl Search {
    /// Whether the folder is a skill; reports a SKILL.md that makes none.
    fn look_at_files(&mut self, root: &Root<'_>, folder: &str, entries: &[Entry]) -> bool {
        let has = |name: &str| entries.iter().any(|entry| entry.name == name);
        if has(SKILL_FILE) {
            if !folder.is_empty() {
                return true;
            }
            let place = Place::file(join(root.shown, SKILL_FILE));
            let message = "not a skill: move it into a folder below `skills/`";
            self.report(folder, Finding::new(Code::SkillNonconforming, place, message));
        }
        for entry in entries.iter().filter(|e| e.name != SKILL_FILE && e.name.eq_ignore_ascii_case(SKILL_FILE)) {
            let place = Place::file(join(&root.shown_path(folder), &entry.name));
            let message = format!("not read: the name must be {SKILL_FILE}, in this case");
            self.report(folder, Finding::new(Code::FileNameCase, place, message));
        }
        false
    }

    /// The subfolders to search.
    fn subfolders(&mut self, root: &Root<'_>, folder: &str, mut entries: Vec<Entry>) -> Vec<String> {
        entries.retain(|entry| !is_skipped(&entry.name));
        entries.sort_unstable();
        let mut subfolders = Vec::new();
        for entry in entries {
            let path = join(folder, &entry.name);
            if entry.kind == EntryKind::File {
                continue;
            }
            if !is_printable(&entry.name) {
                let place = Place::file(root.shown_path(folder));
                let message = format!(
                    "the folder \"{}\" has characters in its name that prompts cannot show; it is not searched",
                    entry.name.escape_default()
                );
                self.report(&path, Finding::new(Code::SkillInvalid, place, message));
            } else if entry.kind == EntryKind::Folder {
                subfolders.push(path);
            } else if let Err(error @ (ReadError::LinkOutside | ReadError::LinkDangling | ReadError::LinkLoop)) =
                root.tree.list(&root.in_tree(&path))
            {
                self.report(&path, error.into_finding(&root.shown_path(&path), ReadAs::Folder));
            }
        }
        subfolders
    }

    fn report(&mut self, folder: &str, finding: Finding) {
        let name = folder.rsplit('/').next().unwrap_or_default();
        self.findings.push((name.to_owned(), finding));
    }

    /// One finding, however many places there are.
    fn limited(&mut self, root: &Root<'_>, folder: &str, message: &str) {
        let said =
            |(_, finding): &(String, Finding)| finding.code == Code::SkillSearchLimited && finding.message == message;
        if !self.findings.iter().any(said) {
            let place = Place::file(root.shown_path(folder));
            self.report(folder, Finding::new(Code::SkillSearchLimited, place, message));
        }
    }
}

/// Hidden folders and installed packages.
pub(super) fn is_skipped(name: &str) -> bool {
    name.starts_with('.') || name == "node_modules"
}

/// Whether a name can go into a prompt unchanged, so that the path in the prompt opens.
pub(super) fn is_printable(name: &str) -> bool {
    let bad = |c: char| c.is_control() || is_hidden(c) || is_line_break(c) || c == char::REPLACEMENT_CHARACTER;
    !name.contains(bad)
}
