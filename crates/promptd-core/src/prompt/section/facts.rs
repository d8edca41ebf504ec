//! Runtime facts: one line a known fact, then the turn's variables.

use std::borrow::Cow;

use serde_json::Value;

use super::rendered::RenderedSection;
use crate::{
    finding::{Finding, member},
    profile::{Fact, Scope, SectionSpec},
    prompt::scope::{TurnScope, one_line},
};

/// Renders the facts that are known. Every value stays on its line.
pub(super) fn render<'a>(
    spec: &'a SectionSpec,
    header: &str,
    facts: &[Fact],
    scope: &TurnScope<'a>,
) -> RenderedSection<'a> {
    let mut text = String::with_capacity(1024);
    let mut findings = Vec::new();
    text.push_str(header);
    for Fact { label, name, field } in facts {
        let value = value(name, field, scope);
        if !value.is_empty() {
            line(&mut text, label, &value);
        }
    }
    variables(&mut text, scope, &mut findings);
    text.truncate(text.trim_end().len());
    let mut rendered = RenderedSection::included(spec, text);
    rendered.findings.extend(findings);
    rendered
}

fn line(text: &mut String, label: &str, value: &str) {
    text.push_str("- ");
    text.push_str(label);
    text.push(':');
    if !value.is_empty() {
        text.push(' ');
        text.push_str(value);
    }
    text.push('\n');
}

fn value<'s>(name: &str, field: &str, scope: &'s TurnScope<'_>) -> Cow<'s, str> {
    if let Some(text) = scope.text(name, field) {
        return text;
    }
    let value = scope.value(name);
    let value = if field.is_empty() { value } else { value.get_attr(field).unwrap_or_default() };
    match value.kind() {
        minijinja::value::ValueKind::Bool => Cow::Borrowed(if value.is_true() { "yes" } else { "no" }),
        minijinja::value::ValueKind::None | minijinja::value::ValueKind::Undefined => Cow::Borrowed(""),
        _ => Cow::Owned(value.to_string()),
    }
}

fn variables(text: &mut String, scope: &TurnScope<'_>, findings: &mut Vec<Finding>) {
    let settings = &scope.snapshot.settings;
    for (key, value) in &scope.turn.variables {
        let field = member("turn.variables", key);
        let label = one_line(key, settings.max_value_chars, &field, findings);
        let shown = plain(value);
        let shown = one_line(&shown, settings.max_variable_chars, &field, findings);
        if !label.is_empty() {
            line(text, &label, &shown);
        }
    }
}

/// A variable's value: text as it is, everything else as compact JSON.
fn plain(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}
