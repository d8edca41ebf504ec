//! A workspace as `GetWorkspace`, `ListWorkspaces` and `WatchWorkspace` show it.

use jiff::Timestamp;

use super::{
    findings::{counts, findings},
    skills::SkillAccess,
};
use crate::proto;
use promptd_core::{
    canary,
    finding::Finding,
    id::Id,
    prompt::Prepared,
    text::clamped,
    workspace::{ContextSize, Document, Outline, Snapshot},
};

/// With its context files and findings.
#[must_use]
pub fn workspace(id: &Id, snapshot: &Prepared, loaded_at: Timestamp, access: SkillAccess<'_>) -> proto::Workspace {
    proto::Workspace {
        context_files: snapshot.context_files().map(context_file).collect(),
        findings: findings(access.findings(snapshot, snapshot.forecast())),
        ..summary(id, snapshot, snapshot.forecast(), ContextSize::of(snapshot), loaded_at, access)
    }
}

/// As lists have it: without context files and findings.
#[must_use]
pub fn workspace_summary(
    id: &Id,
    snapshot: &Prepared,
    loaded_at: Timestamp,
    access: SkillAccess<'_>,
) -> proto::Workspace {
    summary(id, snapshot, snapshot.forecast(), ContextSize::of(snapshot), loaded_at, access)
}

/// The same of a workspace that is not loaded, with the forecast of its prompts.
#[must_use]
pub fn outline_summary(
    id: &Id,
    outline: &Outline,
    forecast: &[Finding],
    loaded_at: Timestamp,
    access: SkillAccess<'_>,
) -> proto::Workspace {
    summary(id, outline.snapshot(), forecast, outline.context(), loaded_at, access)
}

fn summary(
    id: &Id,
    snapshot: &Snapshot,
    forecast: &[Finding],
    context: ContextSize,
    loaded_at: Timestamp,
    access: SkillAccess<'_>,
) -> proto::Workspace {
    let visible = || snapshot.skills.iter().filter(|skill| access.sees(skill));
    let shown = visible().filter(|skill| skill.is_shown()).count();
    let [errors, warnings] = counts(access.findings(snapshot, forecast));
    let size = proto::Size { bytes: context.bytes as u64, chars: context.chars as u64, tokens: None };
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
        context_size: Some(size),
        locked: snapshot.manifest.locked.iter().map(|lock| lock.name().to_owned()).collect(),
    }
}

/// A revision, and the paths that changed with it; `side`: which one of a canary it is.
#[must_use]
pub fn revision(
    snapshot: &Prepared,
    loaded_at: Timestamp,
    changed_paths: Vec<String>,
    side: Option<canary::Side>,
    access: SkillAccess<'_>,
) -> proto::Revision {
    let [errors, warnings] = counts(access.findings(snapshot, snapshot.forecast()));
    proto::Revision {
        revision: snapshot.revision.to_string(),
        loaded_at: Some(timestamp(loaded_at)),
        changed_paths,
        errors,
        warnings,
        profile: snapshot.manifest.profile.to_string(),
        canary_side: side.map(proto::CanarySide::from).unwrap_or_default().into(),
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

fn context_file(document: &Document) -> proto::ContextFile {
    let size = proto::Size { bytes: document.text.len() as u64, chars: document.chars as u64, tokens: None };
    let size = Some(size);
    proto::ContextFile { path: document.path.to_string(), sha256: document.sha256.to_string(), size }
}

fn timestamp(at: Timestamp) -> prost_types::Timestamp {
    const BILLION: i128 = 1_000_000_000;
    let nanos = at.as_nanosecond();
    prost_types::Timestamp {
        seconds: i64::try_from(nanos.div_euclid(BILLION)).unwrap_or_default(),
        nanos: i32::try_from(nanos.rem_euclid(BILLION)).unwrap_or_default(),
    }
}
