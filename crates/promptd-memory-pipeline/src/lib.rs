//! Makes what is stored beside conversations, in the background: trees of summaries, vectors of messages, and summaries of workspaces'
//! daily notes.
//!
//! What a session's messages are divided into, and what is rolled up, is planned by the core's rules ([`planner`]); a model says
//! the summaries ([`worker`]); vectors of messages, for searches, are a model's or made of words ([`vectors`]). All that is to be done is rows of the store, and each result is stored with its row in one
//! transaction: a process that ends loses what it had not stored, and the next one does it again. The tree does not depend
//! on when it is made: a plan is made of the shortest run of finished turns that the thresholds admit.
//!
//! The notes of a workspace are summed up when a prompt is asked for that would show the summary ([`notes`]).
//!
//! The crate knows neither files nor workspaces: the requests to a model come from [`Prompts`] and [`Notebook`].

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![warn(unreachable_pub)]

mod breaker;
mod embedding;
mod model;
mod notes;
mod planner;
mod prompts;
mod quota;
mod status;
mod vectors;
mod worker;

pub use embedding::Embedding;
pub use model::{Address, Chat, Embedder, Embeddings, Fault, Said, ServerOptions, Summariser};
pub use notes::{Notebook, NotesQueue, NotesRequest};
pub use prompts::{Prompts, Request};
pub use status::Status;

use std::{pin::Pin, sync::Arc, time::Duration};

use promptd_core::history::Thresholds;
use promptd_memory::Store;
use tokio::{sync::Notify, task::JoinHandle};

use self::{breaker::Breaker, notes::NotesWork, planner::Planning, quota::Quota, vectors::Vectorising, worker::Work};

/// What the log lines of this crate are filtered by, as in `log.level: info,promptd::memory=debug`.
const LOG_TARGET: &str = "promptd::memory";
/// How long nothing is tried after the store failed.
const AFTER_FAILURE: Duration = Duration::from_secs(5);

/// What will be there.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Who makes summaries, and how much of it at once.
pub struct Summaries {
    /// The model.
    pub model: Arc<dyn Summariser>,
    /// What it is asked.
    pub prompts: Arc<dyn Prompts>,
    /// How many summaries are made at once.
    pub concurrency: usize,
    /// The most tokens an hour, of requests and answers; `None`: no bound.
    pub tokens_per_hour: Option<u64>,
}

/// How messages are divided into segments.
pub struct Division {
    /// The numbers that it goes by.
    pub thresholds: Thresholds,
    /// What says where topics shift: a model, or the words of the messages. It makes the vectors of searches too.
    pub embedding: Arc<Embedding>,
}

/// The work that is to be done.
pub struct Pipeline {
    planning: Planning,
    vectorising: Vectorising,
    work: Option<Work>,
    notes: Option<NotesWork>,
    status: Status,
}

/// The work, until it is dropped.
#[derive(Debug)]
pub struct Working(Vec<JoinHandle<()>>);

impl Pipeline {
    /// Without `summaries`, segments wait for theirs.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, division: Division, summaries: Option<Summaries>) -> Self {
        let status = Status::default();
        // Each tells the other that it may have something to do.
        let (planned, summarised) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let work = summaries.map(|summaries| Work {
            store: Arc::clone(&store),
            quota: Quota::new(summaries.tokens_per_hour),
            breaker: Breaker::default(),
            planned: Arc::clone(&planned),
            summarised: Arc::clone(&summarised),
            status: status.clone(),
            summaries,
        });
        let vectorising = Vectorising { store: Arc::clone(&store), embedding: Arc::clone(&division.embedding) };
        let planning = Planning { store, division, planned, summarised };
        Self { planning, vectorising, work, notes: None, status }
    }

    /// Also sums up the daily notes of workspaces, of those that the queue is asked for. `None`: no model makes summaries.
    pub fn sum_up_notes(&mut self, notebook: Arc<dyn Notebook>) -> Option<NotesQueue> {
        let work = self.work.as_ref()?;
        let queue = NotesQueue::default();
        self.notes = Some(NotesWork::new(work, notebook, queue.clone()));
        Some(queue)
    }

    /// How it is doing.
    #[must_use]
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// Begins to work.
    ///
    /// # Panics
    ///
    /// Outside of a runtime.
    #[must_use]
    pub fn start(self) -> Working {
        let work = self.work.map(|work| tokio::spawn(work.run()));
        let notes = self.notes.map(|notes| tokio::spawn(notes.run()));
        let others = [tokio::spawn(self.planning.run()), tokio::spawn(self.vectorising.run())];
        Working(others.into_iter().chain(work).chain(notes).collect())
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        for task in &self.0 {
            task.abort();
        }
    }
}
