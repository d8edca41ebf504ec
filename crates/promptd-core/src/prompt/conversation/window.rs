//! The conversation's window: the messages that a prompt carries, and the reports of the rest.

use std::{borrow::Cow, fmt::Write as _};

use super::{message::CarriedSize, units::Unit};
use crate::{
    finding::{Code, Finding, Place, Severity},
    profile::Stability,
    prompt::{
        output::{CarriedConversation, Message, Outcome, SectionReport, Size},
        scope::TrimmedHistory,
    },
    text::thousands,
    turn::{Conversation, ConversationMessage, Role},
};

/// The messages that are carried, and what became of the rest.
#[derive(Debug)]
pub(crate) struct ConversationWindow<'a> {
    /// In order.
    pub messages: Vec<Message<'a>>,
    /// What became of the conversation as a whole.
    pub report: SectionReport<'static>,
    /// One for each message that was cut or lost; positions count from the first carried message.
    pub sections: Vec<SectionReport<'static>>,
    pub findings: Vec<Finding>,
    /// What of the history comes before.
    pub trimmed: TrimmedHistory<'a>,
    /// `None`: no message is carried.
    pub carried: Option<CarriedConversation>,
}

impl ConversationWindow<'_> {
    /// No messages yet.
    pub(super) fn new(report: SectionReport<'static>) -> Self {
        Self {
            messages: Vec::new(),
            report,
            sections: Vec::new(),
            findings: Vec::new(),
            trimmed: TrimmedHistory::default(),
            carried: None,
        }
    }

    /// No messages, for a reason.
    pub(crate) fn omitted(conversation: &Conversation, reason: &'static str) -> Self {
        let original = Size::sum(conversation.messages.iter().map(|message| Size::of(&message.content)));
        Self::new(SectionReport { original, ..report(Outcome::Omitted, reason) })
    }

    /// Reports units of the newest turn as lost, since they do not fit between its user's message and its newest calls.
    pub(super) fn divided(
        &mut self,
        all: &[ConversationMessage],
        units: &[Unit],
        lost: &mut Vec<SectionReport<'static>>,
    ) {
        let mut indices: Vec<usize> = units.iter().flat_map(Unit::indices).collect();
        indices.sort_unstable();
        let Some(&first) = indices.first() else { return };
        let reason = "It belongs to the turn of the user's newest message, which does not fit as a whole.";
        let message = match indices.len() {
            1 => "a message after the user's newest one was left out: their turn does not fit".to_owned(),
            count => {
                format!(
                    "{count} messages after the user's newest one were left out, first this one: their turn does not fit"
                )
            }
        };
        let place = Place::field(format!("turn.conversation.messages[{first}]"));
        self.findings.push(Finding::new(Code::ConversationTruncated, place, message));
        for index in indices {
            let original = Size::of(&all[index].content);
            lost.push(SectionReport { id: message_id(index), original, ..report(Outcome::Dropped, reason) });
        }
    }

    /// Reports the messages at `unpaired` as lost: no provider takes them.
    pub(super) fn unpaired(
        &mut self,
        all: &[ConversationMessage],
        unpaired: &[usize],
        lost: &mut Vec<SectionReport<'static>>,
    ) {
        let Some(first) = unpaired.first() else { return };
        let place = Place::field(format!("turn.conversation.messages[{first}]"));
        let message = match unpaired.len() {
            1 => "a tool message was left out: its call or its result is missing".to_owned(),
            count => {
                format!("{count} tool messages were left out, first this one: their call or their result is missing")
            }
        };
        self.findings.push(Finding::new(Code::ConversationUnpaired, place, message));
        for &index in unpaired {
            let reason = match all[index].role {
                Role::Tool => "The call that it answers is missing, or has other results missing.",
                _ => "Not all of its calls have a result.",
            };
            let original = Size::of(&all[index].content);
            lost.push(SectionReport { id: message_id(index), original, ..report(Outcome::Dropped, reason) });
        }
    }
}

/// The finding of a conversation of which nothing is carried, so that it is not taken for the prompt's.
pub(super) fn none_carried(conversation: &Conversation, severity: Severity) -> Finding {
    let message = match conversation.messages.len() {
        1 => "the conversation's message is not in the prompt: the profile carries none".to_owned(),
        count => format!("the conversation's {count} messages are not in the prompt: the profile carries none"),
    };
    let place = Place::field("turn.conversation.messages");
    Finding { severity, ..Finding::new(Code::ConversationNotCarried, place, message) }
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

/// The finding of a message that is carried in part, as the profile is meant to.
pub(super) fn limited(index: usize, reason: &str) -> Finding {
    let place = Place::field(format!("turn.conversation.messages[{index}]"));
    Finding::new(Code::LimitedByDesign, place, reason.trim_end_matches('.').to_owned())
}

/// The finding of a window that leaves messages out, as the profile is meant to.
pub(super) fn limited_window(all: u64, left_out: u64) -> Finding {
    let (left_out, all) = (thousands(left_out), thousands(all));
    let message = format!("the window leaves out {left_out} of the conversation's {all} messages, the oldest");
    Finding::new(Code::LimitedByDesign, Place::field("turn.conversation.messages"), message)
}

/// The finding of a stored conversation that is too long for one prompt, though the profile would carry all of it.
pub(super) fn unread_messages(count: u64) -> Finding {
    let message =
        format!("the session's {} oldest messages were left out: it is too long for one prompt", thousands(count));
    Finding::new(Code::ConversationTruncated, Place::field("turn.session_id"), message)
}

/// The finding of a message of the role `system`, which a model reads like the prompt's own.
pub(super) fn system_message(index: usize) -> Finding {
    let place = Place::field(format!("turn.conversation.messages[{index}].role"));
    Finding::new(Code::ConversationSystem, place, "the caller's conversation has a message of the role `system`")
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
        max_chars: None,
        stability: Stability::Volatile,
        shared: None,
        spans: Box::default(),
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

/// The report of the window: how many messages are carried, why the others are not, and how long they are.
pub(super) fn summary(
    all: &[ConversationMessage],
    carried: &[usize],
    sizes: &[CarriedSize],
    left_out: &LeftOut,
) -> SectionReport<'static> {
    let mut is_carried = vec![false; all.len()];
    for &index in carried {
        is_carried[index] = true;
    }
    let others = all.iter().zip(is_carried).filter(|(_, is_carried)| !is_carried);
    let others = others.map(|(message, _)| Size::of(&message.content));
    SectionReport {
        original: Size::sum(sizes.iter().map(|size| size.original).chain(others)),
        included: Size::sum(sizes.iter().map(|size| size.included)),
        ..report(Outcome::Included, reason(all.len(), carried.len(), left_out))
    }
}

fn reason(all: usize, kept: usize, left_out: &LeftOut) -> String {
    let LeftOut { duplicates, trimmed, budget, unpaired } = *left_out;
    if kept == all {
        return String::new();
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
    reason + "."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_counts_what_is_left_out() {
        let none = LeftOut::default;
        for (all, kept, left_out, expected) in [
            (0, 0, none(), ""),
            (1, 1, none(), ""),
            (2, 2, none(), ""),
            (2, 1, none(), "1 of 2 messages are carried."),
            (1, 0, none(), "0 of 1 messages are carried."),
            (2, 1, LeftOut { duplicates: 1, ..none() }, "1 of 2 messages are carried, 1 duplicates left out."),
            (
                3,
                2,
                LeftOut { unpaired: 1, ..none() },
                "2 of 3 messages are carried, 1 tool messages without their counterpart left out.",
            ),
            (
                3,
                2,
                LeftOut { trimmed: 1, budget: 1_000, ..none() },
                "2 of 3 messages are carried, the 1 oldest trimmed to 1,000 estimated tokens.",
            ),
        ] {
            assert_eq!(reason(all, kept, &left_out), expected, "{kept} of {all}");
        }
    }
}
