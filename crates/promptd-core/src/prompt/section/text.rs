//! Sections that are one template, alone or over a file of the workspace.

use super::{block::TextBlock, rendered::RenderedSection};
use crate::{
    profile::{Body, SectionSpec, Step, Template},
    prompt::{
        document::{self, SKIPPED, cut, cut_reason, dropped, no_room, original, shown_size, source, truncated},
        output::{How, Origin, OriginKind, Size},
        scope::{Found, Local, Locals, Places, TurnScope, path},
        trace::{Text, Trace, files},
    },
    text::{
        cut::{self, Cut, Excerpt, Extent, Keep},
        measure::chars,
    },
};

/// Renders a template.
pub(super) fn render<'a>(
    spec: &'a SectionSpec,
    template: &Template,
    scope: &TurnScope<'a>,
    names: &dyn Places,
) -> RenderedSection<'a> {
    match scope.render(spec, template, names) {
        Ok(text) => RenderedSection::included(spec, text),
        Err(error) => RenderedSection::failed(spec, scope, &error),
    }
}

/// The name whose value is cut where there is room for a part of it alone.
pub(super) const SUMMARY: &str = "conversation_summary";

/// Renders a template. Where it shows the turn's summary, that is cut to `room` characters.
pub(super) fn render_in<'a>(
    spec: &'a SectionSpec,
    template: &Template,
    scope: &TurnScope<'a>,
    room: Option<usize>,
) -> RenderedSection<'a> {
    let Some(room) = room else { return render(spec, template, scope, scope) };
    let summary = scope.turn.conversation_summary.trim();
    let extent = Extent::Whole { chars: chars(summary) };
    let excerpt = match cut::cut(summary, room, Keep::Head, SUMMARY, extent) {
        Cut::Whole(_) => return render(spec, template, scope, scope),
        Cut::Dropped => {
            return TextBlock::dropped(&*spec.id, spec.stability, no_room(room), Size::of(summary)).into();
        }
        Cut::Part(excerpt) => excerpt,
    };
    let own = [(SUMMARY, Local::Text(&excerpt.text))];
    let origins = |_: &str, _: &[Step]| found_summary(scope, &excerpt);
    let mut rendered = render(spec, template, scope, &Locals { own: &own, outer: scope, origins: &origins });
    if let Some(block) = rendered.blocks.pop() {
        let reason = format!("{}.", excerpt.text[excerpt.marker.clone()].trim_matches(['[', ']']));
        rendered.blocks.push(block.truncated(reason, Size::of(summary), shown_size(&excerpt)));
    }
    rendered
}

/// The part of the turn's summary that is shown, with its trace. What the marker says was left out is its source.
fn found_summary(scope: &TurnScope<'_>, excerpt: &Excerpt) -> Found {
    let found = scope.found(SUMMARY, &[]);
    let Some(whole) = found.text.as_ref().and_then(|text| text.trace()) else { return found };
    let raw = &scope.turn.conversation_summary;
    let lead = raw.len() - raw.trim_start().len();
    let end = (lead + raw.trim().len()) as u64;
    let mut trace = Trace::default();
    let mut from = lead as u64;
    for kept in &excerpt.kept {
        trace.extend(whole.slice(kept.source.clone()).cut());
        from = (lead + kept.source.end) as u64;
    }
    trace.extend(Trace::of(excerpt.text.len() - trace.len(), &found.origin, from..end, How::Marker));
    Found::traced(&found.origin, Text::traced(excerpt.text.clone(), trace))
}

/// Renders a template over the section's file, of which at most `room` characters are shown.
pub(super) fn from_file<'a>(spec: &'a SectionSpec, scope: &TurnScope<'a>, room: Option<usize>) -> RenderedSection<'a> {
    let (Some(pattern), Body::Text(template)) = (&spec.file, &spec.body) else { return RenderedSection::omitted(spec) };
    let document = match scope.files.find(pattern) {
        Ok(document) => document,
        Err(path) => return missing(spec, scope, &path),
    };
    if scope.files.skips(&document.path) {
        return TextBlock::omitted(&*spec.id, spec.stability, SKIPPED).into();
    }
    let context = &scope.snapshot.manifest.context;
    let (own_limit, limit) = if spec.cut {
        let own = context.max_chars_of(&document.path);
        (own, own)
    } else {
        (scope.files.own_limit(&document.path), scope.files.limit(&document.path))
    };
    let limit = limit.min(room.unwrap_or(usize::MAX));
    let held = cut(document, limit, context);
    let text = match &held {
        Cut::Whole(text) => text,
        Cut::Part(excerpt) => excerpt.text.as_str(),
        Cut::Dropped => "",
    };
    let tasks = if document.has_tasks() { "yes" } else { "" };
    let fields = [("path", &*document.path), ("text", text), ("tasks", tasks)];
    let own = [("file", Local::Texts(&fields))];
    let origins = |name: &str, steps: &[Step]| match steps {
        [Step::Field(field)] if field == "text" => {
            Found::traced(&files::origin(source(document)), document::traced(document, &held))
        }
        _ => fact(name, steps),
    };
    let names = Locals { own: &own, outer: scope, origins: &origins };
    if let Some(left_out) = RenderedSection::unless(spec, scope, &names) {
        return left_out;
    }
    let source = source(document);
    if held == Cut::Dropped {
        let block = TextBlock::dropped(&*spec.id, spec.stability, no_room(limit), original(document));
        let block = block.made_from(source).of_at_most(own_limit);
        return RenderedSection { blocks: block.into(), findings: vec![dropped(document)] };
    }
    let mut rendered = render(spec, template, scope, &names);
    if let (Some(block), false) = (rendered.blocks.pop(), document.is_blank() && !spec.keep_empty) {
        let mut block = block.made_from(source).with_part_of_at_most(own_limit, document.chars);
        if let Cut::Part(excerpt) = &held {
            block = block.of_at_most(own_limit).truncated(
                cut_reason(document, excerpt.shown),
                original(document),
                shown_size(excerpt),
            );
            rendered.findings.push(truncated(document, excerpt.shown));
        }
        rendered.blocks.push(block);
        rendered.findings.extend(document.findings.iter().cloned());
    } else {
        rendered = RenderedSection::omitted(spec);
    }
    rendered
}

/// What is known of a file besides its text.
fn fact(name: &str, steps: &[Step]) -> Found {
    Found::worked_out(Origin::new(OriginKind::Fact, path(name, steps)))
}

/// A section whose file is not there: its fallback, else omitted; dropped where the file could not be read.
fn missing<'a>(spec: &'a SectionSpec, scope: &TurnScope<'a>, path: &str) -> RenderedSection<'a> {
    let Some(fallback) = spec.fallback.as_ref().filter(|_| !scope.snapshot.unusable.contains_key(path)) else {
        return TextBlock::absent(&*spec.id, spec.stability, scope.snapshot, path).into();
    };
    let own = [("file", Local::Texts(&[("path", ""), ("text", ""), ("tasks", "")]))];
    if let Some(left_out) = RenderedSection::unless(spec, scope, &Locals { own: &own, outer: scope, origins: &fact }) {
        return left_out;
    }
    let mut rendered = render(spec, fallback, scope, scope);
    for block in rendered.blocks.iter_mut().filter(|block| !block.text().is_empty()) {
        block.report.reason = format!("The workspace has no {path}; the profile's own text is used instead.").into();
    }
    rendered
}
