//! The summaries of what the conversation leaves out at its front.

use jiff::Timestamp;

use super::{Rendered, failed, omitted};
use crate::{
    profile::{SectionSpec, SummaryTree, Template},
    prompt::{
        conversation::segments::{Selection, select},
        locals::{Local, Locals},
        piece::Piece,
        scope::TurnScope,
    },
    turn::Segment,
};

/// Renders the header, one piece for each summary, and the footer with the last. Summaries that another one tells
/// already are reported and not shown.
pub fn render<'a>(spec: &'a SectionSpec, tree: &SummaryTree, scope: &TurnScope<'a>) -> Rendered<'a> {
    let Some(trimmed) = &scope.trimmed else { return omitted(spec) };
    let selection = select(&scope.turn.conversation.segments, trimmed.messages, trimmed.summary_budget);
    if selection.shown.is_empty() {
        return omitted(spec);
    }
    pieces(spec, tree, &selection, trimmed.messages, scope).unwrap_or_else(|error| failed(spec, scope, &error))
}

fn pieces<'a>(
    spec: &'a SectionSpec,
    tree: &SummaryTree,
    selection: &Selection<'_>,
    trimmed: u64,
    scope: &TurnScope<'a>,
) -> Result<Rendered<'a>, String> {
    let templates = &scope.profile.templates;
    let mut head = Piece::included(&*spec.id, spec.stability, templates.render_any(tree.header.as_ref(), scope)?);
    if selection.uncovered > 0 {
        let reason = format!("{} of the {trimmed} messages before are in none of the summaries.", selection.uncovered);
        head.report.reason = reason.into();
    }
    let mut separator = if head.text().is_empty() { None } else { Some(String::new()) };
    let mut pieces = vec![head];
    for segment in &selection.shown {
        let piece = Piece::included(id(spec, segment), spec.stability, entry(&tree.entry, segment, scope)?);
        pieces.push(piece.separated_by(separator.replace(tree.between.clone())));
    }
    if let Some(last) = pieces.last_mut() {
        last.append(&templates.render_any(tree.footer.as_ref(), scope)?);
    }
    for segment in &selection.shadowed {
        let reason = "Its messages lie within those of another summary that has no place for it below.";
        pieces.push(Piece::omitted(id(spec, segment), spec.stability, reason));
    }
    Ok(Rendered { pieces, findings: Vec::new() })
}

fn id(spec: &SectionSpec, segment: &Segment) -> String {
    format!("{}/{}", spec.id, segment.id)
}

fn entry(template: &Template, segment: &Segment, scope: &TurnScope<'_>) -> Result<String, String> {
    let time = |time: Option<Timestamp>| time.map(|time| time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string());
    let level = segment.level.to_string();
    let [start, end] = [segment.message_start, segment.message_end].map(|at| at.to_string());
    let [first, last] = [segment.start_time, segment.end_time].map(|at| time(at).unwrap_or_default());
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
