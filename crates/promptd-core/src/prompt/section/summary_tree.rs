//! The summaries of what the conversation leaves out at its front.

use super::{block::TextBlock, rendered::RenderedSection};
use crate::{
    profile::{SectionSpec, SummaryTree, Template},
    prompt::scope::{Local, Locals, TrimmedHistory, TurnScope},
    time::Moment,
    turn::Segment,
};

/// Renders the header, one block for each summary, and the footer with the last. Summaries whose messages
/// another one covers are reported and not shown.
pub(super) fn render<'a>(spec: &'a SectionSpec, tree: &SummaryTree, scope: &TurnScope<'a>) -> RenderedSection<'a> {
    if scope.trimmed.summaries.is_empty() {
        return RenderedSection::omitted(spec);
    }
    blocks(spec, tree, scope).unwrap_or_else(|error| RenderedSection::failed(spec, scope, &error))
}

fn blocks<'a>(spec: &'a SectionSpec, tree: &SummaryTree, scope: &TurnScope<'a>) -> Result<RenderedSection<'a>, String> {
    let TrimmedHistory { messages, summaries, shadowed, uncovered } = &scope.trimmed;
    let templates = &scope.profile.templates;
    let mut head = TextBlock::included(&*spec.id, spec.stability, templates.render_any(tree.header.as_ref(), scope)?);
    if *uncovered > 0 {
        head.report.reason =
            format!("{uncovered} of the {messages} messages before are in none of the summaries.").into();
    }
    let mut separator = if head.text().is_empty() { None } else { Some(String::new()) };
    let mut blocks = vec![head];
    for segment in summaries {
        let block = TextBlock::included(id(spec, segment), spec.stability, entry(&tree.entry, segment, scope)?);
        blocks.push(block.separated_by(separator.replace(tree.between.clone())));
    }
    if let Some(last) = blocks.last_mut() {
        last.append(&templates.render_any(tree.footer.as_ref(), scope)?);
    }
    for segment in shadowed {
        let reason = "Its messages lie within those of another summary that has no place for it below.";
        blocks.push(TextBlock::omitted(id(spec, segment), spec.stability, reason));
    }
    Ok(RenderedSection { blocks, findings: Vec::new() })
}

fn id(spec: &SectionSpec, segment: &Segment) -> String {
    format!("{}/{}", spec.id, segment.id)
}

fn entry(template: &Template, segment: &Segment, scope: &TurnScope<'_>) -> Result<String, String> {
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
    scope.profile.templates.render(template, &Locals { own: &own, outer: scope })
}
