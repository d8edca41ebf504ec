//! Where a provider is asked to keep a prefix.

use std::ops::Range;

use super::{Provider, trailing};
use crate::{
    profile::{CachePlacement, Stability},
    prompt::{Behind, CachePrefix, Message, Prompt},
    turn::Role,
};

/// A conversation of fewer messages than this gets no breakpoint.
const MIN_MESSAGES: usize = 4;
/// The older breakpoint is at a multiple of this, so that it stays the same for many turns.
const STEP: usize = 20;
/// The older breakpoint is further than this from the newer one.
const MIN_DISTANCE: usize = 4;

/// Which messages of a prompt, by index, end a prefix that the provider is asked to keep: as many as it takes, in order. None of
/// them is behind a byte that can change every turn.
pub(super) fn breakpoints(prompt: &Prompt<'_>, provider: &Provider) -> Vec<usize> {
    let messages = &prompt.messages;
    let (mut all, conversation) = match prompt.cache_placement {
        CachePlacement::Plan | CachePlacement::Trailing => (fronts(messages), in_conversation(messages)),
        CachePlacement::AsSystem => (front_as_system(messages), in_conversation_as_system(messages)),
    };
    let before = first_volatile(messages, trailing(prompt, provider));
    all.extend(conversation.into_iter().filter(|&index| index < before));
    all.retain(|&index| provider.marks_on.contains(&messages[index].role));
    all.sort_unstable();
    all.dedup();
    // The longest prefixes are worth most.
    all.drain(..all.len().saturating_sub(provider.marks));
    all
}

/// The last system message of the stable front, and that of the front that stays the same through a session. A message counts
/// only as a whole: a section that another turn has in it, also at its end, would be another block.
fn fronts(messages: &[Message<'_>]) -> Vec<usize> {
    let end = |bytes: fn(&CachePrefix) -> u64| {
        let stays = |message: &&Message<'_>| {
            let prefix = &message.cache_prefix;
            message.origin.is_none() && !prefix.has_gap && bytes(prefix) == message.content.len() as u64
        };
        let front = messages.iter().take_while(stays).count();
        messages[..front].iter().rposition(|message| message.role == Role::System)
    };
    [end(|prefix| prefix.bytes), end(|prefix| prefix.session_bytes)].into_iter().flatten().collect()
}

/// The first message that a mark must not be behind. A system message comes before the whole conversation for a provider that
/// takes these apart, wherever it is in the prompt, unless it stays behind the conversation.
fn first_volatile(messages: &[Message<'_>], trailing: Option<(usize, Behind)>) -> usize {
    let is_volatile = |message: &Message<'_>| {
        message.origin.is_none() && (message.stability == Stability::Volatile || message.cache_prefix.has_gap)
    };
    let end = trailing.filter(|(_, behind)| *behind != Behind::SystemPart).map_or(messages.len(), |(first, _)| first);
    if messages[..end].iter().any(|message| is_volatile(message) && message.role == Role::System) {
        return 0;
    }
    messages.iter().position(is_volatile).unwrap_or(messages.len())
}

/// The last of the system messages at the front, as kern marks it.
fn front_as_system(messages: &[Message<'_>]) -> Vec<usize> {
    let is_front = |message: &&Message<'_>| {
        message.role == Role::System && message.stability <= Stability::Session && !message.cache_prefix.has_gap
    };
    let front = messages.iter().take_while(is_front).count();
    front.checked_sub(1).into_iter().collect()
}

/// The newest message of the user, and a multiple of twenty before it, moved back to a message of one block, since each of
/// several results would take one of the four marks. All results of a message's calls are one message here.
fn in_conversation_as_system(messages: &[Message<'_>]) -> Vec<usize> {
    let groups = groups(messages);
    let role = |group: &Range<usize>| messages[group.start].role;
    let Some(newest) = groups.iter().rposition(|group| role(group) == Role::User) else { return Vec::new() };
    if groups.len() < MIN_MESSAGES {
        return Vec::new();
    }
    let mut marks = vec![groups[newest].start];
    let older = newest / STEP * STEP;
    if older + MIN_DISTANCE < newest {
        marks.extend(groups[..=older].iter().rfind(|group| group.len() == 1).map(|group| group.start));
    }
    marks
}

/// The conversation's messages, results that follow each other as one.
fn groups(messages: &[Message<'_>]) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (index, message) in messages.iter().enumerate().filter(|(_, message)| message.origin.is_some()) {
        match groups.last_mut() {
            Some(last) if message.role == Role::Tool && messages[last.start].role == Role::Tool => last.end = index + 1,
            _ => groups.push(index..index + 1),
        }
    }
    groups
}

/// The newest message of the user, and a multiple of twenty before it.
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
    use super::{
        super::{ProviderTable, RenderFormat, sample},
        *,
    };
    use crate::turn::ConversationMessage;

    fn breakpoints(prompt: &Prompt<'_>) -> Vec<usize> {
        super::breakpoints(prompt, ProviderTable::built_in().of(RenderFormat::AnthropicMessages))
    }

    #[test]
    fn a_provider_has_no_more_marks_than_it_takes_and_only_where_it_takes_them() {
        let shipped = include_str!("../../../../config/providers.yaml");
        let said = ConversationMessage::new(Role::User, "x");
        let mut messages = vec![sample::message(Role::System, "x"), sample::of(Stability::Session, Role::System, "x")];
        messages.extend((0..30).map(|_| sample::carried(&said)));
        let prompt = sample::prompt(messages);
        for (from, to, expected) in [
            ("marks: 4", "marks: 2", &[22, 31][..]),
            ("marks: 4", "marks: 0", &[]),
            ("marks_on: [system, user, assistant, tool]", "marks_on: [system]", &[0, 1]),
        ] {
            let table = ProviderTable::parse(&shipped.replacen(from, to, 1)).unwrap();
            assert_eq!(super::breakpoints(&prompt, table.of(RenderFormat::AnthropicMessages)), expected, "{to}");
            assert_eq!(super::breakpoints(&prompt, table.of(RenderFormat::BedrockConverse)).len(), 4, "{to}");
        }
    }

    fn by_plan_sorted(messages: &[Message<'_>]) -> Vec<usize> {
        breakpoints(&sample::prompt(messages.to_vec()))
    }

    /// Messages as a text: `s` is the system's, `u` the user's, `a` the assistant's, a digit so many results.
    #[test]
    fn as_a_system_places_them() {
        let conversation = |role| ConversationMessage::new(role, "x");
        let alternating = "ua".repeat(15);
        let pairs_of_results = "2".repeat(21);
        for (why, text, marked) in [
            ("the system alone", "s", &[0][..]),
            ("too few messages", "sua2", &[0]),
            ("the newest user message", "suaua", &[0, 3]),
            ("two results are one message", "sua2a", &[0, 1]),
            ("thirty messages", &format!("s{alternating}"), &[0, 21, 29]),
            ("a result at the multiple", &format!("s{}1{}", &alternating[..20], &alternating[..9]), &[0, 21, 30]),
            ("three results at the multiple", &format!("s{}3{}", &alternating[..20], &alternating[..9]), &[0, 20, 32]),
            ("several results everywhere before", &format!("s{pairs_of_results}aaaau"), &[0, 47]),
            ("no message of the user", "saaaaa", &[0]),
            ("no system message", "uaua", &[2]),
        ] {
            let mut said = Vec::new();
            for c in text.chars() {
                match c {
                    's' => {}
                    'u' => said.push(conversation(Role::User)),
                    'a' => said.push(conversation(Role::Assistant)),
                    digit => {
                        let results = digit.to_digit(10).unwrap() as usize;
                        said.extend(std::iter::repeat_n(conversation(Role::Tool), results));
                    }
                }
            }
            let system = sample::of(Stability::Session, Role::System, "x");
            let mut messages = vec![system];
            messages.truncate(usize::from(text.starts_with('s')));
            messages.extend(said.iter().map(sample::carried));
            let prompt = Prompt { cache_placement: CachePlacement::AsSystem, ..sample::prompt(messages) };
            assert_eq!(breakpoints(&prompt), marked, "{why}");
        }
    }

    #[test]
    fn the_conversation_has_two() {
        for (count, marked) in [(0, &[][..]), (3, &[]), (4, &[2]), (7, &[0, 6]), (30, &[20, 28]), (25, &[24])] {
            let conversation: Vec<_> = (0..count)
                .map(|i| ConversationMessage::new(if i % 2 == 0 { Role::User } else { Role::Assistant }, "x"))
                .collect();
            let messages: Vec<_> = conversation.iter().map(sample::carried).collect();
            assert_eq!(by_plan_sorted(&messages), marked, "{count}");
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
            let messages: Vec<_> =
                stabilities.iter().map(|&stability| sample::of(stability, Role::System, "x")).collect();
            assert_eq!(by_plan_sorted(&messages), marked, "{stabilities:?}");
        }
    }

    #[test]
    fn never_more_than_four() {
        let conversation: Vec<_> = (0..30).map(|_| ConversationMessage::new(Role::User, "x")).collect();
        let mut messages = vec![sample::message(Role::System, "x"), sample::of(Stability::Session, Role::System, "x")];
        messages.extend(conversation.iter().map(sample::carried));
        assert_eq!(by_plan_sorted(&messages), [0, 1, 22, 31]);
    }

    /// Messages as a text: `S` is stable, `s` of the session, `v` volatile, `u` volatile and the user's; `c` is the conversation's.
    #[test]
    fn no_mark_is_behind_a_volatile_byte() {
        let said = ConversationMessage::new(Role::User, "x");
        for (text, plan, as_system) in [
            ("Sscccc", &[0, 1, 5][..], &[1, 5][..]),
            ("Svcccc", &[0], &[0]),
            ("Succcc", &[0], &[0]),
            ("vScccc", &[], &[]),
            ("Sccccu", &[0, 4], &[0, 4]),
            // Some providers read it before the conversation.
            ("Sccccv", &[0], &[0]),
            ("Sccuccc", &[0], &[0]),
        ] {
            let messages: Vec<_> = text
                .chars()
                .map(|c| match c {
                    'S' => sample::message(Role::System, "x"),
                    's' => sample::of(Stability::Session, Role::System, "x"),
                    'v' => sample::of(Stability::Volatile, Role::System, "x"),
                    'u' => sample::of(Stability::Volatile, Role::User, "x"),
                    _ => sample::carried(&said),
                })
                .collect();
            assert_eq!(by_plan_sorted(&messages), plan, "{text}");
            let prompt = Prompt { cache_placement: CachePlacement::AsSystem, ..sample::prompt(messages) };
            assert_eq!(breakpoints(&prompt), as_system, "{text} as kern");
        }
    }
}
