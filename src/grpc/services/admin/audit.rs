//! One log line for everything that is published or refused: who, what, why, from where, and how it ended. No content.

use std::fmt::Write as _;

use promptd_core::text::inline::inline;
use promptd_etcd::publish::Published;

use super::by::By;
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
        let mut workspaces = String::new();
        for id in ids.into_iter().take(MAX_NAMED) {
            let comma = if workspaces.is_empty() { "" } else { "," };
            let _ = write!(workspaces, "{comma}{}", inline(id, MAX_ID_CHARS).text);
        }
        let note = inline(message, MAX_CHARS).text.into_owned();
        Self { action, author: by.author(), from: by.address(), workspaces, note, is_written: false }
    }

    /// Writes the line of a call that was refused.
    pub(super) fn refused(mut self, error: Error) -> Error {
        self.write(&error.reason(), "");
        error
    }

    /// Writes the line of what was tried.
    pub(super) fn ended(mut self, result: &Result<Vec<Published>, Error>) {
        match result {
            Ok(published) => {
                let revision = |one: &Published| format!("{}={}:{}", one.id, one.sequence, one.revision.short());
                let result = if published.iter().any(|one| one.is_new) { "published" } else { "unchanged" };
                self.write(result, &published.iter().map(revision).collect::<Vec<_>>().join(","));
            }
            Err(error) => self.write(&error.reason(), ""),
        }
    }

    fn write(&mut self, result: &str, revisions: &str) {
        self.is_written = true;
        let Self { action, author, from, workspaces, note, .. } = &*self;
        tracing::info!(target: LOG_TARGET, action, author, from, workspaces, revisions, note, result, "audit");
    }
}

impl Drop for Audit {
    fn drop(&mut self) {
        if !self.is_written {
            self.write("abandoned", "");
        }
    }
}
