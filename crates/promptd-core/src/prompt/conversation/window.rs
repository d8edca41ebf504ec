//! The conversation's window: the messages that a prompt carries, and the reports of the rest.

use std::{borrow::Cow, fmt::Write as _};

use crate::{
    finding::{Code, Finding, Place},
    profile::Stability,
    prompt::{
        output::{Message, Outcome, SectionReport, Size},
        scope::TrimmedHistory,
    },
    text::thousands,
};

/// The messages that are carried, and what became of the rest.
#[derive(Debug, Default)]
pub(crate) struct ConversationWindow<'a> {
    /// In order.
    pub messages: Vec<Message<'a>>,
    /// One for the window, and one for each message that was cut or lost; positions count from the first carried message.
    pub sections: Vec<SectionReport<'static>>,
    pub findings: Vec<Finding>,
    /// Set where the profile trims and messages of the history are left out.
    pub trimmed: Option<TrimmedHistory>,
}

impl ConversationWindow<'_> {
    /// No messages, for a reason.
    pub(crate) fn omitted(reason: &'static str) -> Self {
        Self { sections: vec![report(Outcome::Omitted, reason)], ..Self::default() }
    }
}

/// The id of the report of one message.
pub(super) fn message_id(index: usize) -> Cow<'static, str> {
    format!("conversation/{index}").into()
}

/// The finding of a message of which something was lost.
pub(super) fn cut_finding(index: usize, reason: &str) -> Finding {
    let place = Place::field(format!("turn.conversation.messages[{index}]"));
    Finding::new(Code::ConversationTruncated, place, reason.trim_end_matches('.').to_owned())
}

/// A report of the conversation as a whole.
pub(super) fn report(outcome: Outcome, reason: impl Into<Cow<'static, str>>) -> SectionReport<'static> {
    SectionReport {
        id: Cow::Borrowed("conversation"),
        outcome,
        reason: reason.into(),
        position: None,
        source: None,
        original: Size::default(),
        included: Size::default(),
        stability: Stability::Volatile,
        shared: None,
    }
}

/// How many messages are left out, by reason.
#[derive(Default)]
pub(super) struct LeftOut {
    pub duplicates: usize,
    pub trimmed: usize,
    pub budget: u64,
    pub unpaired: usize,
}

/// The report of the window: how many messages are carried, and why the others are not.
pub(super) fn summary(all: usize, kept: usize, left_out: &LeftOut) -> SectionReport<'static> {
    let LeftOut { duplicates, trimmed, budget, unpaired } = *left_out;
    if kept == all {
        return report(Outcome::Included, "");
    }
    let mut reason = format!("{kept} of {all} messages are carried");
    for (count, why) in [(duplicates, "duplicates"), (unpaired, "tool messages without their counterpart")] {
        if count > 0 {
            let _ = write!(reason, ", {count} {why} left out");
        }
    }
    if trimmed > 0 {
        let _ = write!(reason, ", the {trimmed} oldest trimmed to {} estimated tokens", thousands(budget));
    }
    report(Outcome::Included, reason + ".")
}
