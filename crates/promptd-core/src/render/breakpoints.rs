//! Where a provider is asked to keep a prefix.

use crate::{profile::Stability, prompt::Message, turn::Role};

/// A conversation of fewer messages than this gets no breakpoint.
const MIN_MESSAGES: usize = 4;
/// The older breakpoint is at a multiple of this, so that it stays the same for many turns.
const STEP: usize = 20;
/// The older breakpoint is further than this from the newer one.
const MIN_DISTANCE: usize = 4;

/// Which messages of a prompt, by index, end a prefix worth keeping: at most four, in order.
///
/// Two of the system messages: the last of the stable prefix, and the last one where the conversation has a breakpoint,
/// else the last of the prefix that holds through a session. Two of the conversation: the newest user message, and a
/// multiple of twenty before it.
pub(super) fn breakpoints(messages: &[Message<'_>]) -> Vec<usize> {
    let system: Vec<usize> = (0..messages.len()).filter(|&index| messages[index].role == Role::System).collect();
    let conversation = in_conversation(messages);
    let front = |bound: Stability| {
        let front = system.iter().take_while(|&&index| messages[index].stability <= bound);
        front.last().copied()
    };
    let second = if conversation.is_empty() { front(Stability::Session) } else { system.last().copied() };
    let mut all: Vec<usize> = front(Stability::Stable).into_iter().chain(second).chain(conversation).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn in_conversation(messages: &[Message<'_>]) -> Vec<usize> {
    let window: Vec<usize> = (0..messages.len()).filter(|&i| messages[i].origin.is_some()).collect();
    let Some(newest) = window.iter().rposition(|&index| messages[index].role == Role::User) else { return Vec::new() };
    if window.len() < MIN_MESSAGES {
        return Vec::new();
    }
    let older = newest / STEP * STEP;
    let older = (older + MIN_DISTANCE < newest).then(|| window[older]);
    older.into_iter().chain([window[newest]]).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::sample, *};
    use crate::turn::ConversationMessage;

    #[test]
    fn the_conversation_has_two() {
        for (count, marked) in [(0, &[][..]), (3, &[]), (4, &[2]), (7, &[0, 6]), (30, &[20, 28]), (25, &[24])] {
            let conversation: Vec<_> = (0..count)
                .map(|i| ConversationMessage::new(if i % 2 == 0 { Role::User } else { Role::Assistant }, "x"))
                .collect();
            let messages: Vec<_> = conversation.iter().map(sample::carried).collect();
            assert_eq!(breakpoints(&messages), marked, "{count}");
        }
    }

    #[test]
    fn the_system_has_its_stable_and_its_session_front() {
        use Stability::{Session, Stable, Volatile};
        for (stabilities, marked) in [
            (&[Stable, Volatile, Stable][..], &[0][..]),
            (&[Stable, Session, Volatile], &[0, 1]),
            (&[Stable, Stable], &[1]),
            (&[Session, Stable], &[1]),
            (&[Volatile], &[]),
        ] {
            let messages: Vec<_> = stabilities
                .iter()
                .map(|&stability| crate::prompt::Message { stability, ..sample::message(Role::System, "x") })
                .collect();
            assert_eq!(breakpoints(&messages), marked, "{stabilities:?}");
        }
    }

    #[test]
    fn never_more_than_four() {
        let conversation: Vec<_> = (0..30).map(|_| ConversationMessage::new(Role::User, "x")).collect();
        let system = |stability| Message { stability, ..sample::message(Role::System, "x") };
        let mut messages = vec![system(Stability::Stable), system(Stability::Session), system(Stability::Volatile)];
        messages.extend(conversation.iter().map(sample::carried));
        assert_eq!(breakpoints(&messages), [0, 2, 23, 32]);
    }
}
