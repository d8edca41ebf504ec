//! A workspace as callers see it.

use jiff::Timestamp;

use super::{auth::Caller, findings::findings, skills::Sight};
use promptd_contract::proto;
use promptd_core::{
    id::Id,
    text::clamped,
    workspace::{CONTEXT_FILES, Document, Snapshot},
};
use promptd_source::store::{Loaded, State};

/// With everything that a list leaves out. One that never loaded well has its findings alone.
pub(super) fn whole(id: &Id, state: &State, caller: &Caller) -> proto::Workspace {
    let sight = Sight { wall: caller.skill_wall(), filter: None };
    match state {
        State::Ready(loaded) => proto::Workspace {
            context_files: context_files(&loaded.snapshot),
            findings: findings(
                loaded.snapshot.findings.iter().filter(|finding| sight.sees_finding(&loaded.snapshot, finding)),
            ),
            ..summary(id, state, caller)
        },
        State::Invalid(faults) => proto::Workspace { findings: findings(faults.iter()), ..summary(id, state, caller) },
        State::Gone => summary(id, state, caller),
    }
}

/// As lists have it.
pub(super) fn summary(id: &Id, state: &State, caller: &Caller) -> proto::Workspace {
    let State::Ready(loaded) = state else {
        return proto::Workspace { id: id.to_string(), ..Default::default() };
    };
    let Loaded { snapshot, at } = &**loaded;
    let sight = Sight { wall: caller.skill_wall(), filter: None };
    let seen = || snapshot.skills.iter().filter(|skill| sight.sees(skill));
    let shown = seen().filter(|skill| skill.is_shown()).count();
    proto::Workspace {
        id: id.to_string(),
        revision: snapshot.revision.to_string(),
        loaded_at: Some(timestamp(*at)),
        profile: snapshot.manifest.profile.to_string(),
        agent_id: snapshot.manifest.agent.id.clone(),
        agent_name: snapshot.manifest.agent.name.clone(),
        skills_shown: clamped(shown),
        skills_hidden: clamped(seen().count() - shown),
        ..Default::default()
    }
}

/// The context files that are there, in prompt order.
fn context_files(snapshot: &Snapshot) -> Vec<proto::ContextFile> {
    let configured = snapshot.manifest.context.files.iter().map(|file| file.path.as_str());
    let paths = CONTEXT_FILES.into_iter().chain(configured);
    paths.filter_map(|path| snapshot.documents.get(path)).map(context_file).collect()
}

fn context_file(document: &Document) -> proto::ContextFile {
    let size = proto::Size { bytes: document.text.len() as u64, chars: document.chars as u64, tokens: None };
    proto::ContextFile { path: document.path.to_string(), sha256: document.sha256.to_string(), size: Some(size) }
}

fn timestamp(at: Timestamp) -> prost_types::Timestamp {
    const BILLION: i128 = 1_000_000_000;
    let nanos = at.as_nanosecond();
    prost_types::Timestamp {
        seconds: i64::try_from(nanos.div_euclid(BILLION)).unwrap_or_default(),
        nanos: i32::try_from(nanos.rem_euclid(BILLION)).unwrap_or_default(),
    }
}
