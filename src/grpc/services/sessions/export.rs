//! `ExportSession`: a page at a time, read when the reader is ready for it.

use std::time::Duration;

use futures_util::stream::{self, Stream};
use promptd_memory::{PageOfMessages, SessionKey, StoredMessage, line};
use tonic::Status;

use super::memory::{Memory, failure};
use crate::grpc::pipeline::Error;
use promptd_contract::proto;

/// The most messages of a part.
const PART_MESSAGES: usize = 500;
/// The most bytes of text of a part, except for its first message.
const PART_BYTES: usize = 256 << 10;

/// One export.
pub(super) struct Export {
    memory: Memory,
    key: SessionKey,
    /// Where the session was when it began.
    position: u64,
    /// Where the next part begins; `None`: all is sent.
    next: Option<u64>,
    retry: Duration,
}

impl Export {
    pub(super) async fn begin(memory: Memory, key: SessionKey, retry: Duration) -> Result<Self, Error> {
        let session = memory.store()?.session(&key).await;
        let position = session.map_err(|error| failure(error, Some(&key.session), retry))?.position;
        Ok(Self { memory, key, position, next: Some(0), retry })
    }

    pub(super) fn responses(self) -> impl Stream<Item = Result<proto::ExportSessionResponse, Status>> {
        stream::unfold(self, async |mut export| {
            let from = export.next.take()?;
            let part = export.part(from).await;
            Some((part.map_err(Status::from), export))
        })
    }

    async fn part(&mut self, from: u64) -> Result<proto::ExportSessionResponse, Error> {
        let page = PageOfMessages { from, at: Some(self.position), limit: PART_MESSAGES, max_bytes: PART_BYTES };
        let page = self.memory.store()?.messages(&self.key, page).await;
        let page = page.map_err(|error| failure(error, Some(&self.key.session), self.retry))?;
        self.next = page.next;
        let lines: String = page.messages.iter().map(|stored: &StoredMessage| line(stored)).collect();
        Ok(proto::ExportSessionResponse { lines: lines.into_bytes() })
    }
}
