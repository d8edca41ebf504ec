//! A workspace as `GetWorkspace`, `ListWorkspaces` and `WatchWorkspace` show it.

use jiff::Timestamp;

use super::{
    findings::{counts, findings},
    skills::SkillAccess,
};
use crate::proto;
use promptd_core::{
    finding::Finding,
    id::Id,
    text::clamped,
    workspace::{CONTEXT_FILES, Document, Snapshot},
};

/// With its context files and findings.
#[must_use]
pub fn workspace(id: &Id, snapshot: &Snapshot, loaded_at: Timestamp, access: SkillAccess<'_>) -> proto::Workspace {
    proto::Workspace {
        context_files: context_files(snapshot).map(context_file).collect(),
        findings: findings(access.findings(snapshot)),
        ..workspace_summary(id, snapshot, loaded_at, access)
    }
}

/// As lists have it: without context files and findings.
#[must_use]
pub fn workspace_summary(
    id: &Id,
    snapshot: &Snapshot,
    loaded_at: Timestamp,
    access: SkillAccess<'_>,
) -> proto::Workspace {
    let visible = || snapshot.skills.iter().filter(|skill| access.sees(skill));
    let shown = visible().filter(|skill| skill.is_shown()).count();
    let [errors, warnings] = counts(access.findings(snapshot));
    let sizes = context_files(snapshot).map(size);
    let context_size = sizes.fold(proto::Size::default(), |sum, size| proto::Size {
        bytes: sum.bytes + size.bytes,
        chars: sum.chars + size.chars,
        tokens: None,
    });
    proto::Workspace {
        id: id.to_string(),
        revision: snapshot.revision.to_string(),
        loaded_at: Some(timestamp(loaded_at)),
        profile: snapshot.manifest.profile.to_string(),
        agent_id: snapshot.manifest.agent.id.clone(),
        agent_name: snapshot.manifest.agent.name.clone(),
        context_files: Vec::new(),
        skills_shown: clamped(shown),
        skills_hidden: clamped(visible().count() - shown),
        findings: Vec::new(),
        errors,
        warnings,
        context_size: Some(context_size),
        locked: snapshot.manifest.locked.iter().map(|lock| lock.name().to_owned()).collect(),
    }
}

/// A revision, and the paths that changed with it.
#[must_use]
pub fn revision(
    snapshot: &Snapshot,
    loaded_at: Timestamp,
    changed_paths: Vec<String>,
    access: SkillAccess<'_>,
) -> proto::Revision {
    let [errors, warnings] = counts(access.findings(snapshot));
    proto::Revision {
        revision: snapshot.revision.to_string(),
        loaded_at: Some(timestamp(loaded_at)),
        changed_paths,
        errors,
        warnings,
        profile: snapshot.manifest.profile.to_string(),
    }
}

/// A workspace without a usable revision: its id, and why it has none.
#[must_use]
pub fn unusable_workspace(id: &Id, faults: &[Finding]) -> proto::Workspace {
    proto::Workspace { findings: findings(faults), ..unusable_workspace_summary(id, faults) }
}

/// The same as lists have it: without findings.
#[must_use]
pub fn unusable_workspace_summary(id: &Id, faults: &[Finding]) -> proto::Workspace {
    let [errors, warnings] = counts(faults);
    proto::Workspace { id: id.to_string(), errors, warnings, ..Default::default() }
}

/// The context files that are there, in prompt order; then the nested ones of all folders, by path.
pub fn context_files(snapshot: &Snapshot) -> impl Iterator<Item = &Document> {
    let configured = snapshot.manifest.context.files.iter().map(|file| file.path.as_str());
    let paths = CONTEXT_FILES.into_iter().chain(configured);
    paths.filter_map(|path| snapshot.document(path)).chain(snapshot.nested.documents())
}

fn context_file(document: &Document) -> proto::ContextFile {
    let size = Some(size(document));
    proto::ContextFile { path: document.path.to_string(), sha256: document.sha256.to_string(), size }
}

fn size(document: &Document) -> proto::Size {
    proto::Size { bytes: document.text.len() as u64, chars: document.chars as u64, tokens: None }
}

fn timestamp(at: Timestamp) -> prost_types::Timestamp {
    const BILLION: i128 = 1_000_000_000;
    let nanos = at.as_nanosecond();
    prost_types::Timestamp {
        seconds: i64::try_from(nanos.div_euclid(BILLION)).unwrap_or_default(),
        nanos: i32::try_from(nanos.rem_euclid(BILLION)).unwrap_or_default(),
    }
}
