//! A checked `DiffPromptRequest`.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::{
    Limits, Violation, Violations, optional_id,
    request::{complete, encoding, revision, workspace},
    turn,
};
use crate::proto::{self, diff_prompt_request};
use promptd_core::{id::Id, tokens::Encoding, turn::Turn, workspace::MemoryTree};

/// The most files of a proposed workspace.
const MAX_PROPOSED_FILES: usize = 1_000;
/// The most bytes of a proposed file's path.
const MAX_PATH_BYTES: usize = 1_024;
/// The most names of one.
const MAX_PATH_NAMES: usize = 32;

/// What a caller of `DiffPrompt` asks for, checked.
#[derive(Debug)]
pub struct DiffRequest {
    /// The workspace.
    pub workspace: Id,
    /// The turn of both sides.
    pub turn: Turn,
    /// The profile to use; `None`: each side's own.
    pub profile: Option<Id>,
    /// The revision to compare from; `None`: the newest.
    pub before: Option<String>,
    /// What to compare with.
    pub after: After,
    /// The encoding to count tokens with; `None`: they are not counted.
    pub encoding: Option<Encoding>,
}

/// What is compared with.
#[derive(Debug)]
pub enum After {
    /// A revision; `None`: the newest.
    Revision(Option<String>),
    /// Files that are not published; the index of each in the request, by its path.
    Proposed(MemoryTree, Vec<String>),
}

/// Checks a request. `may_see` refuses a workspace that is out of the caller's reach, before any other field is checked.
pub fn diff_request<E: From<Vec<Violation>>>(
    raw: proto::DiffPromptRequest,
    limits: &Limits,
    now: Timestamp,
    may_see: impl FnOnce(&Id) -> Result<(), E>,
) -> Result<DiffRequest, E> {
    let proto::DiffPromptRequest { workspace_id, turn: raw_turn, profile, before_revision, after, token_encoding } =
        raw;
    let mut violations = Violations::default();
    let workspace = workspace(&workspace_id, may_see, &mut violations)?;
    let profile = optional_id(&profile, "profile", &mut violations);
    let before = revision(before_revision, "before_revision", &mut violations);
    let after = match after {
        None => After::Revision(None),
        Some(diff_prompt_request::After::AfterRevision(raw)) => {
            After::Revision(revision(raw, "after_revision", &mut violations))
        }
        Some(diff_prompt_request::After::Proposed(raw)) => proposed(raw, &mut violations),
    };
    let encoding = encoding(&token_encoding, "token_encoding", &mut violations);
    let turn = turn(raw_turn.unwrap_or_default(), limits, now);
    let (workspace, turn) = complete(workspace, turn, violations)?;
    Ok(DiffRequest { workspace, turn, profile, before, after, encoding })
}

fn proposed(raw: proto::ProposedWorkspace, violations: &mut Violations) -> After {
    let mut tree = MemoryTree::new();
    let mut paths = Vec::with_capacity(raw.files.len().min(MAX_PROPOSED_FILES));
    if !violations.within("proposed.files", raw.files.len(), MAX_PROPOSED_FILES) {
        return After::Proposed(tree, paths);
    }
    let mut seen = BTreeSet::new();
    for (index, file) in raw.files.into_iter().enumerate() {
        if let Some(fault) = path_fault(&file.path) {
            violations.add(format!("proposed.files[{index}].path"), fault);
        } else if !seen.insert(file.path.clone()) {
            violations.add(format!("proposed.files[{index}].path"), "is given twice");
        }
        tree = tree.file(&file.path, file.content);
        paths.push(file.path);
    }
    let folders = paths.iter().flat_map(|path| path.match_indices('/').map(|(end, _)| &path[..end]));
    let folders: BTreeSet<&str> = folders.collect();
    for (index, _) in paths.iter().enumerate().filter(|(_, path)| folders.contains(path.as_str())) {
        violations.add(format!("proposed.files[{index}].path"), "is the folder of another file");
    }
    After::Proposed(tree, paths)
}

fn path_fault(path: &str) -> Option<String> {
    if path.len() > MAX_PATH_BYTES || path.split('/').count() > MAX_PATH_NAMES {
        return Some(format!("must have at most {MAX_PATH_NAMES} names and {MAX_PATH_BYTES} bytes"));
    }
    let is_bad = |name: &str| name.is_empty() || name == "." || name == ".." || name.contains('\0');
    path.split('/').any(is_bad).then(|| {
        "must be relative to the workspace, with `/` between names, and without `.`, `..` and empty names".into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(raw: proto::DiffPromptRequest) -> Result<DiffRequest, Vec<Violation>> {
        diff_request(raw, &Limits::default(), Timestamp::UNIX_EPOCH, |_| Ok(()))
    }

    fn with_files(paths: &[&str]) -> proto::DiffPromptRequest {
        let file = |path: &&str| proto::ProposedFile { path: (*path).to_owned(), content: b"x".to_vec() };
        let files = paths.iter().map(file).collect();
        let after = diff_prompt_request::After::Proposed(proto::ProposedWorkspace { files });
        proto::DiffPromptRequest { workspace_id: "harbor".into(), after: Some(after), ..Default::default() }
    }

    #[test]
    fn every_fault_is_reported_at_once() {
        let raw = proto::DiffPromptRequest {
            workspace_id: "../x".into(),
            profile: "-".into(),
            before_revision: "abc".into(),
            after: Some(diff_prompt_request::After::AfterRevision("def".into())),
            token_encoding: "p50k".into(),
            turn: Some(proto::Turn { time_zone: "Mars".into(), ..Default::default() }),
        };
        let fields: Vec<_> = decoded(raw).unwrap_err().into_iter().map(|violation| violation.field).collect();
        assert_eq!(
            fields,
            ["workspace_id", "profile", "before_revision", "after_revision", "token_encoding", "turn.time_zone"]
        );
    }

    #[test]
    fn paths_of_proposed_files_stay_in_their_workspace() {
        let good = ["AGENTS.md", "skills/tides/SKILL.md", ".promptd/turns/a.yaml", "a/b..c/.d"];
        let After::Proposed(_, paths) = decoded(with_files(&good)).unwrap().after else { panic!() };
        assert_eq!(paths, good);
        let long = "a/".repeat(MAX_PATH_NAMES) + "a";
        for bad in ["", "/etc/passwd", "../x", "a/../b", "a//b", "./a", "a/", "a\0b", &long] {
            let found = decoded(with_files(&["AGENTS.md", bad])).unwrap_err();
            assert_eq!(found[0].field, "proposed.files[1].path", "{bad}");
        }
        for clash in [["a", "a"], ["a", "a/b"], ["a/b/c", "a/b"]] {
            assert_eq!(decoded(with_files(&clash)).unwrap_err().len(), 1, "{clash:?}");
        }
        let many = vec!["a"; MAX_PROPOSED_FILES + 1];
        assert_eq!(decoded(with_files(&many)).unwrap_err()[0].field, "proposed.files");
    }
}
