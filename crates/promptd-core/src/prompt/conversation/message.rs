//! One message as the profile carries it.

use std::borrow::Cow;

use super::{Conversed, cut_finding, message_id, report, tool_results};
use crate::{
    finding::{Code, Finding, Place},
    profile::ConversationSpec,
    profile::Stability,
    prompt::{
        Carried, Message, Outcome, Section,
        answer::measure,
        digest,
        locals::{Local, Locals},
        one_line::one_line,
        scope::TurnScope,
    },
    text::clamped,
    turn::{Role, Spoken},
};

/// Adds the message at `index` to what is carried: a long tool result cut, the rest in the profile's form.
pub(super) fn carry<'a>(
    spec: &ConversationSpec,
    scope: &TurnScope<'a>,
    index: usize,
    result_limit: u64,
    carried: &mut Conversed<'a>,
) {
    let spoken = &scope.turn.conversation.messages[index];
    let content = if let Some(cut) = tool_results::shortened(spoken, result_limit) {
        let included = measure(&spoken.content[..cut.head]);
        let end = clamped(cut.text.len());
        let at = clamped(carried.messages.len());
        carried.findings.push(cut_finding(index, &cut.reason));
        carried.sections.push(Section {
            id: message_id(index),
            place: Some((at, 0..end)),
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
        memo: None,
        size: measure(&content),
        stability: Stability::Volatile,
        spoken: Some(Carried {
            index: clamped(index),
            original: spoken,
            unchanged: matches!(content, Cow::Borrowed(_)),
        }),
        content,
    });
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
