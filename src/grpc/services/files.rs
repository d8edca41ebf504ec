//! `ReadSkill` and `ReadFile`: files as they are on the disk now, of those that the caller may see. Both may block.

use sha2::{Digest as _, Sha256};

use super::backend::{ReadWorkspaceFile, own_profile};
use crate::grpc::pipeline::Error;
use promptd_contract::{encode::SkillAccess, proto};
use promptd_core::{
    digest::Digest,
    globs::SkillFilter,
    profile::{Body, SectionSpec},
    workspace::{Lock, MANIFEST, ReadError, SKILL_FILE, Skill, Snapshot},
};

/// The most bytes of a file in one answer.
const MAX_FILE_BYTES: usize = 1 << 20;

/// A file of a skill that the caller may read; `file` is relative to the skill's folder, empty for SKILL.md.
pub(super) fn read_skill(
    snapshot: &Snapshot,
    name: &str,
    file: &str,
    access: SkillAccess<'_>,
    read: &ReadWorkspaceFile,
) -> Result<proto::ReadSkillResponse, Error> {
    let readable = |skill: &&Skill| *skill.name == *name && access.shows(skill);
    let skill = snapshot.skills.iter().find(readable).ok_or_else(|| missing("skill", name))?;
    // As instructions write it: relative to the skill's folder.
    let file = if file.is_empty() { SKILL_FILE } else { file.trim_start_matches("./") };
    if file != SKILL_FILE && !skill.files.iter().any(|bundled| *bundled.path == *file) {
        return Err(missing("skill file", file));
    }
    let path = format!("{}/{file}", skill.folder);
    let (content, sha256) = contents(snapshot, &path, read, || missing("skill file", file))?;
    let files = skill.files.iter().map(|bundled| bundled.path.to_string()).collect();
    Ok(proto::ReadSkillResponse { content, sha256, path, files })
}

/// `workspace.yaml`, or a document that the caller may read.
pub(super) fn read_file(
    snapshot: &Snapshot,
    path: &str,
    access: SkillAccess<'_>,
    read: &ReadWorkspaceFile,
) -> Result<proto::ReadFileResponse, Error> {
    let is_document = || snapshot.file(path).is_some() && access.sees_path(snapshot, path);
    if path != MANIFEST && !is_document() {
        return Err(missing("file", path));
    }
    if let Some(why) = hidden_reason(snapshot, path, access) {
        return Err(Error::FileHidden { path: path.to_owned(), why });
    }
    let (content, sha256) = contents(snapshot, path, read, || missing("file", path))?;
    Ok(proto::ReadFileResponse { content, sha256 })
}

/// Why no prompt for this caller can show the file, or for `workspace.yaml` what it names; `None`: it is not hidden.
pub(super) fn hidden_reason(snapshot: &Snapshot, path: &str, access: SkillAccess<'_>) -> Option<&'static str> {
    let manifest = &snapshot.manifest;
    if path == MANIFEST {
        let can_name_hidden = access.token.is_some_and(|token| !admits_all(token));
        return can_name_hidden.then_some("it can name skills that the token does not admit");
    }
    let is_context_file = || snapshot.context_files().any(|document| *document.path == *path);
    if manifest.agent.skip_context_files && is_context_file() {
        Some("the workspace leaves the context files out of every prompt")
    } else if manifest.context.max_chars_total == 0 || manifest.context.max_chars_of(path) == 0 {
        Some("the workspace's limits leave no character of it")
    } else if manifest.locked.contains(&Lock::WorkingDirectory) && is_below_root(snapshot, path) {
        Some("the workspace locks `working_directory`, so that no prompt shows it")
    } else if manifest.locked.contains(&Lock::Profile) && !is_shown_by_own_profile(snapshot, path) {
        Some("the workspace locks its profile, which does not show it")
    } else {
        None
    }
}

/// Whether only a turn that works in a folder below the root shows the file.
fn is_below_root(snapshot: &Snapshot, path: &str) -> bool {
    !snapshot.documents.contains_key(path) && path.contains('/')
}

/// Whether a token's globs admit every skill for sure.
fn admits_all(token: &SkillFilter) -> bool {
    let all = token.allow.as_ref().is_none_or(|allow| allow.as_slice().iter().any(|glob| glob == "*"));
    all && token.block.as_slice().is_empty()
}

/// Whether the workspace's own profile can show a document.
fn is_shown_by_own_profile(snapshot: &Snapshot, path: &str) -> bool {
    let Ok(profile) = own_profile(snapshot) else { return false };
    let extra = &snapshot.manifest.context.files;
    let lists = |section: &SectionSpec| match &section.body {
        Body::ContextFiles { files, .. } => {
            let is_named = files.iter().any(|(own, _)| own == path) || extra.iter().any(|file| file.path == path);
            is_named || snapshot.nested.document(path).is_some()
        }
        _ => false,
    };
    profile.files().any(|pattern| pattern.matches(path)) || profile.sections().any(|(_, section)| lists(section))
}

fn missing(kind: &'static str, name: &str) -> Error {
    Error::Missing { kind, name: name.to_owned() }
}

/// A file's bytes, and their hash.
fn contents(
    snapshot: &Snapshot,
    path: &str,
    read: &ReadWorkspaceFile,
    missing: impl FnOnce() -> Error,
) -> Result<(Vec<u8>, String), Error> {
    match read(snapshot, path) {
        Ok(read) if read.total > MAX_FILE_BYTES as u64 => {
            Err(Error::FileTooLarge { path: path.to_owned(), bytes: read.total, limit: MAX_FILE_BYTES })
        }
        Ok(read) => {
            let sha256 = Digest(Sha256::digest(&read.bytes).into()).to_hex();
            Ok((read.bytes, sha256))
        }
        Err(ReadError::Missing) => Err(missing()),
        Err(error) => Err(Error::FileUnreadable { path: path.to_owned(), why: error.to_string() }),
    }
}
