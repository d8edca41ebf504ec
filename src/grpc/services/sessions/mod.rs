//! `SessionService`: stored conversations.
//!
//! The store answers without blocking, on threads of its own.

mod auto_recall;
mod encode;
mod export;
mod memory;
mod turn;
mod watch;

pub use memory::Memory;

use std::sync::Arc;

use futures_util::stream::{BoxStream, StreamExt as _};
use promptd_memory::{
    InContext, MAX_NOTES_SUMMARIES, MAX_RECALLED, PageOfMessages, PageOfSegments, PageOfSessions, Recall, SessionKey,
    StoreError,
};
use tonic::{Request, Response, Status};

use self::{
    encode::{notes_summaries, recalled},
    export::Export,
    watch::Watch,
};
use super::{
    api::session_service_server,
    backend::Backend,
    page::{DEFAULT_SIZE, MAX_SIZE, Page},
};
use crate::grpc::{
    Limits,
    pipeline::{Error, auth::Caller},
};
use promptd_contract::{
    decode::{Violations, append_request, id, recall_request},
    proto,
};
use promptd_core::id::Id;
use promptd_source::store::State;

/// The most bytes of text of a page, except for its first message.
const MAX_PAGE_BYTES: usize = 1 << 20;

/// Why no notes are summed up.
const NO_SUMMARISER: &str = "no model makes summaries here: `memory.models.summarise` of the server names none";

pub(super) struct SessionService {
    pub(super) backend: Backend,
    pub(super) memory: Memory,
    pub(super) limits: Arc<Limits>,
}

#[tonic::async_trait]
impl session_service_server::SessionService for SessionService {
    async fn append_messages(
        &self,
        request: Request<proto::AppendMessagesRequest>,
    ) -> Result<Response<proto::AppendMessagesResponse>, Status> {
        let caller = Caller::of(&request);
        let limits = self.limits.request.load();
        let request = append_request(request.into_inner(), &limits, |id| caller.must_see(id))?;
        self.must_exist(&request.workspace, &caller)?;
        let key = SessionKey { workspace: request.workspace, session: request.session };
        let appended = self.memory.store()?.append(&key, request.messages, request.expected).await;
        let appended = appended.map_err(|error| self.failure(error, &key))?;
        let session = Some(encode::session(&appended.session));
        Ok(Response::new(proto::AppendMessagesResponse { session, stored: appended.stored }))
    }

    async fn list_sessions(
        &self,
        request: Request<proto::ListSessionsRequest>,
    ) -> Result<Response<proto::ListSessionsResponse>, Status> {
        let caller = Caller::of(&request);
        let request = request.into_inner();
        let workspace = caller.workspace(&request.workspace_id)?;
        let page = Page::of(request.page_size, &request.page_token)?;
        let after = page.after().map(encode::place).transpose()?;
        // One more says whether there is another page.
        let wanted = PageOfSessions { after, limit: page.size() + 1 };
        let sessions = self.memory.store()?.sessions(&workspace, wanted).await;
        let mut sessions = sessions.map_err(|error| self.failure_of_all(error))?;
        let is_last = sessions.len() <= page.size();
        sessions.truncate(page.size());
        let last = sessions.last().filter(|_| !is_last).map(encode::key);
        let next_page_token = last.map(|key| Page::token(&key)).unwrap_or_default();
        let sessions = sessions.iter().map(encode::session).collect();
        Ok(Response::new(proto::ListSessionsResponse { sessions, next_page_token }))
    }

    async fn get_session(
        &self,
        request: Request<proto::GetSessionRequest>,
    ) -> Result<Response<proto::GetSessionResponse>, Status> {
        let caller = Caller::of(&request);
        let request = request.into_inner();
        let key = key(&caller, &request.workspace_id, &request.session_id)?;
        let session = self.memory.store()?.session(&key).await;
        let session = session.map_err(|error| self.failure(error, &key))?;
        Ok(Response::new(proto::GetSessionResponse { session: Some(encode::session(&session)) }))
    }

    async fn list_messages(
        &self,
        request: Request<proto::ListMessagesRequest>,
    ) -> Result<Response<proto::ListMessagesResponse>, Status> {
        let caller = Caller::of(&request);
        let request = request.into_inner();
        let key = key(&caller, &request.workspace_id, &request.session_id)?;
        let limit = match usize::try_from(request.page_size) {
            Ok(0) => DEFAULT_SIZE,
            Ok(size) => size.min(MAX_SIZE),
            Err(_) => return Err(Error::invalid("page_size", format!("must be 0 to {MAX_SIZE}")).into()),
        };
        let page =
            PageOfMessages { from: request.from_position, at: request.at_position, limit, max_bytes: MAX_PAGE_BYTES };
        let messages = self.memory.store()?.messages(&key, page).await;
        let page = messages.map_err(|error| self.failure(error, &key))?;
        let messages = page.messages.into_iter().map(encode::stored).collect();
        let (next_position, position) = (page.next, page.position);
        Ok(Response::new(proto::ListMessagesResponse { messages, next_position, position }))
    }

    type ExportSessionStream = BoxStream<'static, Result<proto::ExportSessionResponse, Status>>;

    async fn export_session(
        &self,
        request: Request<proto::ExportSessionRequest>,
    ) -> Result<Response<Self::ExportSessionStream>, Status> {
        let caller = Caller::of(&request);
        let request = request.into_inner();
        let key = key(&caller, &request.workspace_id, &request.session_id)?;
        let export = Export::begin(self.memory.clone(), key, self.limits.retry()).await?;
        Ok(Response::new(export.responses().boxed()))
    }

    async fn delete_session(
        &self,
        request: Request<proto::DeleteSessionRequest>,
    ) -> Result<Response<proto::DeleteSessionResponse>, Status> {
        let caller = Caller::of(&request);
        let request = request.into_inner();
        let key = key(&caller, &request.workspace_id, &request.session_id)?;
        let removed = self.memory.store()?.delete(&key).await;
        let messages = removed.map_err(|error| self.failure(error, &key))?;
        Ok(Response::new(proto::DeleteSessionResponse { messages }))
    }

    type WatchSessionStream = BoxStream<'static, Result<proto::WatchSessionResponse, Status>>;

    async fn watch_session(
        &self,
        request: Request<proto::WatchSessionRequest>,
    ) -> Result<Response<Self::WatchSessionStream>, Status> {
        let caller = Caller::of(&request);
        let request = request.into_inner();
        let key = key(&caller, &request.workspace_id, &request.session_id)?;
        let watch = Watch::new(self.memory.clone(), key, request.known_position, self.limits.retry())?;
        Ok(Response::new(watch.responses().boxed()))
    }

    async fn fork_session(
        &self,
        request: Request<proto::ForkSessionRequest>,
    ) -> Result<Response<proto::ForkSessionResponse>, Status> {
        let caller = Caller::of(&request);
        let request = request.into_inner();
        let key = key(&caller, &request.workspace_id, &request.session_id)?;
        let to = Id::parse(&request.new_session_id);
        let to = to.map_err(|fault| Error::invalid("new_session_id", fault.to_string()))?;
        self.must_exist(&key.workspace, &caller)?;
        let session = self.memory.store()?.fork(&key, request.at_position, &to).await;
        let session = session.map_err(|error| {
            let of = if error == StoreError::Exists { &to } else { &key.session };
            memory::failure(error, Some(of), self.limits.retry())
        })?;
        Ok(Response::new(proto::ForkSessionResponse { session: Some(encode::session(&session)) }))
    }

    async fn truncate_session(
        &self,
        request: Request<proto::TruncateSessionRequest>,
    ) -> Result<Response<proto::TruncateSessionResponse>, Status> {
        let caller = Caller::of(&request);
        let request = request.into_inner();
        let key = key(&caller, &request.workspace_id, &request.session_id)?;
        let left = self.memory.store()?.truncate(&key, request.from_position, request.expected_position).await;
        let session = left.map_err(|error| self.failure(error, &key))?;
        Ok(Response::new(proto::TruncateSessionResponse { session: Some(encode::session(&session)) }))
    }

    async fn list_segments(
        &self,
        request: Request<proto::ListSegmentsRequest>,
    ) -> Result<Response<proto::ListSegmentsResponse>, Status> {
        let caller = Caller::of(&request);
        let request = request.into_inner();
        let key = key(&caller, &request.workspace_id, &request.session_id)?;
        let page = Page::of(request.page_size, &request.page_token)?;
        let after = page.after().map(encode::segment_place).transpose()?;
        let wanted = PageOfSegments { after, limit: page.size(), max_bytes: MAX_PAGE_BYTES };
        let listed = self.memory.store()?.segments(&key, wanted).await;
        let listed = listed.map_err(|error| self.failure(error, &key))?;
        let last = listed.segments.last().filter(|_| !listed.is_last).map(encode::segment_key);
        let next_page_token = last.map(|key| Page::token(&key)).unwrap_or_default();
        let segments = listed.segments.into_iter().map(encode::segment).collect();
        Ok(Response::new(proto::ListSegmentsResponse { segments, next_page_token }))
    }

    async fn list_notes_summaries(
        &self,
        request: Request<proto::ListNotesSummariesRequest>,
    ) -> Result<Response<proto::ListNotesSummariesResponse>, Status> {
        let caller = Caller::of(&request);
        let workspace = caller.workspace(&request.get_ref().workspace_id)?;
        let found = self.memory.store()?.notes_summaries(&workspace, MAX_NOTES_SUMMARIES).await;
        let found = found.map_err(|error| self.failure_of_all(error))?;
        let fault = match &self.memory.notes {
            Some(queue) => queue.fault(&workspace).unwrap_or_default(),
            None => NO_SUMMARISER.to_owned(),
        };
        Ok(Response::new(proto::ListNotesSummariesResponse { summaries: notes_summaries(found), fault }))
    }

    async fn recall(&self, request: Request<proto::RecallRequest>) -> Result<Response<proto::RecallResponse>, Status> {
        let caller = Caller::of(&request);
        let request = recall_request(request.into_inner(), MAX_RECALLED, |id| caller.must_see(id))?;
        let store = self.memory.store()?;
        #[expect(clippy::cast_possible_truncation, reason = "a cosine needs few digits")]
        let min_similarity = request.min_similarity.map(|least| least as f32);
        // Where it has no vector, words find what they can.
        let vector = self.memory.embedding().query(&request.query, min_similarity).await;
        let vector_fault = vector.as_ref().err().cloned().unwrap_or_default();
        let recall = Recall {
            query: request.query,
            vector: vector.ok(),
            session: request.session,
            before: request.before,
            at: None,
            in_context: request.in_context.map(|context| InContext {
                session: context.session,
                from: context.from,
                positions: context.positions,
            }),
            since: request.since,
            until: request.until,
            limit: request.limit,
            max_bytes: MAX_PAGE_BYTES,
        };
        let found = store.recall(&request.workspace, recall).await.map_err(|error| self.failure_of_all(error))?;
        let messages = found.into_iter().map(recalled).collect();
        Ok(Response::new(proto::RecallResponse { messages, vector_fault }))
    }

    async fn get_recall_stats(
        &self,
        request: Request<proto::GetRecallStatsRequest>,
    ) -> Result<Response<proto::GetRecallStatsResponse>, Status> {
        let caller = Caller::of(&request);
        let workspace = caller.workspace(&request.get_ref().workspace_id)?;
        let stats = self.memory.store()?.stats(&workspace).await;
        let stats = stats.map_err(|error| self.failure_of_all(error))?;
        Ok(Response::new(encode::stats(stats)))
    }
}

impl SessionService {
    fn failure(&self, error: StoreError, key: &SessionKey) -> Error {
        memory::failure(error, Some(&key.session), self.limits.retry())
    }

    fn failure_of_all(&self, error: StoreError) -> Error {
        memory::failure(error, None, self.limits.retry())
    }

    /// That the workspace exists: no session is made for one that does not. Those of one that is gone can still be read and
    /// removed.
    fn must_exist(&self, workspace: &Id, caller: &Caller) -> Result<(), Error> {
        match self.backend.store.get(workspace.as_str()).as_deref() {
            Some(State::Ready(_) | State::Cold(_) | State::Invalid(_)) => Ok(()),
            Some(State::Gone) | None => Err(self.backend.unknown(workspace, caller)),
        }
    }
}

/// The session that a request names, if its caller may see it.
fn key(caller: &Caller, workspace: &str, session: &str) -> Result<SessionKey, Error> {
    let workspace = caller.workspace(workspace)?;
    let mut violations = Violations::default();
    let session = id(session, "session_id", &mut violations);
    let session = violations.into_result(session)?;
    session.map(|session| SessionKey { workspace, session }).ok_or(Error::Internal)
}
