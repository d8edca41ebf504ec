//! Rendering a section's templates, with spans where they are asked for.

use std::sync::Arc;

use super::{Found, Places, TurnScope};
use crate::{
    profile::{SectionSpec, Template, WrittenValue},
    prompt::{
        output::{How, Origin},
        trace::{Text, Trace},
    },
};

impl TurnScope<'_> {
    /// The rendered text of a section's template. The error is for the profile's author.
    pub(crate) fn render(&self, spec: &SectionSpec, template: &Template, names: &dyn Places) -> Result<Text, String> {
        let mut text = self.new_text(template.room());
        self.render_into(&mut text, spec, template, names)?;
        Ok(text)
    }

    /// The same, added to a text; nothing is added where it fails.
    pub(crate) fn render_into(
        &self,
        text: &mut Text,
        spec: &SectionSpec,
        template: &Template,
        names: &dyn Places,
    ) -> Result<(), String> {
        let render = |string: &mut String| self.profile.templates.render_into(template, names, string);
        text.write(render, |written| self.trace(spec, template, names, written))
    }

    /// The same of a template that may be absent: then it is empty.
    pub(crate) fn render_any(&self, spec: &SectionSpec, template: Option<&Template>) -> Result<Text, String> {
        template.map_or_else(|| Ok(self.new_text(0)), |template| self.render(spec, template, self))
    }

    /// A text to write, with room for that many bytes.
    pub(crate) fn new_text(&self, capacity: usize) -> Text {
        Text::new(self.traced, capacity)
    }

    /// The profile, as the origin of a section's own text.
    pub(crate) fn own(&self, spec: &SectionSpec) -> Arc<Origin> {
        Arc::new(Origin::profile(self.profile.name.as_str(), &*spec.id))
    }

    /// Where a template's text came from. What cannot be told is the template's own.
    fn trace(&self, spec: &SectionSpec, template: &Template, names: &dyn Places, text: &str) -> Trace {
        let own = self.own(spec);
        let written = self.profile.templates.write(template, names).filter(|written| written.text == text);
        let Some(written) = written else { return Trace::written(text.len(), &own) };
        let mut trace = Trace::default();
        for part in written.parts {
            let start = trace.len();
            let bytes = &text[start..start + part.len];
            trace.extend(match part.value {
                None => Trace::written(bytes.len(), &own),
                Some(value) => of_value(&value, &names.found(&value.place.name, &value.place.steps), bytes, &own),
            });
        }
        trace
    }
}

/// Where what was written of a value came from.
fn of_value(value: &WrittenValue, found: &Found, bytes: &str, own: &Arc<Origin>) -> Trace {
    let Some(text) = found.text.as_ref().filter(|_| value.exact) else {
        return Trace::written(bytes.len(), &found.origin);
    };
    let from = text.trace().cloned().unwrap_or_default();
    let attribute = value.attribute.as_ref().map(|name| format!(" {name}=\""));
    let inner = attribute.as_ref().and_then(|start| Some((start, bytes.strip_prefix(&**start)?.strip_suffix('"')?)));
    let Some((start, inner)) = inner else { return from.through(text.as_str(), bytes, How::Escaped) };
    let mut trace = Trace::written(start.len(), own);
    trace.extend(from.through(text.as_str(), inner, How::Escaped));
    trace.extend(Trace::written(1, own));
    trace
}
