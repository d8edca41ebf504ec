//! Searching a workspace's folders for nested context files.

use std::collections::{BTreeMap, VecDeque};

use super::Unsearched;
use crate::{
    finding::{Code, Finding, Place},
    text::hidden::is_path_char,
    workspace::{
        files::join,
        skill::SKILLS_FOLDER,
        tree::{Entry, EntryKind, ReadError, Tree},
    },
};

/// How deep below the root folders are searched for nested context files.
pub const MAX_NESTED_DEPTH: usize = 16;
/// How many folders of a workspace are searched for nested context files.
pub const MAX_NESTED_FOLDERS: usize = 10_000;
/// How many files are reported that are called like one that is looked for, except for the case.
const MAX_NEAR_MISSES: usize = 10;

/// Folders that are not searched, wherever they are: of version control, installed packages and compiled files.
const UNSEARCHED: [&str; 6] = [".git", ".hg", ".svn", ".jj", "node_modules", "__pycache__"];
/// Files by which a tool says that it made the folder: the cache directory tag, and that of Python's environments.
const MARKS: [&str; 2] = ["CACHEDIR.TAG", "pyvenv.cfg"];

/// What a search found.
#[derive(Default)]
pub(super) struct Search {
    /// The folders below the root that were listed, each with the reason if it was not searched all the same.
    pub(super) folders: BTreeMap<Box<str>, Option<Unsearched>>,
    /// Whether there are more.
    pub(super) is_partial: bool,
    /// Those that could not be listed, perhaps the root among them.
    pub(super) unlisted: Vec<(String, ReadError)>,
    /// The files of the names, level by level.
    pub(super) files: Vec<String>,
    /// Files that are nearly called so.
    pub(super) near_misses: Vec<Finding>,
}

/// Searches the folders level by level, each in name order. Links are followed as the tree follows them.
pub(super) fn search(tree: &dyn Tree, names: &[String]) -> Search {
    let wanted: Vec<&str> = names.iter().map(String::as_str).chain(MARKS).collect();
    let mut search = Search::default();
    let mut queue = VecDeque::from([String::new()]);
    while let Some(folder) = queue.pop_front() {
        let mut entries = match tree.list_only(&folder, &wanted) {
            Ok(entries) => entries,
            Err(error) => {
                search.known(&folder, Some(Unsearched::Unlisted(error)));
                search.unlisted.push((folder, error));
                continue;
            }
        };
        let reason = if folder.is_empty() { None } else { made_by_tool(&entries) };
        search.known(&folder, reason);
        if reason.is_some() {
            continue;
        }
        entries.sort_unstable();
        for entry in entries {
            let path = join(&folder, &entry.name);
            if entry.kind != EntryKind::Folder {
                search.take_file(&entry.name, path, names);
            } else if search.folders.len() + queue.len() >= MAX_NESTED_FOLDERS {
                search.is_partial = true;
            } else if never_searched(&path).is_none() {
                queue.push_back(path);
            }
        }
    }
    search
}

/// Why a folder with these entries is not searched.
fn made_by_tool(entries: &[Entry]) -> Option<Unsearched> {
    let has = |mark: &&str| entries.iter().any(|entry| entry.name == *mark && entry.kind == EntryKind::File);
    MARKS.into_iter().find(has).map(Unsearched::Mark)
}

/// Why a folder of this path is not searched, whatever is in it.
pub(super) fn never_searched(path: &str) -> Option<Unsearched> {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    if UNSEARCHED.contains(&name) {
        Some(Unsearched::Name)
    } else if path == SKILLS_FOLDER {
        Some(Unsearched::Skills)
    } else if !name.chars().all(is_path_char) {
        Some(Unsearched::Characters)
    } else {
        (path.split('/').count() > MAX_NESTED_DEPTH).then_some(Unsearched::Depth)
    }
}

impl Search {
    fn known(&mut self, folder: &str, reason: Option<Unsearched>) {
        if !folder.is_empty() {
            self.folders.insert(folder.into(), reason);
        }
    }

    /// Takes a file of one of the names, and reports one that is nearly called so.
    fn take_file(&mut self, name: &str, path: String, names: &[String]) {
        if names.iter().any(|looked_for| looked_for == name) {
            self.files.push(path);
        } else if let Some(meant) = names.iter().find(|looked_for| looked_for.eq_ignore_ascii_case(name))
            && self.near_misses.len() < MAX_NEAR_MISSES
        {
            let message = format!("not read: did you mean {meant}? Names are case-sensitive");
            self.near_misses.push(Finding::new(Code::FileNameCase, Place::file(path), message));
        }
    }
}
