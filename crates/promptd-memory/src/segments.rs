//! What a store keeps of a session's tree of summaries, and of the work that makes it.
//!
//! A segment without a summary is a job: it is a row of the store until a summary is stored with it, or it is set aside. Both
//! happen once, whatever process ends in between.

use std::{ops::Range, time::Duration};

use promptd_core::time::Moment;
use tokio::sync::watch;

use crate::{Answer, SessionKey, StoredMessage};

/// Keeps the trees of summaries.
///
/// Segments of level 0 follow each other from a session's first message on. What is stored of a segment at a position is seen
/// from the next position on, so that a position names one tree for good.
pub trait Segments {
    /// Segments of a session, those of the lowest level first, and of a level the oldest.
    fn segments(&self, session: &SessionKey, page: PageOfSegments) -> Answer<ListedSegments>;

    /// Sessions that changed since they were planned.
    fn due(&self, limit: usize) -> Answer<Vec<SessionKey>>;

    /// What the next plan of a session is made of: the oldest messages that are in no segment, at most so many.
    fn unplanned(&self, session: &SessionKey, most: usize) -> Answer<Unplanned>;

    /// Adds the segments of a plan, all or none. [`NoSession`](crate::StoreError::NoSession): what they cover has gone meanwhile.
    fn add_segments(&self, session: &SessionKey, planned: Planned) -> Answer<()>;

    /// Segments whose summary is to be made now, at most so many.
    fn jobs(&self, limit: usize) -> Answer<Jobs>;

    /// What a segment sums up: at most so many bytes of it.
    fn source(&self, job: &Job, max_bytes: usize) -> Answer<Source>;

    /// Stores what became of a job. `false`: it is done already, or its messages have gone.
    fn finish(&self, job: &Job, outcome: Outcome) -> Answer<bool>;

    /// Is told whenever there may be something to plan.
    fn watch_all(&self) -> watch::Receiver<()>;
}

/// Which segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageOfSegments {
    /// The last of the page before: its level and the index of its first message.
    pub after: Option<(u32, u64)>,
    /// The most.
    pub limit: usize,
    /// The most bytes of their summaries; the first comes whatever it has.
    pub max_bytes: usize,
}

/// A page of segments.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedSegments {
    /// In order.
    pub segments: Vec<StoredSegment>,
    /// Whether this was the last page.
    pub is_last: bool,
}

/// A segment as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSegment {
    /// Its number, which no other segment of the store has or will have.
    pub id: u64,
    /// The segment that sums it up.
    pub parent: Option<u64>,
    /// 0: of messages; n: of segments of level n-1.
    pub level: u32,
    /// The indices of its messages in the session.
    pub messages: Range<u64>,
    /// When the first of them was said that has a time.
    pub start_time: Option<Moment>,
    /// When the last of them was said that has a time.
    pub end_time: Option<Moment>,
    /// The tokens of the messages.
    pub tokens: u64,
    /// How long its summary may be.
    pub target_tokens: u32,
    /// Whether it has one.
    pub state: SegmentState,
    /// The summary; empty: it has none.
    pub summary: String,
    /// The tokens of the summary; 0: to be estimated.
    pub summary_tokens: u32,
    /// Why its summary was not made, as far as it was tried; empty: nothing failed. It has nothing of a message.
    pub fault: String,
}

/// How far a segment's summary is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentState {
    /// It waits to be made.
    Waiting,
    /// It is there.
    Summarised,
    /// It could not be made, and is not tried again.
    SetAside,
}

/// What a plan is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Unplanned {
    /// The session as the store knows it.
    pub(crate) key: i64,
    /// What had happened to it.
    pub(crate) events: i64,
    /// The index of the first message that is in no segment.
    pub first_index: u64,
    /// Messages from there on.
    pub messages: Vec<StoredMessage>,
    /// Whether there are no more messages.
    pub is_all: bool,
    /// The segments without a parent, by level, up to the first of each level that waits for its summary.
    pub roots: Vec<StoredSegment>,
}

impl Unplanned {
    /// What a plan made of it. `is_done`: nothing more can be planned until something happens.
    #[must_use]
    pub fn planned(&self, segments: Vec<NewSegment>, is_done: bool) -> Planned {
        let end = segments.iter().filter(|segment| segment.children.is_empty()).map(|segment| segment.messages.end);
        let last = end.max().and_then(|end| self.messages.iter().find(|stored| stored.index + 1 == end));
        let last = last.map(|stored| (stored.index, stored.position));
        Planned { key: self.key, seen: is_done.then_some(self.events), last, segments }
    }
}

/// The segments of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    pub(crate) key: i64,
    /// What was planned; `None`: there is more to plan.
    pub(crate) seen: Option<i64>,
    /// Index and position of the last message that they cover.
    pub(crate) last: Option<(u64, u64)>,
    pub(crate) segments: Vec<NewSegment>,
}

/// A segment that is added.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSegment {
    /// 0: of messages; n: of `children`.
    pub level: u32,
    /// The indices of its messages in the session.
    pub messages: Range<u64>,
    /// When the first of them was said that has a time.
    pub start_time: Option<Moment>,
    /// When the last of them was said that has a time.
    pub end_time: Option<Moment>,
    /// The tokens of the messages.
    pub tokens: u64,
    /// How long its summary may be.
    pub target_tokens: u32,
    /// The segments that it sums up; none: messages.
    pub children: Vec<u64>,
}

/// What is to be summed up.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Jobs {
    /// Now, those that wait for the longest time first.
    pub jobs: Vec<Job>,
    /// When the next one is to be tried that failed; `None`: none is.
    pub next: Option<Duration>,
}

/// A segment whose summary is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The segment.
    pub segment: u64,
    /// Its session.
    pub session: SessionKey,
    /// Its level.
    pub level: u32,
    /// The indices of its messages.
    pub messages: Range<u64>,
    /// How long the summary may be, in tokens.
    pub target_tokens: u32,
    /// How often it failed.
    pub tries: u32,
}

/// What a segment sums up.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// Its messages.
    Messages(Vec<StoredMessage>),
    /// Its children, with their summaries.
    Segments(Vec<StoredSegment>),
}

/// What became of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The summary, and its tokens; 0: to be estimated.
    Summary(String, u32),
    /// It failed, and is tried again.
    Later {
        /// After how long.
        wait: Duration,
        /// Why it failed.
        fault: String,
        /// Whether it counts as a try.
        counts: bool,
    },
    /// It failed, and is not tried again.
    SetAside(String),
}
