//! One log line for everything that is published or refused: who, what, why, from where, and how it ended. No content.

use std::fmt::Write as _;

use promptd_core::{id::Id, text::inline::inline};
use promptd_etcd::publish::Published;

use super::{by::By, done::Done};
use crate::grpc::pipeline::Error;

/// What the lines are filtered by, as in `log.level: warn,promptd::audit=info`.
const LOG_TARGET: &str = "promptd::audit";
/// The most characters of a message, and of the workspaces' ids.
const MAX_CHARS: usize = 300;
const MAX_ID_CHARS: usize = 64;
/// The most workspaces that are named.
const MAX_NAMED: usize = 64;

/// A line to come. Dropped before its call has ended, it says that the caller gave up.
pub(super) struct Audit {
    action: &'static str,
    author: String,
    from: String,
    workspaces: String,
    note: String,
    /// The first digits of a proposal's id.
    proposal: String,
    is_written: bool,
}

impl Audit {
    /// The ids and the message may be anything: nothing is checked yet.
    pub(super) fn begin<'i>(
        action: &'static str,
        by: &By,
        ids: impl IntoIterator<Item = &'i str>,
        message: &str,
    ) -> Self {
        let (workspaces, note) = (named(ids), inline(message, MAX_CHARS).text.into_owned());
        let (author, from) = (by.author(), by.address());
        Self { action, author, from, workspaces, note, proposal: String::new(), is_written: false }
    }

    /// The same of a proposal that the caller names by the first digits of its id.
    pub(super) fn of_proposal(mut self, name: &str) -> Self {
        self.proposal = inline(name, MAX_ID_CHARS).text.into_owned();
        self
    }

    /// Goes on with what was found good; of a call that is refused it writes the line.
    pub(super) fn admit<T>(mut self, found: Result<T, Error>) -> Result<(Self, T), Error> {
        match found {
            Ok(found) => Ok((self, found)),
            Err(error) => {
                self.write(&error.reason(), "");
                Err(error)
            }
        }
    }

    /// Writes the line of what was tried.
    pub(super) fn ended(mut self, result: &Result<Done, Error>) {
        let done = match result {
            Ok(done) => done,
            Err(error) => return self.write(&error.reason(), ""),
        };
        if let Some(proposal) = done.proposal() {
            self.workspaces = named(proposal.workspaces.keys().map(Id::as_str));
            self.proposal = proposal.id.short();
        }
        let revision = |one: &Published| format!("{}={}:{}", one.id, one.sequence, one.revision.short());
        let revisions: Vec<_> = match done {
            Done::Published(all) => all.iter().map(revision).collect(),
            _ => Vec::new(),
        };
        self.write(done.result(), &revisions.join(","));
    }

    fn write(&mut self, result: &str, revisions: &str) {
        self.is_written = true;
        let Self { action, author, from, workspaces, note, proposal, .. } = &*self;
        tracing::info!(target: LOG_TARGET, action, author, from, workspaces, revisions, proposal, note, result, "audit");
    }
}

/// Ids, which may be anything, in one text.
fn named<'i>(ids: impl IntoIterator<Item = &'i str>) -> String {
    let mut names = String::new();
    for id in ids.into_iter().take(MAX_NAMED) {
        let comma = if names.is_empty() { "" } else { "," };
        let _ = write!(names, "{comma}{}", inline(id, MAX_ID_CHARS).text);
    }
    names
}

impl Drop for Audit {
    fn drop(&mut self) {
        if !self.is_written {
            self.write("abandoned", "");
        }
    }
}
