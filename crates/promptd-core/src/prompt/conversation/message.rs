//! One message as the profile carries it.

use std::{borrow::Cow, sync::Arc};

use super::{
    tool_results,
    window::{ConversationWindow, limited, message_id, report},
};
use crate::{
    finding::{Code, Finding, Place},
    profile::{ConversationSpec, Stability, Step},
    prompt::{
        output::{
            ConversationOrigin, Holder, How, Message, Origin, OriginKind, Outcome, Position, SectionReport, Size, Span,
            digest,
        },
        scope::{Found, Local, Locals, TurnScope, one_line},
        trace::Trace,
    },
    text::clamped,
    turn::{ConversationMessage, Role},
};

/// The size of a message: of what there was to say, and of what was said.
pub(super) struct CarriedSize {
    pub original: Size,
    pub included: Size,
}

/// Adds the message at `index` to the window: a long tool result cut, the rest in the profile's form.
pub(super) fn carry<'a>(
    spec: &ConversationSpec,
    scope: &TurnScope<'a>,
    index: usize,
    result_limit: u64,
    window: &mut ConversationWindow<'a>,
) -> CarriedSize {
    let message = &scope.turn.conversation.messages[index];
    let mut cut_size = None;
    let content = if let Some(cut) = tool_results::shortened(message, result_limit) {
        let (original, included) = (Size::of(&message.content), Size::of(&message.content[..cut.head]));
        cut_size = Some(CarriedSize { original, included });
        let end = clamped(cut.text.len());
        let spans = if scope.traced { spans(message, index, cut.head, cut.text.len()) } else { Box::default() };
        let at = clamped(window.messages.len());
        window.findings.push(limited(index, &cut.reason));
        window.sections.push(SectionReport {
            id: message_id(index),
            position: Some(Position { holder: Holder::Message(at), bytes: 0..end }),
            original,
            included,
            spans,
            ..report(Outcome::Included, cut.reason)
        });
        Cow::Owned(cut.text)
    } else {
        let written = written(spec, scope, message, index, &mut window.findings);
        written.map_or(Cow::Borrowed(&*message.content), Cow::Owned)
    };
    let size = Size::of(&content);
    window.messages.push(Message {
        role: message.role,
        name: "",
        ephemeral: false,
        digest: digest::message(message.role, "", digest::chunk("", &content)),
        cache_prefix: Cow::default(),
        memo: None,
        size,
        stability: Stability::Volatile,
        origin: Some(ConversationOrigin {
            index: clamped(index),
            message,
            unchanged: matches!(content, Cow::Borrowed(_)),
        }),
        content,
    });
    cut_size.unwrap_or(CarriedSize { original: size, included: size })
}

/// A message's text as the profile writes it; `None`: as it is.
fn written(
    spec: &ConversationSpec,
    scope: &TurnScope<'_>,
    message: &ConversationMessage,
    index: usize,
    findings: &mut Vec<Finding>,
) -> Option<String> {
    let template = spec.template.as_ref()?;
    if !matches!(message.role, Role::User | Role::Assistant) || message.content.is_empty() {
        return None;
    }
    let field = format!("turn.conversation.messages[{index}].name");
    let name = one_line(&message.name, scope.snapshot.settings.max_value_chars, &field, findings);
    let speaker = if name.is_empty() { message.role.as_str() } else { &name };
    let time = message.time.map(|time| scope.local(time)).unwrap_or_default();
    let own =
        [("content", Local::Text(&message.content)), ("speaker", Local::Text(speaker)), ("time", Local::Text(&time))];
    let origins = |_: &str, _: &[Step]| Found::worked_out(Origin::new(OriginKind::Turn, &*field));
    let names = Locals { own: &own, outer: scope, origins: &origins };
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

/// The spans of a tool result that is `len` bytes long, of which `head` are its own.
fn spans(message: &ConversationMessage, index: usize, head: usize, len: usize) -> Box<[Span]> {
    let origin = Origin::new(OriginKind::Turn, format!("turn.conversation.messages[{index}].content"));
    let (origin, shown, all) = (Arc::new(origin), head as u64, message.content.len() as u64);
    let mut trace = Trace::of(head, &origin, 0..shown, How::Cut);
    trace.extend(Trace::of(len - head, &origin, shown..all, How::Marker));
    trace.spans(0)
}
