//! The caller's conversation, as a profile carries it: window, order of tool messages, format.

mod tools;

use std::{borrow::Cow, collections::HashSet, fmt::Write as _};

use super::{
    Carried, Message, Outcome, Role, Section, Size, Spoken, Stability,
    answer::measure,
    budget::amount,
    digest,
    scope::{Local, Locals, TurnScope, one_line},
};
use crate::{
    finding::{Code, Finding, Place},
    profile::ConversationSpec,
};

/// The messages that are carried, and what became of the rest.
#[derive(Debug, Default)]
pub struct Conversed<'a> {
    /// In order.
    pub messages: Vec<Message<'a>>,
    /// One for the window, and one for each message that was cut.
    pub sections: Vec<Section>,
    /// What there is to tell.
    pub findings: Vec<Finding>,
}

/// Carries the turn's conversation.
pub fn carry<'a>(spec: &ConversationSpec, scope: &TurnScope<'a>) -> Conversed<'a> {
    let turn = scope.turn;
    let all = &turn.conversation.messages;
    let mut carried = Conversed::default();
    if !spec.stages.is_empty() && !spec.stages.contains(&turn.stage) {
        carried.sections.push(report(Outcome::Omitted, "It is left out of this stage of the turn."));
        return carried;
    }
    if all.is_empty() {
        carried.sections.push(report(Outcome::Omitted, "The turn brings no conversation."));
        return carried;
    }
    let mut kept: Vec<usize> = (0..all.len()).collect();
    if spec.deduplicate {
        let mut seen = HashSet::new();
        kept.retain(|&index| all[index].id.is_empty() || seen.insert(all[index].id.as_str()));
    }
    let duplicates = all.len() - kept.len();
    if let Some(window) = spec.window.as_ref().and_then(|window| amount(window, scope.profile, &scope.inputs)) {
        let window = usize::try_from(window).unwrap_or(usize::MAX);
        kept.drain(..kept.len().saturating_sub(window));
    }
    let in_window = kept.len();
    if spec.paired_tools {
        kept = tools::paired(all, &kept);
    }
    let unpaired = in_window - kept.len();
    if unpaired > 0 {
        let message = format!("{unpaired} tool messages were left out: their call or their result is missing");
        carried.findings.push(Finding::new(Code::ConversationUnpaired, Place::field("turn.conversation"), message));
    }
    carried.sections.push(summary(all.len(), kept.len(), duplicates, unpaired));
    for index in kept {
        let message = message(spec, scope, index, &mut carried.findings);
        carried.messages.push(message);
    }
    carried
}

fn message<'a>(
    spec: &ConversationSpec,
    scope: &TurnScope<'a>,
    index: usize,
    findings: &mut Vec<Finding>,
) -> Message<'a> {
    let spoken = &scope.turn.conversation.messages[index];
    let content = written(spec, scope, spoken, index, findings).map_or(Cow::Borrowed(&*spoken.content), Cow::Owned);
    Message {
        role: spoken.role,
        name: "",
        ephemeral: false,
        digest: digest::message(spoken.role, "", &content),
        size: measure(&content),
        stability: Stability::Volatile,
        spoken: Some(Carried {
            index: u32::try_from(index).unwrap_or(u32::MAX),
            original: spoken,
            unchanged: matches!(content, Cow::Borrowed(_)),
        }),
        content,
    }
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
    let mut text = String::new();
    let names = Locals { own: &own, outer: scope };
    match scope.profile.templates.render(template, &names, &mut text) {
        Ok(()) => Some(text),
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

fn report(outcome: Outcome, reason: impl Into<Cow<'static, str>>) -> Section {
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

fn summary(all: usize, kept: usize, duplicates: usize, unpaired: usize) -> Section {
    if kept == all {
        return report(Outcome::Included, "");
    }
    let mut reason = format!("{kept} of {all} messages are carried");
    for (count, why) in [(duplicates, "duplicates"), (unpaired, "tool messages without their counterpart")] {
        if count > 0 {
            let _ = write!(reason, ", {count} {why} left out");
        }
    }
    report(Outcome::Included, reason + ".")
}
