//! A section in the room that the prompt's budget leaves for it.

use super::{block::TextBlock, render, rendered::RenderedSection, text};
use crate::{
    budget::BudgetUnit,
    finding::{Code, Finding, Place},
    profile::{Body, SectionSpec, Stability},
    prompt::{
        budget::{Budgets, Room},
        output::Outcome,
        scope::{Files, TurnScope},
    },
    text::{measure::chars, thousands},
    turn::Turn,
};

/// How often a limit is tried before the best so far is taken.
const STEPS: usize = 12;
/// A section is not tried again once it fills all of its room but such a part.
const NEAR: usize = 50;

/// Whether a part of the section can be shown by itself in this turn; others are shown whole or not at all. The profile's own
/// text in place of a file or a summary has no part that a limit may keep out.
pub(crate) fn is_elastic(spec: &SectionSpec, files: Files<'_>, turn: &Turn) -> bool {
    match (&spec.body, &spec.file) {
        (Body::Each(each), _) => !each.whole,
        (Body::ContextFiles { .. } | Body::Skills(_) | Body::SummaryTree(_), _) => true,
        (Body::Text(_), Some(pattern)) => files.find(pattern).is_ok_and(|document| !document.is_blank()),
        (Body::Text(_), None) => spec.uses(text::SUMMARY) && !turn.conversation_summary.trim().is_empty(),
        (Body::Facts { .. } | Body::ActiveSkill(_), _) => false,
    }
}

/// Renders a section, as much of it as the room holds. Of the profile's own budgets it takes what it would take without.
pub(crate) fn render_within<'a>(
    spec: &'a SectionSpec,
    scope: &TurnScope<'a>,
    budgets: &mut Budgets,
    room: &Room,
) -> RenderedSection<'a> {
    let before = budgets.clone();
    let whole = render(spec, scope, budgets);
    let need = size(&whole, room.unit);
    if need <= room.max {
        return whole;
    }
    let fitted =
        if is_elastic(spec, scope.files, scope.turn) { search(spec, scope, &before, room, &whole) } else { None };
    let mut fitted = fitted.unwrap_or_else(|| left_out(&whole));
    for (block, whole) in
        fitted.blocks.iter_mut().zip(&*whole.blocks).filter(|(block, whole)| block.text() != whole.text())
    {
        let report = &mut block.report;
        report.reason = format!("{} {}", report.reason, room.reason).trim_start().to_owned().into();
        // What other parts of the prompt leave changes with every turn; a ceiling of the section's own does not.
        if !room.is_ceiling {
            report.stability = Stability::Volatile;
        }
        if report.outcome == Outcome::Included {
            (report.outcome, report.original) = (Outcome::Truncated, whole.report.original);
        }
    }
    let shown = thousands(size(&fitted, room.unit) as u64);
    let message = format!(
        "section `{}`: {shown} of {} {} fit into the prompt's budget",
        spec.id,
        thousands(need as u64),
        room.unit
    );
    fitted.findings.push(Finding::new(Code::BudgetExceeded, Place::Unplaced, message));
    fitted
}

/// The most of a section that the room holds; `None`: not even what it shows without any room.
fn search<'a>(
    spec: &'a SectionSpec,
    scope: &TurnScope<'a>,
    budgets: &Budgets,
    room: &Room,
    whole: &RenderedSection<'a>,
) -> Option<RenderedSection<'a>> {
    let limited = |chars: usize| render(spec, scope, &mut budgets.with_room(chars));
    let mut best = limited(0);
    let (mut low, mut high) = (0, whole.blocks.iter().map(|block| chars(block.text())).sum::<usize>());
    let (mut least, mut most) = (size(&best, room.unit), size(whole, room.unit));
    if least > room.max {
        return None;
    }
    let mut first = scope.files.pinned_chars(spec).filter(|pinned| (1..high).contains(pinned));
    for step in 0..STEPS {
        if high - low <= 1 || room.max - least <= room.max / NEAR {
            break;
        }
        let part = (room.max - least).saturating_mul(high - low) / (most - least).max(1);
        let guess = if step % 3 == 2 { low.midpoint(high) } else { low + part };
        let guess = first.take().unwrap_or(guess).clamp(low + 1, high - 1);
        let tried = limited(guess);
        let size = size(&tried, room.unit);
        if size > room.max {
            (high, most) = (guess, size);
            continue;
        }
        low = guess;
        if size >= least {
            (best, least) = (tried, size);
        }
    }
    Some(best)
}

/// The section with none of its text.
fn left_out<'a>(whole: &RenderedSection<'a>) -> RenderedSection<'a> {
    let block = |block: &TextBlock<'a>| {
        if block.text().is_empty() {
            return block.clone();
        }
        let report = &block.report;
        let mut dropped = TextBlock::dropped(report.id.clone(), report.stability, "", report.original);
        dropped.report.source.clone_from(&report.source);
        dropped.report.max_chars = report.max_chars;
        dropped
    };
    RenderedSection { blocks: whole.blocks.iter().map(block).collect(), findings: whole.findings.clone() }
}

fn size(rendered: &RenderedSection<'_>, unit: BudgetUnit) -> usize {
    rendered.blocks.iter().map(|block| unit.size(block.text())).sum()
}
