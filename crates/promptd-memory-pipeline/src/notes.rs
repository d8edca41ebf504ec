//! Summing up the daily notes of workspaces: when a prompt is asked for that would show the summary, and others are noted than the
//! newest summary was made of.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use promptd_core::id::Id;
use promptd_memory::{NotesSummary, Store, StoreError};
use tokio::{sync::Notify, time::Instant};

use crate::{
    Fault, LOG_TARGET, Later, Request, Said, Status, Summariser,
    breaker::{Breaker, wait},
    model::apart,
    quota::Quota,
    worker::Work,
};

/// How often one workspace's notes are looked at.
const INTERVAL: Duration = Duration::from_secs(10);
/// How often the same notes are tried before nobody asks the model for them again; failures while the server is away do not count.
const MAX_TRIES: u32 = 8;

/// Gives what is to be summed up.
pub trait Notebook: Send + Sync {
    /// The request for a summary of a workspace's notes, as they are now; `None`: there are none to sum up. An error says why it
    /// cannot be made, and has nothing of a note in it.
    fn request<'a>(&'a self, workspace: &'a Id) -> Later<'a, Result<Option<NotesRequest>, String>>;
}

/// What a model is asked about notes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotesRequest {
    /// The path of the first note.
    pub first: String,
    /// The path of the last one.
    pub last: String,
    /// What names the notes with their texts: others have another one.
    pub source: String,
    /// How many characters they have.
    pub chars: usize,
    /// The request.
    pub request: Request,
}

/// Whose notes are to be looked at. Clones are one.
#[derive(Debug, Clone, Default)]
pub struct NotesQueue(Arc<Queue>);

#[derive(Debug, Default)]
struct Queue {
    wanted: Mutex<BTreeSet<Id>>,
    /// Why the last look at a workspace's notes gave no summary.
    faults: Mutex<BTreeMap<Id, String>>,
    added: Notify,
}

impl NotesQueue {
    /// Asks for a workspace's notes to be looked at; waits for nothing.
    pub fn ask(&self, workspace: &Id) {
        if locked(&self.0.wanted).insert(workspace.clone()) {
            self.0.added.notify_one();
        }
    }

    /// Why there is no summary of a workspace's notes as they are; `None`: nothing is known to be in the way.
    #[must_use]
    pub fn fault(&self, workspace: &Id) -> Option<String> {
        locked(&self.0.faults).get(workspace).cloned()
    }

    async fn next(&self) -> Id {
        loop {
            let added = self.0.added.notified();
            if let Some(workspace) = locked(&self.0.wanted).pop_first() {
                return workspace;
            }
            added.await;
        }
    }

    fn report(&self, workspace: &Id, fault: Option<String>) {
        let mut faults = locked(&self.0.faults);
        match fault {
            Some(fault) => faults.insert(workspace.clone(), fault),
            None => faults.remove(workspace),
        };
    }
}

/// The work, with the model and its bounds shared with that on segments.
pub(crate) struct NotesWork {
    store: Arc<dyn Store>,
    model: Arc<dyn Summariser>,
    quota: Quota,
    breaker: Breaker,
    status: Status,
    notebook: Arc<dyn Notebook>,
    queue: NotesQueue,
    looks: HashMap<Id, Look>,
}

/// The last look at a workspace's notes.
#[derive(Debug, Clone, Default)]
struct Look {
    /// When the next one is due.
    next: Option<Instant>,
    /// How often these notes gave no summary.
    tries: u32,
    source: String,
}

impl NotesWork {
    pub(crate) fn new(work: &Work, notebook: Arc<dyn Notebook>, queue: NotesQueue) -> Self {
        Self {
            store: Arc::clone(&work.store),
            model: Arc::clone(&work.summaries.model),
            quota: work.quota.clone(),
            breaker: work.breaker.clone(),
            status: work.status.clone(),
            notebook,
            queue,
            looks: HashMap::new(),
        }
    }

    /// Works until it is dropped.
    pub(crate) async fn run(mut self) {
        loop {
            let workspace = self.queue.next().await;
            let now = Instant::now();
            // Of those that nothing went wrong with nothing need be known once they may be looked at again.
            self.looks.retain(|_, look| look.tries > 0 || look.next > Some(now));
            let look = self.looks.get(&workspace).cloned().unwrap_or_default();
            if look.next <= Some(now) {
                let look = self.look(&workspace, look).await;
                self.looks.insert(workspace, look);
            }
        }
    }

    /// Looks at a workspace's notes, and has them summed up if they are others than before.
    async fn look(&self, workspace: &Id, before: Look) -> Look {
        let soon = Some(Instant::now() + INTERVAL);
        let known = self.queue.fault(workspace);
        let (look, fault) = match self.make(workspace, &before).await {
            Ok(()) => (Look::default(), None),
            Err((look, fault)) => (look, Some(fault)),
        };
        if let Some(fault) = fault.as_ref().filter(|fault| known.as_ref() != Some(*fault)) {
            tracing::warn!(target: LOG_TARGET, %workspace, "its notes are not summed up: {fault}");
        }
        self.queue.report(workspace, fault);
        Look { next: look.next.max(soon), ..look }
    }

    /// The error: when to look again, and why.
    async fn make(&self, workspace: &Id, before: &Look) -> Result<(), (Look, String)> {
        let later = |next, fault: String| (Look { next, ..before.clone() }, fault);
        let of_store = |error: StoreError| later(None, error.to_string());
        let found = self.notebook.request(workspace).await.map_err(|fault| later(None, fault))?;
        let Some(notes) = found else { return Ok(()) };
        let newest = self.store.notes_summaries(workspace, 1).await.map_err(of_store)?;
        if newest.first().is_some_and(|newest| newest.summary.source == notes.source) {
            return Ok(());
        }
        let tries = if before.source == notes.source { before.tries } else { 0 };
        let failed = |next, tries, fault| (Look { next, tries, source: notes.source.clone() }, fault);
        if tries >= MAX_TRIES {
            let fault = self.queue.fault(workspace).unwrap_or_default();
            return Err(failed(None, tries, fault));
        }
        if let Err(until) = self.breaker.admits(1) {
            return Err(failed(Some(until), tries, "the model does not answer".into()));
        }
        if let Err(wait) = self.quota.take(notes.request.tokens()) {
            let fault = "the tokens of this hour are used up".into();
            return Err(failed(Some(Instant::now() + wait), tries, fault));
        }
        match self.say(notes.request.clone(), notes.chars).await {
            Ok(Said { text, tokens }) => {
                self.breaker.succeeded();
                self.status.summarised.inc();
                let NotesRequest { first, last, source, .. } = notes;
                let summary = NotesSummary { first, last, source, text, tokens };
                self.store.add_notes_summary(workspace, summary).await.map_err(of_store)?;
                Ok(())
            }
            Err(fault) => {
                self.status.failed.inc();
                self.breaker.heard(&fault);
                let again = Some(Instant::now() + wait(tries));
                let tries = if self.breaker.is_open() { tries } else { tries + 1 };
                if tries == MAX_TRIES {
                    self.status.set_aside.inc();
                }
                Err(failed(again, tries, fault.message().to_owned()))
            }
        }
    }

    async fn say(&self, request: Request, chars: usize) -> Result<Said, Fault> {
        let model = Arc::clone(&self.model);
        apart(async move { model.say(request).await }).await?.checked(chars)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
