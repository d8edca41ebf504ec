//! The conversation in the room that the prompt's budget leaves for it, where the profile trims its conversation.

use super::{carry, carry_trimmed, window::ConversationWindow};
use crate::{
    budget::BudgetUnit,
    finding::{Code, Finding, Place},
    profile::ConversationSpec,
    prompt::{
        budget::{Room, Rooms},
        output::Outcome,
        scope::TurnScope,
    },
    text::thousands,
};

/// How often a trimming is tried before the longest so far that fits is taken.
const STEPS: usize = 8;

/// Carries as much of the conversation as the room holds; more where the profile must not trim further.
pub(crate) fn carry_within<'a>(
    spec: &ConversationSpec,
    scope: &TurnScope<'a>,
    room: &Room,
    rooms: &Rooms,
) -> ConversationWindow<'a> {
    let whole = carry(spec, scope);
    let need = size(&whole, room.unit);
    if need <= room.max || spec.trim.is_none() {
        return whole;
    }
    let estimate = whole.carried.as_ref().map_or(0, |carried| carried.estimated_tokens);
    let most = rooms.trim.get().unwrap_or_else(|| search(spec, scope, room, need, estimate));
    rooms.trim.set(Some(most));
    let mut window = carry_trimmed(spec, scope, Some(most));
    if window.messages.len() < whole.messages.len() {
        let shown = size(&window, room.unit);
        let report = &mut window.report;
        (report.outcome, report.reason) = (Outcome::Truncated, format!("{} {}", report.reason, room.reason).into());
        let (shown, need) = (thousands(shown as u64), thousands(need as u64));
        let message = format!("the conversation: {shown} of {need} {} fit into the prompt's budget", room.unit);
        window.findings.push(Finding::new(Code::BudgetExceeded, Place::field("turn.conversation"), message));
    }
    window
}

/// The most estimated tokens with which the conversation fits; 1 where it does with none.
fn search(spec: &ConversationSpec, scope: &TurnScope<'_>, room: &Room, need: usize, estimate: u64) -> u64 {
    let (mut low, mut high, mut most) = (1, estimate.max(1), need);
    for step in 0..STEPS {
        if high - low <= 1 {
            break;
        }
        let part = u128::from(high) * room.max as u128 / (most as u128).max(1);
        let guess = if step % 3 == 2 { low.midpoint(high) } else { u64::try_from(part).unwrap_or(high) };
        let guess = guess.clamp(low + 1, high - 1);
        let size = size(&carry_trimmed(spec, scope, Some(guess)), room.unit);
        if size > room.max { (high, most) = (guess, size) } else { low = guess }
    }
    low
}

fn size(window: &ConversationWindow<'_>, unit: BudgetUnit) -> usize {
    window.messages.iter().map(|message| unit.size(&message.content)).sum()
}
