//! How much of the end of a stored conversation a prompt can carry, so that no more is read.

use std::{borrow::Cow, collections::HashMap};

use super::{
    carry,
    trim::{TrimBudget, as_carried},
};
use crate::{
    profile::{Profile, Template, TrimSpec},
    prompt::{
        scope::{Inputs, TurnScope},
        validate::TurnError,
    },
    turn::{ConversationMessage, Role, Turn},
    workspace::Snapshot,
};

/// Takes the messages of a conversation, the newest first, until no older one can be in the prompt.
///
/// With these messages, and `rest_is_stored` set, a prompt is the same as with the whole conversation. They begin with a
/// message of the user, so that no call of a tool is without its results, unless the bounds are reached before.
#[derive(Debug)]
pub struct Tail {
    /// The newest messages that the profile carries; `None`: all.
    window: Option<u64>,
    /// The estimated tokens of those that it trims to; `None`: it does not trim.
    budget: Option<u64>,
    /// The tokens of summaries that it shows; 0: it shows none.
    summaries: u64,
    /// Whether messages stay that no summary has yet.
    keeps_unsummarised: bool,
    /// Whether what is trimmed is searched for the turn.
    recalls: bool,
    result_limit: u64,
    bounds: TailBounds,
    /// How many were taken.
    taken: u64,
    bytes: usize,
    /// How many of them can be carried, and their estimated tokens.
    messages: u64,
    tokens: u64,
    /// The estimated tokens of results whose calls are still to come, by the ids of these.
    results: HashMap<String, u64>,
}

/// The most of a conversation that is read.
#[derive(Debug, Clone, Copy)]
pub struct TailBounds {
    /// Messages.
    pub messages: u64,
    /// The bytes of their texts.
    pub bytes: usize,
}

/// How many messages of the history come before those that a turn's prompt carries of its conversation, unless the budget of the whole
/// prompt leaves room for fewer.
///
/// # Errors
///
/// [`TurnError::Invalid`]: an input of the turn cannot be used.
pub fn trimmed_messages(snapshot: &Snapshot, profile: &Profile, turn: &Turn) -> Result<u64, TurnError> {
    let Some(spec) = profile.conversation() else { return Ok(0) };
    let inputs = Inputs::resolve(profile, snapshot, turn)?;
    let scope = TurnScope::new(snapshot, profile, turn, Cow::Owned(inputs), &mut Vec::new());
    Ok(carry(spec, &scope).trimmed.messages)
}

impl Tail {
    /// For a turn without its conversation.
    ///
    /// # Errors
    ///
    /// [`TurnError::Invalid`]: an input of the turn cannot be used.
    pub fn new(snapshot: &Snapshot, profile: &Profile, turn: &Turn, bounds: TailBounds) -> Result<Self, TurnError> {
        let nothing = Self {
            window: Some(1),
            budget: None,
            summaries: 0,
            keeps_unsummarised: false,
            recalls: false,
            result_limit: 0,
            bounds,
            taken: 0,
            bytes: 0,
            messages: 0,
            tokens: 0,
            results: HashMap::new(),
        };
        // What carries no conversation may still read the newest message of the user.
        let Some(spec) = profile.conversation() else { return Ok(nothing) };
        let inputs = Inputs::resolve(profile, snapshot, turn)?;
        let scope = TurnScope::new(snapshot, profile, turn, Cow::Owned(inputs), &mut Vec::new());
        let shared = spec.trim.as_ref().map(|trim| TrimBudget::shared(trim, &scope));
        let shared = shared.filter(|_| profile.shows_summaries());
        let summaries = shared.as_ref().and_then(|budget| budget.summaries).unwrap_or(0);
        // Where summaries may take all of it, nothing is trimmed.
        let is_unlimited = summaries > 0 && shared.is_some_and(|budget| budget.raw == 0);
        let budget = |trim: &TrimSpec| if is_unlimited { 0 } else { TrimBudget::of(trim, &scope).raw };
        let keep = spec.trim.as_ref().and_then(|trim| trim.keep_unsummarised.as_ref());
        let holds = |written: &Template| profile.templates.holds(written, &scope) == Ok(true);
        let keeps = keep.is_some_and(holds);
        Ok(Self {
            summaries,
            keeps_unsummarised: keeps && summaries > 0,
            recalls: spec.auto_recall.as_ref().is_some_and(holds),
            window: spec.window.as_ref().and_then(|window| scope.amount(window)),
            budget: spec.trim.as_ref().map(budget).filter(|&most| most > 0),
            result_limit: spec.max_tool_result_chars.as_ref().and_then(|limit| scope.amount(limit)).unwrap_or(0),
            ..nothing
        })
    }

    /// About how many tokens of summaries the prompt can show; 0: none.
    #[must_use]
    pub fn summaries(&self) -> u64 {
        self.summaries
    }

    /// Whether what is trimmed is to be searched for the turn.
    #[must_use]
    pub fn recalls(&self) -> bool {
        self.recalls
    }

    /// Takes the next older message; whether one more is wanted. `is_reached`: the summaries reach it, if there are any.
    pub fn take(&mut self, message: &ConversationMessage, is_reached: bool) -> bool {
        self.taken += 1;
        self.bytes += message.bytes();
        self.count(message);
        let is_enough =
            self.window.is_some_and(|most| self.messages > most) || self.budget.is_some_and(|most| self.tokens > most);
        let is_enough = is_enough && (is_reached || !self.keeps_unsummarised);
        let begins_a_turn = message.role == Role::User;
        let is_bounded = self.taken >= self.bounds.messages || self.bytes >= self.bounds.bytes;
        !(is_enough && begins_a_turn || is_bounded)
    }

    /// Counts a message, if it will be carried: calls of tools only with all of their results, and results with their calls.
    fn count(&mut self, message: &ConversationMessage) {
        let tokens = as_carried(message, self.result_limit);
        if message.role == Role::Tool {
            self.results.insert(message.tool_call_id.clone(), tokens);
            return;
        }
        let results: Option<Vec<u64>> = message.calls().iter().map(|call| self.results.remove(&call.id)).collect();
        if let Some(results) = results {
            self.messages += 1 + results.len() as u64;
            self.tokens = results.into_iter().fold(self.tokens.saturating_add(tokens), u64::saturating_add);
        }
    }
}
