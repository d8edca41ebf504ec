//! The summaries of what the conversation leaves out at its front.

use super::{block::TextBlock, rendered::RenderedSection};
use crate::{
    profile::{SectionSpec, Step, SummaryTree, Template},
    prompt::{
        output::{Origin, OriginKind, Size},
        scope::{Found, Local, Locals, TrimmedHistory, TurnScope},
        trace::Text,
    },
    text::measure::chars,
    time::Moment,
    turn::Segment,
};

/// Renders the header, one block for each summary, and the footer with the last. Summaries whose messages
/// another one covers are reported and not shown.
///
/// Of more than `room` characters the oldest summaries are left out.
pub(super) fn render<'a>(
    spec: &'a SectionSpec,
    tree: &SummaryTree,
    scope: &TurnScope<'a>,
    room: Option<usize>,
) -> RenderedSection<'a> {
    if scope.trimmed.summaries.is_empty() {
        return RenderedSection::omitted(spec);
    }
    blocks(spec, tree, scope, room.unwrap_or(usize::MAX))
        .unwrap_or_else(|error| RenderedSection::failed(spec, scope, &error))
}

fn blocks<'a>(
    spec: &'a SectionSpec,
    tree: &SummaryTree,
    scope: &TurnScope<'a>,
    room: usize,
) -> Result<RenderedSection<'a>, String> {
    let TrimmedHistory { messages, summaries, shadowed, uncovered } = &scope.trimmed;
    let entries: Vec<Text> =
        summaries.iter().map(|segment| entry(spec, &tree.entry, segment, scope)).collect::<Result<_, _>>()?;
    let mut used = 0;
    let fits = |text: &&Text| {
        used += chars(text.as_str());
        used <= room
    };
    let older = entries.len() - entries.iter().rev().take_while(fits).count();
    let left_out = summaries[..older].iter().zip(&entries).map(|(segment, text)| {
        let reason = "There is room for newer summaries only.";
        TextBlock::dropped(id(spec, segment), spec.stability, reason, Size::of(text.as_str()))
    });
    if older == summaries.len() {
        let head = TextBlock::omitted(&*spec.id, spec.stability, "There is no room for a summary.");
        return Ok(RenderedSection { blocks: std::iter::once(head).chain(left_out).collect(), findings: Vec::new() });
    }
    let mut head = TextBlock::included(&*spec.id, spec.stability, scope.render_any(spec, tree.header.as_ref())?);
    if *uncovered > 0 {
        head.report.reason =
            format!("{uncovered} of the {messages} messages before are in none of the summaries.").into();
    }
    let mut separator = if head.text().is_empty() { None } else { Some(String::new()) };
    let mut blocks = vec![head];
    blocks.extend(left_out);
    for (segment, text) in summaries[older..].iter().zip(entries[older..].iter().cloned()) {
        let block = TextBlock::included(id(spec, segment), spec.stability, text);
        blocks.push(block.separated_by(separator.replace(tree.between.clone())));
    }
    if let Some(last) = blocks.last_mut() {
        last.append(&scope.render_any(spec, tree.footer.as_ref())?);
    }
    for segment in shadowed {
        let reason = "Its messages lie within those of another summary that has no place for it below.";
        blocks.push(TextBlock::omitted(id(spec, segment), spec.stability, reason));
    }
    Ok(RenderedSection { blocks: blocks.into_iter().collect(), findings: Vec::new() })
}

fn id(spec: &SectionSpec, segment: &Segment) -> String {
    format!("{}/{}", spec.id, segment.id)
}

fn entry(spec: &SectionSpec, template: &Template, segment: &Segment, scope: &TurnScope<'_>) -> Result<Text, String> {
    let level = segment.level.to_string();
    let [start, end] = [segment.message_start, segment.message_end].map(|at| at.to_string());
    let [first, last] =
        [segment.start_time, segment.end_time].map(|at| at.map(Moment::utc_milliseconds).unwrap_or_default());
    let own = [
        ("id", Local::Text(&segment.id)),
        ("level", Local::Text(&level)),
        ("start", Local::Text(&start)),
        ("end", Local::Text(&end)),
        ("first", Local::Text(&first)),
        ("last", Local::Text(&last)),
        ("summary", Local::Text(&segment.summary)),
    ];
    let origins = |name: &str, _: &[Step]| {
        let index = scope.turn.conversation.segments.iter().position(|other| std::ptr::eq(other, segment));
        let field = match name {
            "start" => "message_start",
            "end" => "message_end",
            "first" => "start_time",
            "last" => "end_time",
            other => other,
        };
        let path = format!("turn.conversation.segments[{}].{field}", index.unwrap_or_default());
        let origin = Origin::new(OriginKind::Turn, path);
        match name {
            "id" => Found::cleaned(origin, &segment.id, &segment.id),
            "summary" => Found::cleaned(origin, &segment.summary, &segment.summary),
            _ => Found::worked_out(origin),
        }
    };
    scope.render(spec, template, &Locals { own: &own, outer: scope, origins: &origins })
}
