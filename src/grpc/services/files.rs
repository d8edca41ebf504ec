//! `ReadSkill` and `ReadFile`: files as they are on the disk now, of those that the caller may see. Both may block.

use sha2::{Digest as _, Sha256};

use super::backend::{ReadWorkspaceFile, own_profile};
use crate::grpc::pipeline::Error;
use promptd_contract::{encode::SkillAccess, proto};
use promptd_core::{
    canary::Side,
    digest::Digest,
    globs::SkillFilter,
    profile::{Body, SectionSpec},
    workspace::{Document, LAYERS_FOLDER, Lock, MANIFEST, ReadError, SKILL_FILE, Skill, Snapshot, in_layer},
};

/// The most bytes of a file in one answer.
const MAX_FILE_BYTES: usize = 1 << 20;

/// A file of a skill that the caller may read; `file` is relative to the skill's folder, empty for SKILL.md. `side`: which one of a
/// canary the snapshot is.
pub(super) fn read_skill(
    snapshot: &Snapshot,
    side: Side,
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
    let (content, sha256) = contents(snapshot, side, &[&path], read, || missing("skill file", file))?;
    let files = skill.files.iter().map(|bundled| bundled.path.to_string()).collect();
    let path = match access.hidden_layers(snapshot).number(&path) {
        Some(number) => format!("{LAYERS_FOLDER}/{number}/{name}/{file}"),
        None => path,
    };
    Ok(proto::ReadSkillResponse { content, sha256, path, files })
}

/// `workspace.yaml`, or a document that the caller may read.
pub(super) fn read_file(
    snapshot: &Snapshot,
    path: &str,
    access: SkillAccess<'_>,
    read: &ReadWorkspaceFile,
) -> Result<proto::ReadFileResponse, Error> {
    let (of, own_path) = layer_file(snapshot, path, access).ok_or_else(|| missing("file", path))?;
    let document = of.file(own_path).filter(|_| access.sees_path(snapshot, path));
    if own_path != MANIFEST && document.is_none() {
        return Err(missing("file", path));
    }
    let hides = |workspace: &Snapshot| hidden_reason(workspace, own_path, access);
    let of_heir = if own_path == MANIFEST { None } else { hides(snapshot) };
    if let Some(why) = hides(of).or(of_heir) {
        return Err(Error::FileHidden { path: path.to_owned(), why });
    }
    let parts = document.map(Document::parts).unwrap_or_default();
    let files: Vec<&str> = match document {
        Some(document) if parts.is_empty() && of.id == snapshot.id => vec![&document.file],
        Some(_) if !parts.is_empty() => parts.iter().map(|part| &*part.file).collect(),
        _ => vec![path],
    };
    let (content, sha256) = contents(snapshot, Side::Stable, &files, read, || missing("file", path))?;
    Ok(proto::ReadFileResponse { content, sha256 })
}

/// The workspace whose file it is and the file's path there: this one, or a layer that the caller may see.
fn layer_file<'s>(snapshot: &'s Snapshot, path: &'s str, access: SkillAccess<'_>) -> Option<(&'s Snapshot, &'s str)> {
    match in_layer(path) {
        None => Some((snapshot, path)),
        Some(_) => snapshot.home(path).filter(|(layer, _)| access.sees_workspace(&layer.id)),
    }
}

/// Why no prompt for this caller can show the file, or for `workspace.yaml` what it names; `None`: it is not hidden.
pub(super) fn hidden_reason(snapshot: &Snapshot, path: &str, access: SkillAccess<'_>) -> Option<&'static str> {
    let manifest = &snapshot.manifest;
    if path == MANIFEST {
        let can_name_hidden = access.token.is_some_and(|token| !admits_all(token));
        let own = snapshot.own.as_deref().unwrap_or(snapshot);
        let names_layer = || !own.manifest.extends.iter().all(|id| access.sees_workspace(id));
        return if can_name_hidden {
            Some("it can name skills that the token does not admit")
        } else {
            names_layer().then_some("it names workspaces that the token does not admit")
        };
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

/// The bytes of a file, or of those of several layers with a blank line between them, and their hash.
fn contents(
    snapshot: &Snapshot,
    side: Side,
    files: &[&str],
    read: &ReadWorkspaceFile,
    missing: impl Fn() -> Error,
) -> Result<(Vec<u8>, String), Error> {
    let mut bytes = Vec::new();
    for (index, file) in files.iter().enumerate() {
        let (of, path) = snapshot.home(file).ok_or_else(&missing)?;
        if index > 0 {
            bytes.extend_from_slice(b"\n\n");
        }
        // Of layers all have the stable side.
        let side = if of.id == snapshot.id { side } else { Side::Stable };
        match read(of, side, path) {
            Ok(read) if read.total + bytes.len() as u64 > MAX_FILE_BYTES as u64 => {
                let all = read.total + bytes.len() as u64;
                return Err(Error::FileTooLarge { path: path.to_owned(), bytes: all, limit: MAX_FILE_BYTES });
            }
            Ok(read) => bytes.extend(read.bytes),
            Err(ReadError::Missing) => return Err(missing()),
            Err(error) => return Err(Error::FileUnreadable { path: path.to_owned(), why: error.to_string() }),
        }
    }
    let sha256 = Digest(Sha256::digest(&bytes).into()).to_hex();
    Ok((bytes, sha256))
}
