//! Which messages a search may find.

use std::{collections::HashSet, ops::Range};

use promptd_core::{id::Id, time::Moment};
use rusqlite::Connection;

use crate::{
    Recall, SessionKey, StoreError,
    sqlite::{sessions, words::Words},
};

/// A message's place in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// The key of its session.
    pub(super) session: i64,
    pub(super) position: u64,
}

/// What a search may find.
pub(super) struct Scope<'c> {
    pub(super) workspace: Id,
    pub(super) words: Words<'c>,
    /// Only of this session, by its key.
    pub(super) session: Option<i64>,
    /// Only before this position.
    pub(super) before: u64,
    /// Only vectors that were there at this position.
    pub(super) at: u64,
    /// Only of these times, in seconds since 1970.
    pub(super) seconds: Range<i64>,
    context: Option<Context>,
}

/// What a prompt has already.
struct Context {
    session: i64,
    from: u64,
    positions: HashSet<u64>,
}

impl<'c> Scope<'c> {
    /// `None`: nothing can be found.
    pub(super) fn of(connection: &'c Connection, workspace: &Id, recall: &Recall) -> Result<Option<Self>, StoreError> {
        let Some(words) = Words::of(connection, workspace)? else { return Ok(None) };
        let find = |session: &Id| {
            let key = SessionKey { workspace: workspace.clone(), session: session.clone() };
            sessions::find_if_there(connection, &key).map(|row| row.map(|row| row.key))
        };
        let session = match &recall.session {
            None => None,
            Some(session) => match find(session)? {
                None => return Ok(None),
                found => found,
            },
        };
        let context = match &recall.in_context {
            None => None,
            Some(context) => find(&context.session)?.map(|session| Context {
                session,
                from: context.from.unwrap_or(u64::MAX),
                positions: context.positions.iter().copied().collect(),
            }),
        };
        let seconds = |moment: Option<Moment>, otherwise| moment.map_or(otherwise, |moment| moment.as_parts().0);
        Ok(Some(Self {
            workspace: workspace.clone(),
            words,
            session,
            before: recall.before.unwrap_or(u64::MAX),
            at: recall.at.unwrap_or(u64::MAX),
            seconds: seconds(recall.since, i64::MIN)..seconds(recall.until, i64::MAX),
            context,
        }))
    }

    /// Whether a message of this time may be found.
    pub(super) fn admits(&self, place: Place, seconds: i64) -> bool {
        let is_in_context = self.context.as_ref().is_some_and(|context| {
            context.session == place.session
                && (place.position >= context.from || context.positions.contains(&place.position))
        });
        self.session.is_none_or(|session| session == place.session)
            && place.position < self.before
            && self.seconds.contains(&seconds)
            && !is_in_context
    }
}
