//! The caller's conversation, as a profile carries it: duplicates, window, trimming, tool messages, format.

pub mod estimate;
pub mod segments;
mod tool_results;
mod tools;
mod trim;

use std::{borrow::Cow, collections::HashMap, fmt::Write as _};

use super::{
    Carried, Message, Outcome, Role, Section, Size, Spoken, Stability,
    answer::measure,
    budget::{amount, share},
    digest,
    scope::{Local, Locals, TurnScope, one_line},
};
use crate::{
    finding::{Code, Finding, Place},
    profile::{ConversationSpec, TrimSpec},
    text::thousands,
};

/// The messages that are carried, and what became of the rest.
#[derive(Debug, Default)]
pub struct Conversed<'a> {
    /// In order.
    pub messages: Vec<Message<'a>>,
    /// One for the window, and one for each message that was cut; places count from the first carried message.
    pub sections: Vec<Section<'static>>,
    /// What there is to tell.
    pub findings: Vec<Finding>,
    /// Set where the profile trims and messages of the history are left out.
    pub trimmed: Option<Trimmed>,
}

/// What a profile that trims leaves out at the front of the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trimmed {
    /// How many messages of the whole history come before the first that is carried.
    pub messages: u64,
    /// How many tokens their summaries may take.
    pub summary_budget: u64,
}

/// What is told where the profile has no place for a conversation.
pub fn not_carried() -> Conversed<'static> {
    without("The profile has no place for a conversation: the caller adds it.")
}

fn without(reason: &'static str) -> Conversed<'static> {
    Conversed { sections: vec![report(Outcome::Omitted, reason)], ..Conversed::default() }
}

/// Carries the turn's conversation.
pub fn carry<'a>(spec: &ConversationSpec, scope: &TurnScope<'a>) -> Conversed<'a> {
    let turn = scope.turn;
    let all = &turn.conversation.messages;
    let mut carried = Conversed::default();
    if let Some(when) = &spec.when
        && scope.profile.templates.holds(when, scope) != Ok(true)
    {
        return without("The profile has another message in its place this turn.");
    }
    if !spec.stages.is_empty() && !spec.stages.contains(&turn.stage) {
        carried.sections.push(report(Outcome::Omitted, "It is left out of this stage of the turn."));
        return carried;
    }
    if all.is_empty() {
        carried.sections.push(report(Outcome::Omitted, "The turn brings no conversation."));
        return carried;
    }
    let number = |of: &Option<_>| of.as_ref().and_then(|of| amount(of, scope.profile, &scope.inputs));
    let mut left_out = LeftOut::default();
    let mut kept: Vec<usize> = (0..all.len()).collect();
    let mut lost = Vec::new();
    if spec.deduplicate {
        kept = distinct(all, &mut lost, &mut carried.findings);
        left_out.duplicates = all.len() - kept.len();
    }
    if let Some(window) = number(&spec.window) {
        let window = usize::try_from(window).unwrap_or(usize::MAX);
        kept.drain(..kept.len().saturating_sub(window));
    }
    let result_limit = number(&spec.max_tool_result_chars).unwrap_or(0);
    if let Some(trim) = &spec.trim {
        let budget = TrimBudget::of(trim, scope);
        left_out.trimmed = trim_front(scope, &kept, result_limit, budget.raw);
        left_out.budget = budget.raw;
        kept.drain(..left_out.trimmed);
        let before = kept.first().map_or(0, |&index| position(scope, index));
        carried.trimmed = (before > 0 && budget.summaries > 0)
            .then_some(Trimmed { messages: before, summary_budget: budget.summaries });
    }
    if spec.paired_tools {
        let before = kept.len();
        kept = tools::paired(all, &kept);
        left_out.unpaired = before - kept.len();
    }
    if left_out.unpaired > 0 {
        let message =
            format!("{} tool messages were left out: their call or their result is missing", left_out.unpaired);
        carried.findings.push(Finding::new(Code::ConversationUnpaired, Place::field("turn.conversation"), message));
    }
    carried.sections.push(summary(all.len(), kept.len(), &left_out));
    carried.sections.append(&mut lost);
    for index in kept {
        carry_one(spec, scope, index, result_limit, &mut carried);
    }
    carried
}

/// The messages less those with the id of an earlier one. One that says something else than the earlier is a loss.
fn distinct(all: &[Spoken], lost: &mut Vec<Section<'static>>, findings: &mut Vec<Finding>) -> Vec<usize> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let mut kept = Vec::with_capacity(all.len());
    for (index, message) in all.iter().enumerate() {
        let first = if message.id.is_empty() { index } else { *seen.entry(&message.id).or_insert(index) };
        if first == index {
            kept.push(index);
        } else if !same(message, &all[first]) {
            let reason = format!("It has the id of message {first}, which says something else and is kept.");
            findings.push(cut_finding(index, &reason));
            let dropped = Section { original: measure(&message.content), ..report(Outcome::Dropped, reason) };
            lost.push(Section { id: message_id(index), ..dropped });
        }
    }
    kept
}

fn same(one: &Spoken, other: &Spoken) -> bool {
    one.role == other.role
        && one.content == other.content
        && one.tool_call_id == other.tool_call_id
        && one.tool_calls == other.tool_calls
}

/// The estimated tokens that a profile has for messages and for summaries.
struct TrimBudget {
    raw: u64,
    summaries: u64,
}

impl TrimBudget {
    /// Without segments there is nothing to summarise with: all of it is for messages.
    fn of(trim: &TrimSpec, scope: &TurnScope<'_>) -> Self {
        let max = amount(&trim.max_tokens, scope.profile, &scope.inputs).unwrap_or(0);
        let share = share(&trim.summary_budget, scope.profile, &scope.inputs);
        if scope.turn.conversation.segments.is_empty() || share == 0.0 {
            return Self { raw: max, summaries: 0 };
        }
        Self { raw: part(max, 1.0 - share), summaries: part(max, share) }
    }
}

/// A part of a whole, rounded half up.
fn part(whole: u64, share: f64) -> u64 {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a budget beyond 2^53 tokens has no use for its last digits; neither factor is negative"
    )]
    let part = (whole as f64 * share + 0.5).floor() as u64;
    part
}

/// How many of the messages are trimmed.
fn trim_front(scope: &TurnScope<'_>, kept: &[usize], result_limit: u64, budget: u64) -> usize {
    let conversation = &scope.turn.conversation;
    let of = |index: &usize| &conversation.messages[*index];
    let size = |message: &Spoken| match shortened(message, result_limit) {
        Some(cut) => estimate::message(message, &cut.text),
        None => estimate::message(message, &message.content),
    };
    let sizes: Vec<u64> = kept.iter().map(|index| size(of(index))).collect();
    let users: Vec<bool> = kept.iter().map(|index| of(index).role == Role::User).collect();
    let positions: Vec<u64> = kept.iter().map(|&index| position(scope, index)).collect();
    let history = trim::History {
        sizes: &sizes,
        users: &users,
        positions: &positions,
        length: position(scope, conversation.messages.len()),
        ends: &segments::ends(&conversation.segments),
    };
    history.start(budget)
}

/// A message's index in the whole history.
fn position(scope: &TurnScope<'_>, index: usize) -> u64 {
    scope.turn.conversation.first_index.saturating_add(index as u64)
}

fn shortened(spoken: &Spoken, limit: u64) -> Option<tool_results::Shortened> {
    if spoken.role == Role::Tool { tool_results::shorten(&spoken.content, limit) } else { None }
}

fn carry_one<'a>(
    spec: &ConversationSpec,
    scope: &TurnScope<'a>,
    index: usize,
    result_limit: u64,
    carried: &mut Conversed<'a>,
) {
    let spoken = &scope.turn.conversation.messages[index];
    let content = if let Some(cut) = shortened(spoken, result_limit) {
        let included = measure(&spoken.content[..cut.head]);
        let end = u32::try_from(cut.text.len()).unwrap_or(u32::MAX);
        let at = u32::try_from(carried.messages.len()).unwrap_or(u32::MAX);
        carried.findings.push(cut_finding(index, &cut.reason));
        carried.sections.push(Section {
            id: message_id(index),
            place: (included.bytes > 0).then_some((at, 0..end)),
            original: measure(&spoken.content),
            included,
            ..report(Outcome::Truncated, cut.reason)
        });
        Cow::Owned(cut.text)
    } else {
        let written = written(spec, scope, spoken, index, &mut carried.findings);
        written.map_or(Cow::Borrowed(&*spoken.content), Cow::Owned)
    };
    carried.messages.push(Message {
        role: spoken.role,
        name: "",
        ephemeral: false,
        digest: digest::message(spoken.role, "", &[digest::chunk("", &content)]),
        front: Cow::default(),
        encoded: None,
        size: measure(&content),
        stability: Stability::Volatile,
        spoken: Some(Carried {
            index: u32::try_from(index).unwrap_or(u32::MAX),
            original: spoken,
            unchanged: matches!(content, Cow::Borrowed(_)),
        }),
        content,
    });
}

fn message_id(index: usize) -> Cow<'static, str> {
    format!("conversation/{index}").into()
}

fn cut_finding(index: usize, reason: &str) -> Finding {
    let place = Place::field(format!("turn.conversation.messages[{index}]"));
    Finding::new(Code::ConversationTruncated, place, reason.trim_end_matches('.').to_owned())
}

/// A message's text as the profile writes it; `None`: as it is.
fn written(
    spec: &ConversationSpec,
    scope: &TurnScope<'_>,
    spoken: &Spoken,
    index: usize,
    findings: &mut Vec<Finding>,
) -> Option<String> {
    let template = spec.template.as_ref()?;
    if !matches!(spoken.role, Role::User | Role::Assistant) || spoken.content.is_empty() {
        return None;
    }
    let field = format!("turn.conversation.messages[{index}].name");
    let name = one_line(&spoken.name, scope.snapshot.settings.max_value_chars, &field, findings);
    let speaker = if name.is_empty() { spoken.role.as_str() } else { &name };
    let time = spoken.time.map(|time| scope.local(time)).unwrap_or_default();
    let own =
        [("content", Local::Text(&spoken.content)), ("speaker", Local::Text(speaker)), ("time", Local::Text(&time))];
    let names = Locals { own: &own, outer: scope };
    match scope.profile.templates.render(template, &names) {
        Ok(text) => Some(text),
        Err(error) => {
            let field = format!("turn.conversation.messages[{index}]");
            findings.push(Finding::new(
                Code::TemplateFailed,
                Place::field(field),
                format!("its template failed: {error}"),
            ));
            None
        }
    }
}

fn report(outcome: Outcome, reason: impl Into<Cow<'static, str>>) -> Section<'static> {
    Section {
        id: Cow::Borrowed("conversation"),
        outcome,
        reason: reason.into(),
        place: None,
        source: None,
        original: Size::default(),
        included: Size::default(),
        stability: Stability::Volatile,
        shared: None,
    }
}

/// How many messages are left out, by why.
#[derive(Default)]
struct LeftOut {
    duplicates: usize,
    trimmed: usize,
    budget: u64,
    unpaired: usize,
}

fn summary(all: usize, kept: usize, left_out: &LeftOut) -> Section<'static> {
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

#[cfg(test)]
mod tests;
