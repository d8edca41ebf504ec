//! Stored conversations: each message is sent once, and a turn names its session.

use tonic::Streaming;

use crate::{ConversationMessage, Error, Promptd, Watch, calls::method, proto};

/// The conversations that the service stores, where it has `memory.store`. A turn names one with
/// [`Assemble::session_id`](crate::Assemble::session_id).
#[derive(Debug, Clone)]
pub struct Conversations(Promptd);

/// A session as JSON lines, as they come.
#[derive(Debug)]
pub struct Export {
    stream: Streaming<proto::ExportSessionResponse>,
    address: String,
}

impl Promptd {
    /// The stored conversations.
    pub fn conversations(&self) -> Conversations {
        Conversations(self.clone())
    }
}

impl Conversations {
    /// Stores messages, each with an `id` of its own, and makes the session where there is none. Answered when they are on the disk;
    /// what is stored already is not stored again. With an `expected_position` they are refused, SESSION_MOVED, where another writer
    /// was there.
    pub async fn append(
        &self,
        workspace: &str,
        session: &str,
        messages: Vec<ConversationMessage>,
        expected_position: Option<u64>,
    ) -> Result<proto::AppendMessagesResponse, Error> {
        let (workspace_id, session_id) = (workspace.into(), session.into());
        let request = proto::AppendMessagesRequest { workspace_id, session_id, messages, expected_position };
        self.0.unary(method!("SessionService", "AppendMessages"), &request).await
    }

    /// The sessions of a workspace, those that changed last first.
    pub async fn list(&self, workspace: &str) -> Result<Vec<proto::Session>, Error> {
        let mut request = proto::ListSessionsRequest { workspace_id: workspace.into(), ..Default::default() };
        let mut all = Vec::new();
        loop {
            let page: proto::ListSessionsResponse =
                self.0.unary(method!("SessionService", "ListSessions"), &request).await?;
            all.extend(page.sessions);
            if page.next_page_token.is_empty() {
                return Ok(all);
            }
            request.page_token = page.next_page_token;
        }
    }

    /// A session: where it is, and how many messages it has by role.
    pub async fn get(&self, workspace: &str, session: &str) -> Result<proto::Session, Error> {
        let request = proto::GetSessionRequest { workspace_id: workspace.into(), session_id: session.into() };
        let answer: proto::GetSessionResponse = self.0.unary(method!("SessionService", "GetSession"), &request).await?;
        Ok(answer.session.unwrap_or_default())
    }

    /// A page of a session's messages, which may be many; the next one begins at its `next_position`.
    pub async fn messages(&self, request: proto::ListMessagesRequest) -> Result<proto::ListMessagesResponse, Error> {
        self.0.unary(method!("SessionService", "ListMessages"), &request).await
    }

    /// What a session's messages were divided into, with the summaries: of level 0 first.
    pub async fn segments(&self, workspace: &str, session: &str) -> Result<Vec<proto::StoredSegment>, Error> {
        let (workspace_id, session_id) = (workspace.into(), session.into());
        let mut request = proto::ListSegmentsRequest { workspace_id, session_id, ..Default::default() };
        let mut all = Vec::new();
        loop {
            let page: proto::ListSegmentsResponse =
                self.0.unary(method!("SessionService", "ListSegments"), &request).await?;
            all.extend(page.segments);
            if page.next_page_token.is_empty() {
                return Ok(all);
            }
            request.page_token = page.next_page_token;
        }
    }

    /// The summaries of a workspace's daily notes, those made last first, and why there is no newer one.
    pub async fn notes(&self, workspace: &str) -> Result<proto::ListNotesSummariesResponse, Error> {
        let request = proto::ListNotesSummariesRequest { workspace_id: workspace.into() };
        self.0.unary(method!("SessionService", "ListNotesSummaries"), &request).await
    }

    /// A whole session as JSON lines.
    pub async fn export(&self, workspace: &str, session: &str) -> Result<Export, Error> {
        let request = proto::ExportSessionRequest { workspace_id: workspace.into(), session_id: session.into() };
        let (stream, address) = self.0.stream(method!("SessionService", "ExportSession"), request).await?;
        Ok(Export { stream, address })
    }

    /// Removes a session. Answered, with the number of its messages, when its text is gone from the disk.
    pub async fn delete(&self, workspace: &str, session: &str) -> Result<u64, Error> {
        let request = proto::DeleteSessionRequest { workspace_id: workspace.into(), session_id: session.into() };
        let answer: proto::DeleteSessionResponse =
            self.0.unary(method!("SessionService", "DeleteSession"), &request).await?;
        Ok(answer.messages)
    }

    /// Follows a session: the current state at once, then one after each change.
    pub fn watch(&self, workspace: &str, session: &str) -> Watch<proto::WatchSessionResponse> {
        let (workspace_id, session_id) = (workspace.into(), session.into());
        Watch::new(&self.0, proto::WatchSessionRequest { workspace_id, session_id, known_position: None })
    }

    /// Copies a session, as it was at a position (`None`: as it is), to a new one.
    pub async fn fork(
        &self,
        workspace: &str,
        session: &str,
        new_session: &str,
        at_position: Option<u64>,
    ) -> Result<proto::Session, Error> {
        let request = proto::ForkSessionRequest {
            workspace_id: workspace.into(),
            session_id: session.into(),
            at_position,
            new_session_id: new_session.into(),
        };
        let answer: proto::ForkSessionResponse =
            self.0.unary(method!("SessionService", "ForkSession"), &request).await?;
        Ok(answer.session.unwrap_or_default())
    }

    /// Removes the messages from a position on, such as one that is edited and sent again; unless the session is not at an
    /// `expected_position`.
    pub async fn truncate(
        &self,
        workspace: &str,
        session: &str,
        from_position: u64,
        expected_position: Option<u64>,
    ) -> Result<proto::Session, Error> {
        let (workspace_id, session_id) = (workspace.into(), session.into());
        let request = proto::TruncateSessionRequest { workspace_id, session_id, from_position, expected_position };
        let answer: proto::TruncateSessionResponse =
            self.0.unary(method!("SessionService", "TruncateSession"), &request).await?;
        Ok(answer.session.unwrap_or_default())
    }

    /// The messages that match best, of all sessions or of one.
    pub async fn recall(&self, request: proto::RecallRequest) -> Result<proto::RecallResponse, Error> {
        self.0.unary(method!("SessionService", "Recall"), &request).await
    }

    /// How much a workspace has stored.
    pub async fn stats(&self, workspace: &str) -> Result<proto::GetRecallStatsResponse, Error> {
        let request = proto::GetRecallStatsRequest { workspace_id: workspace.into() };
        self.0.unary(method!("SessionService", "GetRecallStats"), &request).await
    }
}

impl Export {
    /// The next lines, whole; `None` once all came. Where it breaks, it begins again with another call.
    pub async fn next(&mut self) -> Option<Result<Vec<u8>, Error>> {
        let answer = self.stream.message().await.map_err(|status| Error::of(&status, &self.address));
        answer.map(|part| part.map(|part| part.lines)).transpose()
    }
}
