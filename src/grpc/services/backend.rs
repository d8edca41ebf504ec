//! The services' data: workspaces, profiles, tokens, a clock.

use std::sync::Arc;

use jiff::Timestamp;

#[cfg(feature = "etcd")]
use super::admin::Publisher;
use super::revisions::side_of;
#[cfg(feature = "memory")]
use super::sessions::Memory;
use crate::grpc::{
    Telemetry, Tracer,
    pipeline::{
        Error,
        auth::{Access, Caller},
    },
};
use promptd_contract::{decode::AssembleRequest, encode, proto};
use promptd_core::{
    canary::Side,
    digest::Digest,
    finding::{Code, Finding, Place},
    globs::SkillFilter,
    id::Id,
    profile::{Profile, ProfileSet},
    workspace::{FileBytes, MANIFEST, ReadError, Snapshot},
    yaml::nearest,
};
use promptd_source::store::{Candidate, Cold, Loaded, Pinned, State, Store};

/// The clock of turns that bring none, and of nothing else.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Reads a file of a workspace as it is on the disk now, by its path: `workspace.yaml`, a document, or a skill's file, relative to
/// the workspace or `@shared/…`; of the side of a canary that the snapshot is. It may block.
pub type ReadWorkspaceFile = Arc<dyn Fn(&Snapshot, Side, &str) -> Result<FileBytes, ReadError> + Send + Sync>;

/// Returns the profiles in use.
pub type Profiles = Arc<dyn Fn() -> Arc<ProfileSet> + Send + Sync>;

/// Begins to record a call: takes what it needs of the request, and gives what to do once the call has succeeded; `None`: it
/// is not recorded. Neither waits.
pub type Record = Arc<dyn Fn(&mut proto::AssemblePromptRequest, Timestamp) -> Option<FinishRecord> + Send + Sync>;

/// Takes how a call was answered.
pub type FinishRecord = Box<dyn FnOnce(&Answered<'_>) + Send>;

/// What answers from a workspace say besides their own findings, such as that it may be old.
pub type Notice = Arc<dyn Fn(&Snapshot) -> Option<Arc<Finding>> + Send + Sync>;

/// How a call of `AssemblePrompt` was answered.
#[derive(Debug)]
pub struct Answered<'a> {
    /// The workspace at the revision of the answer.
    pub loaded: &'a Loaded,
    /// The profile.
    pub profile: &'a Profile,
    /// Which skills the caller's token shows.
    pub token_skills: Option<&'a SkillFilter>,
    /// The prompt's digest.
    pub digest: Digest,
}

/// Everything that the services need.
#[derive(Clone)]
pub struct Backend {
    /// The workspaces.
    pub store: Arc<Store>,
    /// The profiles.
    pub profiles: Profiles,
    /// Reads workspaces' files.
    pub read_workspace_file: ReadWorkspaceFile,
    /// The clock.
    pub clock: Clock,
    /// The stored conversations.
    #[cfg(feature = "memory")]
    pub memory: Option<Memory>,
    /// Publishes workspaces.
    #[cfg(feature = "etcd")]
    pub publisher: Option<Publisher>,
    /// Records calls.
    pub record: Option<Record>,
    /// Who may call.
    pub access: Arc<Access>,
    /// Receives the server's events.
    pub telemetry: Arc<dyn Telemetry>,
    /// Receives calls for their traces.
    pub tracer: Option<Tracer>,
    /// Says what else callers should know of a workspace.
    pub notice: Option<Notice>,
}

impl Backend {
    /// The workspace that a call is for, looked up once; one that is not loaded is waited for.
    pub(super) async fn find(&self, id: &Id, caller: &Caller) -> Found {
        // What they may not see is not loaded for them either.
        Found(if caller.sees(id) { self.store.loaded(id.as_str()).await } else { None })
    }

    /// The same for a request that is not checked yet: nothing is found of what is not an id.
    pub(super) async fn find_named(&self, id: &str, caller: &Caller) -> Found {
        match Id::parse(id) {
            Ok(id) => self.find(&id, caller).await,
            Err(_) => Found(None),
        }
    }

    /// The workspace that was found, at a revision; `None`: the newest.
    pub(super) fn at(
        &self,
        found: &Found,
        id: &Id,
        revision: Option<&str>,
        caller: &Caller,
    ) -> Result<Arc<Loaded>, Error> {
        let Some(revision) = revision else { return self.newest(found, id, caller) };
        if let Some(State::Ready(loaded)) = found.0.as_deref()
            && loaded.snapshot.revision.as_str() == revision
        {
            return Ok(Arc::clone(loaded));
        }
        match self.store.at(id.as_str(), revision) {
            Some(Pinned::Held(loaded)) => Ok(loaded),
            Some(Pinned::Expired) => Err(Error::RevisionExpired),
            None => Err(self.unknown(id, caller)),
        }
    }

    /// The workspace that was found, as a turn gets it: at the revision that its request names, else while a canary runs at its
    /// side of that. The side is also that of a named revision.
    pub(super) fn of_turn(
        &self,
        found: &Found,
        request: &AssembleRequest,
        caller: &Caller,
    ) -> Result<(Arc<Loaded>, Option<Side>), Error> {
        let revision = request.revision.as_deref();
        let loaded = self.at(found, &request.workspace, revision, caller)?;
        let Some(State::Ready(newest)) = found.0.as_deref() else { return Ok((loaded, None)) };
        let Some(Candidate { canary, loaded: candidate }) = &newest.candidate else { return Ok((loaded, None)) };
        if revision.is_some() {
            let side = side_of(newest, &loaded);
            return Ok((loaded, side));
        }
        let session = request.session.as_ref().map(|session| session.id.as_str());
        Ok(match canary.side(&request.turn, session) {
            Side::Stable => (loaded, Some(Side::Stable)),
            Side::Candidate => (Arc::clone(candidate), Some(Side::Candidate)),
        })
    }

    /// The newest revision of the workspace that was found; while a canary runs the stable side.
    pub(super) fn newest(&self, found: &Found, id: &Id, caller: &Caller) -> Result<Arc<Loaded>, Error> {
        match found.0.as_deref() {
            Some(State::Ready(loaded)) => Ok(Arc::clone(loaded)),
            Some(State::Invalid(faults)) => {
                Err(Error::WorkspaceInvalid { id: id.to_string(), faults: faults.to_vec() })
            }
            Some(State::Cold(_) | State::Gone) | None => Err(self.unknown(id, caller)),
        }
    }

    /// That there is no such workspace, and which of those that the caller may see can be meant.
    pub(super) fn unknown(&self, id: &Id, caller: &Caller) -> Error {
        let all = self.store.list();
        let alike = |other: &&str| {
            other.len().abs_diff(id.as_str().len()) <= MAX_DISTANCE
                && other.as_bytes()[..1].eq_ignore_ascii_case(&id.as_str().as_bytes()[..1])
        };
        let visible = all.iter().filter(|(id, state)| caller.sees(id) && !matches!(**state, State::Gone));
        let near = nearest(id.as_str(), visible.map(|(id, _)| id.as_str()).filter(alike).take(MAX_COMPARED));
        Error::UnknownWorkspace { id: id.to_string(), nearest: near.map(str::to_owned) }
    }
}

/// The workspace of a call, as it was when the call came; `None`: there is none that the caller may see.
pub(super) struct Found(Option<Arc<State>>);

/// A workspace as its caller may see it, with context files and findings.
pub(super) fn workspace_view(id: &Id, state: &State, caller: &Caller) -> proto::Workspace {
    match state {
        State::Ready(loaded) => encode::workspace(id, &loaded.snapshot, loaded.at, caller.skill_access(None)),
        State::Cold(cold) => cold_summary(id, cold, caller),
        State::Invalid(faults) => encode::unusable_workspace(id, faults),
        State::Gone => encode::unusable_workspace(id, &[]),
    }
}

/// The same as lists have it.
pub(super) fn workspace_summary(id: &Id, state: &State, caller: &Caller) -> proto::Workspace {
    match state {
        State::Ready(loaded) => encode::workspace_summary(id, &loaded.snapshot, loaded.at, caller.skill_access(None)),
        State::Cold(cold) => cold_summary(id, cold, caller),
        State::Invalid(faults) => encode::unusable_workspace_summary(id, faults),
        State::Gone => encode::unusable_workspace_summary(id, &[]),
    }
}

fn cold_summary(id: &Id, cold: &Cold, caller: &Caller) -> proto::Workspace {
    encode::outline_summary(id, &cold.outline, &cold.forecast, cold.at, caller.skill_access(None))
}

/// The most letters by which a misspelt id differs from the one that was meant.
const MAX_DISTANCE: usize = 3;
/// The most ids that are compared with a misspelt one.
const MAX_COMPARED: usize = 200;

/// The most bytes of globs that are compiled on a worker thread, and compared there with all names of skills.
const MAX_FILTER_IN_PLACE: usize = 1 << 10;

/// Whether a filter takes so long that other calls would wait.
pub(super) fn has_long_filter(filter: Option<&proto::SkillFilter>) -> bool {
    let lists = filter.into_iter().flat_map(|filter| [&filter.allowlist, &filter.blocklist]).flatten();
    lists.flat_map(|list| &list.globs).map(String::len).sum::<usize>() > MAX_FILTER_IN_PLACE
}

/// The profile that a request names.
pub(super) fn named_profile<'s>(profiles: &'s ProfileSet, name: &Id) -> Result<&'s Profile, Error> {
    profile_of_field(profiles, name, "profile")
}

/// The profile that a field of a request names.
pub(super) fn profile_of_field<'s>(profiles: &'s ProfileSet, name: &Id, field: &str) -> Result<&'s Profile, Error> {
    profiles.get(name.as_str()).map(AsRef::as_ref).ok_or_else(|| {
        let known: Vec<_> = profiles.iter().map(|profile| profile.name.as_str()).collect();
        Error::invalid(field, format!("there is no profile `{name}`; there are: {}", known.join(", ")))
    })
}

/// The workspace's own profile. Where it no longer exists, the operator must fix the workspace.
pub(super) fn own_profile(snapshot: &Snapshot) -> Result<&Profile, Error> {
    let name = &snapshot.manifest.profile;
    snapshot.profiles.get(name.as_str()).map(AsRef::as_ref).ok_or_else(|| {
        let fault = Finding::new(Code::InvalidValue, Place::file(MANIFEST), format!("there is no profile `{name}`"));
        Error::WorkspaceInvalid { id: snapshot.id.to_string(), faults: vec![fault] }
    })
}
