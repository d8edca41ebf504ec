//! Planning: which messages become a segment, which segments are rolled up.

use std::{sync::Arc, time::Duration};

use promptd_core::{
    history::{History, HistoryMessage, HistorySegment, PlannedSegment, Rollup, Thresholds, embedding_inputs, plan},
    turn::Role,
};
use promptd_memory::{
    NewSegment, SegmentState, SessionKey, Store, StoreError, StoredMessage, StoredSegment, Unplanned,
};
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use crate::{AFTER_FAILURE, Division, LOG_TARGET};

/// How many sessions are looked for at once.
const DUE: usize = 64;
/// How long after a change it is planned at the earliest: many changes are planned together.
const PAUSE: Duration = Duration::from_millis(500);
/// Plans sessions as they change.
pub(crate) struct Planning {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) division: Division,
    /// Is told when there are new segments.
    pub(crate) planned: Arc<Notify>,
    /// Tells that there are new summaries.
    pub(crate) summarised: Arc<Notify>,
}

impl Planning {
    /// Plans until it is dropped.
    pub(crate) async fn run(self) {
        let mut changes = self.store.watch_all();
        loop {
            changes.mark_unchanged();
            let next = match self.plan_due().await {
                Ok(next) => next,
                Err(error) => {
                    tracing::warn!(target: LOG_TARGET, "conversations are not divided into segments now: {error}");
                    Some(Instant::now() + AFTER_FAILURE)
                }
            };
            tokio::time::sleep(PAUSE).await;
            tokio::select! {
                news = changes.changed(), if next.is_none() => if news.is_err() { return },
                () = self.summarised.notified(), if next.is_none() => {}
                () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {}
            }
        }
    }

    /// Plans every session that changed; says when to look again at those that could not be read, or whose vectors could not be had.
    async fn plan_due(&self) -> Result<Option<Instant>, StoreError> {
        let mut next: Option<Instant> = None;
        loop {
            let due = self.store.due(DUE).await?;
            let mut failed = None;
            for session in &due {
                match self.plan_session(session).await {
                    Ok(later) => next = next.into_iter().chain(later).min(),
                    // It was removed, or what was planned was.
                    Err(StoreError::NoSession) => {}
                    // Others may be readable.
                    Err(error) => failed = Some((session, error)),
                }
            }
            if let Some((session, error)) = failed {
                tracing::warn!(target: LOG_TARGET, %session, "it is not divided into segments now: {error}");
                next = next.into_iter().chain([Instant::now() + AFTER_FAILURE]).min();
            }
            if due.len() < DUE || next.is_some() {
                return Ok(next);
            }
        }
    }

    async fn plan_session(&self, session: &SessionKey) -> Result<Option<Instant>, StoreError> {
        loop {
            // One more says whether the last turn of a chunk is finished.
            let most = self.division.thresholds.chunk_messages.saturating_add(1);
            let unplanned = Arc::new(self.store.unplanned(session, most).await?);
            let (leaves, later) = match self.leaves(&unplanned).await? {
                Ok(leaves) => (leaves, None),
                Err(later) => (Vec::new(), Some(later)),
            };
            let rollups = rollups(&unplanned, &self.division.thresholds);
            let segments: Vec<_> = leaves.into_iter().map(leaf).chain(rollups).collect();
            let is_done = segments.is_empty();
            self.store.add_segments(session, unplanned.planned(segments, is_done && later.is_none())).await?;
            if is_done {
                return Ok(later);
            }
            self.planned.notify_one();
        }
    }

    /// The next segments of level 0; or when to ask for vectors again.
    async fn leaves(&self, unplanned: &Arc<Unplanned>) -> Result<Result<Vec<PlannedSegment>, Instant>, StoreError> {
        let (all, thresholds) = (Arc::clone(unplanned), self.division.thresholds.clone());
        let Some((mut history, planned)) = blocking(move || settled(&all, &thresholds)).await? else {
            return Ok(Ok(Vec::new()));
        };
        if !self.division.embedding.is_of_model() {
            return Ok(Ok(planned));
        }
        let inputs = embedding_inputs(&history.messages, &self.division.thresholds);
        let vectors = match self.division.embedding.vectors_or_none(inputs).await {
            Ok(Some(vectors)) => vectors,
            // The words of the messages say where topics shift.
            Ok(None) => return Ok(Ok(planned)),
            Err(next) => return Ok(Err(next)),
        };
        for (message, vector) in history.messages.iter_mut().zip(vectors) {
            message.embedding = vector;
        }
        let thresholds = self.division.thresholds.clone();
        Ok(Ok(blocking(move || plan(&history, &thresholds).segments).await?))
    }
}

/// Does what takes long on a thread for that.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| StoreError::Failed("planning failed".into()))
}

/// The next segments of the levels above. They depend on the summaries alone, not on when they are planned.
fn rollups(unplanned: &Unplanned, thresholds: &Thresholds) -> Vec<NewSegment> {
    let known = unplanned.roots.iter().map(history_segment).collect();
    let rollups = plan(&History { segments: known, ..History::default() }, thresholds).rollups;
    rollups.into_iter().map(|rollup| above(rollup, &unplanned.roots)).collect()
}

/// The shortest run of finished turns that the thresholds admit, or a whole chunk, and its segments by words; `None`: the
/// messages wait for more.
fn settled(unplanned: &Unplanned, thresholds: &Thresholds) -> Option<(History, Vec<PlannedSegment>)> {
    let mut history = History { first_index: unplanned.first_index, ..History::default() };
    for (at, stored) in unplanned.messages.iter().enumerate() {
        history.messages.push(history_message(stored));
        let is_finished = match unplanned.messages.get(at + 1) {
            Some(next) => next.message.role == Role::User,
            // Too much to read more at once.
            None => !unplanned.is_all,
        };
        if is_finished || history.messages.len() >= thresholds.chunk_messages {
            let planned = plan(&history, thresholds).segments;
            if !planned.is_empty() {
                return Some((history, planned));
            }
        }
    }
    None
}

fn history_message(stored: &StoredMessage) -> HistoryMessage {
    let message = &stored.message;
    let mut known = HistoryMessage {
        role: message.role,
        content: message.content.clone(),
        tool_calls: message.tool_calls.clone(),
        time: message.time,
        tokens: None,
        embedding: Vec::new(),
    };
    // It is asked for again and again.
    known.tokens = u32::try_from(known.size()).ok();
    known
}

fn history_segment(segment: &StoredSegment) -> HistorySegment {
    HistorySegment {
        id: segment.id.to_string(),
        parent_id: String::new(),
        level: segment.level,
        message_start: segment.messages.start,
        message_end: segment.messages.end,
        start_time: segment.start_time,
        end_time: segment.end_time,
        tokens: segment.tokens,
        is_summarised: segment.state == SegmentState::Summarised,
    }
}

fn leaf(planned: PlannedSegment) -> NewSegment {
    NewSegment {
        level: 0,
        messages: planned.messages,
        start_time: planned.start_time,
        end_time: planned.end_time,
        tokens: planned.tokens,
        target_tokens: planned.target_tokens,
        children: Vec::new(),
    }
}

fn above(rollup: Rollup, roots: &[StoredSegment]) -> NewSegment {
    NewSegment {
        level: rollup.level,
        messages: rollup.messages,
        start_time: rollup.start_time,
        end_time: rollup.end_time,
        tokens: rollup.tokens,
        target_tokens: rollup.target_tokens,
        children: rollup.children.into_iter().map(|child| roots[child].id).collect(),
    }
}
