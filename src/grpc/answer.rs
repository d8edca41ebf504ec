//! From an assembled [`Prompt`] to the contract's answer: the one place that copies a prompt's text.

use super::{ask::Shape, findings::findings};
use crate::{
    prompt::{CachePlan, Message, Outcome, Prompt, Role, Section, Size, Stability, ToolCall},
    proto,
};

/// The whole answer, as a caller has it that holds nothing yet.
#[must_use]
pub fn response(prompt: &Prompt<'_>, revision: &str, profile: &str) -> proto::AssemblePromptResponse {
    answer(prompt, None, revision, profile, &Shape::default())
}

/// The answer to a request of that shape.
pub(super) fn answer(
    prompt: &Prompt<'_>,
    rendered: Option<String>,
    revision: &str,
    profile: &str,
    shape: &Shape,
) -> proto::AssemblePromptResponse {
    let whole = proto::AssemblePromptResponse {
        findings: findings(prompt.findings.iter().map(AsRef::as_ref)),
        revision: revision.to_owned(),
        digest: prompt.digest.to_hex(),
        profile: profile.to_owned(),
        size: Some(size(prompt.size)),
        cache_plan: Some(cache_plan(&prompt.cache_plan)),
        ..Default::default()
    };
    if shape.held.binary_search(&prompt.digest).is_ok() {
        return proto::AssemblePromptResponse { not_modified: true, ..whole };
    }
    let sections = if shape.omit_sections { &[][..] } else { &prompt.sections };
    proto::AssemblePromptResponse {
        messages: prompt.messages.iter().map(|each| message(each, shape)).collect(),
        sections: sections.iter().map(|section| report(section)).collect(),
        rendered: rendered.unwrap_or_default(),
        ..whole
    }
}

fn message(message: &Message<'_>, shape: &Shape) -> proto::PromptMessage {
    let not_modified = shape.held.binary_search(&message.digest).is_ok();
    let referenced = shape.reference_conversation && message.spoken.is_some_and(|spoken| spoken.unchanged);
    let content = if not_modified || referenced { String::new() } else { message.content.clone().into_owned() };
    let original = message.spoken.map(|spoken| spoken.original);
    proto::PromptMessage {
        role: role(message.role).into(),
        content,
        name: message.name.to_owned(),
        ephemeral: message.ephemeral,
        tool_call_id: original.map(|spoken| spoken.tool_call_id.clone()).unwrap_or_default(),
        tool_calls: original.iter().flat_map(|spoken| &spoken.tool_calls).map(tool_call).collect(),
        digest: message.digest.to_hex(),
        not_modified,
        speaker: original.map(|spoken| spoken.name.clone()).unwrap_or_default(),
        conversation_index: message.spoken.map(|spoken| spoken.index),
    }
}

fn report(section: &Section) -> proto::SectionReport {
    let (message_index, range) = section.place.clone().unzip();
    let range = range.unwrap_or_default();
    proto::SectionReport {
        id: section.id.clone().into_owned(),
        outcome: outcome(section.outcome).into(),
        reason: section.reason.clone().into_owned(),
        message_index,
        byte_start: range.start,
        byte_end: range.end,
        source: section
            .source
            .as_ref()
            .map(|source| proto::Source { path: source.path.to_string(), sha256: source.sha256.to_string() }),
        original_size: Some(size(section.original)),
        included_size: Some(size(section.included)),
        stability: stability(section.stability).into(),
    }
}

fn tool_call(call: &ToolCall) -> proto::ToolCall {
    proto::ToolCall { id: call.id.clone(), name: call.name.clone(), arguments_json: call.arguments_json.clone() }
}

fn cache_plan(plan: &CachePlan) -> proto::CachePlan {
    proto::CachePlan {
        stable_messages: plan.stable_messages,
        stable_bytes: plan.stable_bytes,
        stable_digest: plan.stable_digest.to_hex(),
    }
}

/// A size.
pub(super) fn size(size: Size) -> proto::Size {
    proto::Size { bytes: size.bytes, chars: size.chars, tokens: size.tokens }
}

/// A stability.
pub(super) fn stability(stability: Stability) -> proto::Stability {
    match stability {
        Stability::Stable => proto::Stability::Stable,
        Stability::Session => proto::Stability::Session,
        Stability::Volatile => proto::Stability::Volatile,
    }
}

fn role(role: Role) -> proto::Role {
    match role {
        Role::System => proto::Role::System,
        Role::User => proto::Role::User,
        Role::Assistant => proto::Role::Assistant,
        Role::Tool => proto::Role::Tool,
    }
}

fn outcome(outcome: Outcome) -> proto::Outcome {
    match outcome {
        Outcome::Included => proto::Outcome::Included,
        Outcome::Truncated => proto::Outcome::Truncated,
        Outcome::Omitted => proto::Outcome::Omitted,
        Outcome::Dropped => proto::Outcome::Dropped,
    }
}
