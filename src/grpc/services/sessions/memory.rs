//! The store, if it can be used, and its errors as the service's.

use std::{fmt, sync::Arc, time::Duration};

use promptd_memory::{Store, StoreError};
use promptd_memory_pipeline::{Embedding, NotesQueue};
use tonic::Code;

use crate::grpc::pipeline::Error;
use promptd_core::id::Id;

/// Where conversations are stored, and what turns queries into vectors. A store that cannot be opened fails its calls, and no
/// others.
#[derive(Clone)]
pub struct Memory {
    store: Result<Arc<dyn Store>, StoreError>,
    embedding: Arc<Embedding>,
    /// Where to ask for summaries of notes; `None`: no model says them.
    pub(super) notes: Option<NotesQueue>,
}

impl Memory {
    /// The store, or why it cannot be used. Its vectors are of words.
    #[must_use]
    pub fn new(store: Result<Arc<dyn Store>, StoreError>) -> Self {
        Self { store, embedding: Arc::new(Embedding::of_words()), notes: None }
    }

    /// The same with vectors that this makes.
    #[must_use]
    pub fn with_embedding(self, embedding: Arc<Embedding>) -> Self {
        Self { embedding, ..self }
    }

    /// The same with where to ask for summaries of notes.
    #[must_use]
    pub fn with_notes(self, notes: Option<NotesQueue>) -> Self {
        Self { notes, ..self }
    }

    pub(in crate::grpc) fn embedding(&self) -> &Embedding {
        &self.embedding
    }

    pub(in crate::grpc) fn store(&self) -> Result<&Arc<dyn Store>, Error> {
        self.store.as_ref().map_err(|error| failure(error.clone(), None, Duration::ZERO))
    }
}

/// Why a call fails; `session` is the one that it names, if it does.
pub(in crate::grpc) fn failure(error: StoreError, session: Option<&Id>, retry: Duration) -> Error {
    let position = match error {
        StoreError::Moved(position) => Some(("position", position.to_string())),
        _ => None,
    };
    let (code, reason) = match error {
        StoreError::Busy => return Error::Overloaded { retry },
        StoreError::NoSession => {
            return Error::Missing { kind: "session", name: session.map(Id::to_string).unwrap_or_default() };
        }
        StoreError::NoPosition(_) => (Code::NotFound, "POSITION_NOT_FOUND"),
        StoreError::Moved(_) => (Code::Aborted, "SESSION_MOVED"),
        StoreError::Differs(_) => (Code::AlreadyExists, "MESSAGE_DIFFERS"),
        StoreError::OutOfOrder(_) => (Code::FailedPrecondition, "MESSAGE_OUT_OF_ORDER"),
        StoreError::Exists => (Code::AlreadyExists, "SESSION_EXISTS"),
        StoreError::RemovesTooMany(_) => (Code::FailedPrecondition, "TOO_MANY_MESSAGES"),
        StoreError::TooLong => (Code::DeadlineExceeded, "STORE_TOO_SLOW"),
        StoreError::Full => (Code::ResourceExhausted, "STORE_FULL"),
        StoreError::Damaged(_) => (Code::DataLoss, "STORE_DAMAGED"),
        StoreError::Unusable(_) => (Code::FailedPrecondition, "STORE_UNUSABLE"),
        StoreError::Failed(_) => (Code::Internal, "STORE_FAILED"),
    };
    // Why the files cannot be used is for the log: it names them.
    let message = match error {
        StoreError::Damaged(_) | StoreError::Unusable(_) | StoreError::Failed(_) => {
            "the store of conversations cannot be used now; the server's log says why".to_owned()
        }
        StoreError::Full | StoreError::TooLong => error.to_string(),
        error => session.map_or_else(|| error.to_string(), |session| format!("session `{session}`: {error}")),
    };
    Error::Part { code, reason, message, metadata: position }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let store = self.store.as_ref().map(|_| "store");
        f.debug_struct("Memory")
            .field("store", &store)
            .field("embedding", &self.embedding.name())
            .finish_non_exhaustive()
    }
}
