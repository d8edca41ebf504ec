//! Runtime facts: one line a known fact, then the turn's variables.

use std::{borrow::Cow, sync::Arc};

use serde_json::Value;

use super::rendered::RenderedSection;
use crate::{
    finding::{Finding, member},
    profile::{Fact, Scope, SectionSpec, Step},
    prompt::{
        output::{How, Origin, OriginKind},
        scope::{Found, Places, TurnScope, one_line},
        trace::{Text, Trace},
    },
};

/// Renders the facts that are known. Every value stays on its line.
pub(super) fn render<'a>(
    spec: &'a SectionSpec,
    header: &str,
    facts: &[Fact],
    scope: &TurnScope<'a>,
) -> RenderedSection<'a> {
    let own = || scope.own(spec);
    let mut lines = Lines { text: scope.new_text(1024), own: &own };
    let mut findings = Vec::new();
    lines.own(header);
    for Fact { lead, name, field } in facts {
        let value = value(name, field, scope);
        if !value.is_empty() {
            lines.own(lead);
            lines.value(&value, || {
                let step = (!field.is_empty()).then(|| Step::Field(field.clone()));
                scope.found(name, step.as_slice())
            });
            lines.own("\n");
        }
    }
    variables(&mut lines, scope, &mut findings);
    let mut text = lines.text;
    text.truncate(text.as_str().trim_end().len());
    let mut rendered = RenderedSection::included(spec, text);
    rendered.findings.extend(findings);
    rendered
}

/// The lines so far.
struct Lines<'l> {
    text: Text,
    /// The profile, as the origin of what is its own.
    own: &'l dyn Fn() -> Arc<Origin>,
}

impl Lines<'_> {
    /// Adds a text of the profile's own.
    fn own(&mut self, text: &str) {
        self.text.push(text, || Trace::written(text.len(), &(self.own)()));
    }

    fn value(&mut self, value: &str, found: impl FnOnce() -> Found) {
        self.text.push(value, || {
            let found = found();
            found.text.map_or_else(
                || Trace::written(value.len(), &found.origin),
                |text| text.trace().cloned().unwrap_or_default().through(text.as_str(), value, How::Cleaned),
            )
        });
    }
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

fn variables(lines: &mut Lines<'_>, scope: &TurnScope<'_>, findings: &mut Vec<Finding>) {
    let settings = &scope.snapshot.settings;
    for (key, value) in &scope.turn.variables {
        let field = member("turn.variables", key);
        let label = one_line(key, settings.max_value_chars, &field, findings);
        let plain = plain(value);
        let shown = one_line(&plain, settings.max_variable_chars, &field, findings);
        if !label.is_empty() {
            let origin = || Origin::new(OriginKind::Turn, &*field);
            // The field's bytes are those of the value; the key is in none of them.
            let of_key = || Found::worked_out(origin());
            let of_value = || match value {
                Value::String(text) => Found::cleaned(origin(), text, text),
                _ => Found::worked_out(origin()),
            };
            lines.own("- ");
            lines.value(&label, of_key);
            lines.own(if shown.is_empty() { ":" } else { ": " });
            lines.value(&shown, of_value);
            lines.own("\n");
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
