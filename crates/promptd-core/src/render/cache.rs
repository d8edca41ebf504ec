//! How much of a prompt a provider still has in its cache after another prompt was sent to it.

use super::{
    Fragment, ProviderTable, RenderFormat, anthropic, bedrock, breakpoints::breakpoints, gemini, openai, openrouter,
    tool_calls,
};
use crate::{
    prompt::{Message, Prompt},
    turn::{Role, ToolCall},
};

/// What a provider has kept of one prompt when another one comes. Sizes are bytes of message contents, in the order in
/// which the provider reads them; tools, which some read first, are the caller's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CachedPrefix {
    /// The format of the provider.
    pub format: RenderFormat,
    /// How many bytes both prompts begin with.
    pub common: u64,
    /// How many of these the provider finds in its cache. Anthropic, also behind Bedrock and `OpenRouter`, keeps whole
    /// blocks up to a breakpoint; the others keep what is the same, rounded down to blocks of their own.
    pub kept: u64,
    /// The bytes of the first prompt.
    pub before: u64,
    /// Where the prompts begin to differ, in the first one: index into its messages, and byte of that message's content.
    /// `None`: one is the other's beginning.
    pub difference: Option<(usize, usize)>,
}

impl CachedPrefix {
    /// Whether anything of the first prompt has to be read again.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.difference.is_some() && self.kept < self.before
    }
}

/// What each provider has kept of `before` when `after` comes.
#[must_use]
pub fn cached_prefixes(before: &Prompt<'_>, after: &Prompt<'_>) -> Vec<CachedPrefix> {
    let formats = RenderFormat::ALL.into_iter().filter(|format| *format != RenderFormat::Text);
    formats.map(|format| cached_prefix(before, after, format)).collect()
}

fn cached_prefix(before: &Prompt<'_>, after: &Prompt<'_>, format: RenderFormat) -> CachedPrefix {
    let (first, second) = (Read::new(before, format), Read::new(after, format));
    let mut same = 0;
    let mut common = 0;
    let mut difference = None;
    for (one, other) in first.blocks.iter().zip(&second.blocks) {
        let equal = if one.same_frame(other) { common_bytes(&one.message.content, &other.message.content) } else { 0 };
        common += equal as u64;
        if !one.same_frame(other) || one.message.content != other.message.content {
            difference = Some((one.index, equal));
            break;
        }
        same += 1;
    }
    let provider = ProviderTable::built_in().of(format);
    let kept = if provider.marks > 0 { kept_blocks(&first, &second, same, provider.lookback_blocks) } else { common };
    CachedPrefix { format, common, kept, before: first.bytes_of(first.blocks.len()), difference }
}

/// The bytes of the longest prefix that ends at a breakpoint of the first prompt, lies in what both have, and that a
/// breakpoint of the second one reaches.
fn kept_blocks(first: &Read<'_>, second: &Read<'_>, same: usize, lookback: usize) -> u64 {
    let is_reached = |end: usize| {
        let mut marks = second.blocks.iter().enumerate().filter(|(_, block)| block.is_marked).map(|(at, _)| at);
        marks.any(|mark| (end..end + lookback).contains(&mark))
    };
    let ends = (0..same).rev().filter(|&at| first.blocks[at].is_marked);
    ends.into_iter().find(|&at| is_reached(at)).map_or(0, |at| first.bytes_of(at + 1))
}

fn common_bytes(one: &str, other: &str) -> usize {
    if one == other {
        return one.len();
    }
    let same = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    (0..=same).rev().find(|&at| one.is_char_boundary(at) && other.is_char_boundary(at)).unwrap_or(0)
}

/// A prompt's messages in the order in which a provider reads them.
struct Read<'p> {
    blocks: Vec<Block<'p>>,
}

struct Block<'p> {
    index: usize,
    message: &'p Message<'p>,
    /// The role that it is sent with.
    role: Role,
    /// The ids of its calls, then that of the call that it answers.
    ids: Vec<String>,
    is_marked: bool,
}

impl<'p> Read<'p> {
    fn new(prompt: &'p Prompt<'p>, format: RenderFormat) -> Self {
        let provider = ProviderTable::built_in().of(format);
        let fragment = match format {
            RenderFormat::Text | RenderFormat::OpenaiChat => Fragment::new(prompt, openai::CHAT_IDS, provider),
            RenderFormat::OpenrouterChat => {
                Fragment::new(prompt, openrouter::IDS, provider).beginning_with_the_user(openrouter::IDS.provider)
            }
            RenderFormat::OpenaiResponses => Fragment::new(prompt, openai::RESPONSES_IDS, provider),
            RenderFormat::AnthropicMessages => {
                Fragment::new(prompt, anthropic::IDS, provider).beginning_with_the_user(anthropic::IDS.provider)
            }
            RenderFormat::BedrockConverse => {
                Fragment::new(prompt, bedrock::IDS, provider).beginning_with_the_user(bedrock::IDS.provider)
            }
            RenderFormat::Gemini => {
                Fragment::new(prompt, gemini::IDS, provider).beginning_with_the_user(gemini::IDS.provider)
            }
        };
        let marks = breakpoints(prompt, provider);
        let block = |(index, message): (usize, &'p Message<'p>)| {
            let result = fragment.ids.result(index).map(|result| result.id.clone());
            let ids = fragment.ids.calls(index).iter().cloned().chain(result).collect();
            Block { index, message, role: fragment.role(index, message), ids, is_marked: marks.contains(&index) }
        };
        let is_sent = |(_, message): &(usize, &Message<'_>)| {
            let is_blank = match format {
                RenderFormat::Text | RenderFormat::OpenaiChat | RenderFormat::OpenaiResponses => {
                    message.content.is_empty()
                }
                _ => message.content.trim().is_empty(),
            };
            !is_blank || message.role == Role::Tool || !tool_calls(message).is_empty()
        };
        let mut blocks: Vec<_> = fragment.messages().filter(is_sent).map(block).collect();
        if provider.takes_system_apart() {
            blocks.sort_by_key(|block| block.role != Role::System);
        }
        Self { blocks }
    }

    /// The bytes of the first so many blocks.
    fn bytes_of(&self, blocks: usize) -> u64 {
        self.blocks[..blocks].iter().map(|block| block.message.content.len() as u64).sum()
    }
}

impl Block<'_> {
    /// Whether all but the content is the same.
    fn same_frame(&self, other: &Self) -> bool {
        let (calls, others) = (tool_calls(self.message), tool_calls(other.message));
        let alike =
            |(one, other): (&ToolCall, &ToolCall)| one.name == other.name && one.arguments_json == other.arguments_json;
        self.role == other.role
            && self.ids == other.ids
            && calls.len() == others.len()
            && calls.iter().zip(others).all(alike)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::sample, *};
    use crate::{profile::Stability, turn::ConversationMessage};

    fn of(before: &Prompt<'_>, after: &Prompt<'_>, format: RenderFormat) -> CachedPrefix {
        cached_prefixes(before, after).into_iter().find(|one| one.format == format).unwrap()
    }

    fn system(texts: &[&'static str]) -> Prompt<'static> {
        sample::prompt(texts.iter().map(|text| sample::message(Role::System, text)).collect())
    }

    #[test]
    fn the_same_prompt_loses_nothing() {
        sample::with_prompt(|prompt| {
            for one in cached_prefixes(prompt, prompt) {
                assert_eq!((one.common, one.difference, one.is_lost()), (one.before, None, false), "{one:?}");
            }
        });
    }

    #[test]
    fn an_automatic_cache_keeps_what_is_the_same_and_never_half_a_character() {
        let (before, after) = (system(&["one", "täler", "end"]), system(&["one", "töler", "end"]));
        let found = of(&before, &after, RenderFormat::OpenaiChat);
        assert_eq!((found.common, found.kept, found.before, found.difference), (4, 4, 12, Some((1, 1))));
        assert!(found.is_lost());
    }

    #[test]
    fn anthropic_keeps_blocks_up_to_a_breakpoint() {
        let prompt = |last: &'static str| {
            let stable = sample::message(Role::System, "stable");
            let session = sample::of(Stability::Session, Role::System, "session");
            sample::prompt(vec![stable, session, sample::of(Stability::Volatile, Role::System, last)])
        };
        for format in [RenderFormat::AnthropicMessages, RenderFormat::BedrockConverse, RenderFormat::OpenrouterChat] {
            let found = of(&prompt("last 1"), &prompt("last 2"), format);
            let expected = (18, 13, Some((2, 5)));
            assert_eq!((found.common, found.kept, found.difference), expected, "{format:?}: up to the session's block");
        }
        let found = of(&prompt("last 1"), &prompt("last 2"), RenderFormat::Gemini);
        assert_eq!((found.common, found.kept), (18, 18));
    }

    #[test]
    fn a_breakpoint_that_is_too_far_behind_is_not_found() {
        let conversation: Vec<_> = (0..60).map(|_| ConversationMessage::new(Role::User, "x")).collect();
        let prompt = |count: usize| sample::prompt(conversation[..count].iter().map(sample::carried).collect());
        let kept = |after: usize| of(&prompt(19), &prompt(after), RenderFormat::AnthropicMessages).kept;
        assert_eq!((kept(24), kept(39), kept(46)), (19, 19, 0), "the newest mark of 19 messages is their last");
    }

    #[test]
    fn other_roles_and_calls_are_a_difference() {
        let user = [ConversationMessage::new(Role::User, "a"), ConversationMessage::new(Role::User, "b")];
        let assistant = [ConversationMessage::new(Role::User, "a"), ConversationMessage::new(Role::Assistant, "b")];
        let prompt =
            |messages: &'static [ConversationMessage]| sample::prompt(messages.iter().map(sample::carried).collect());
        let (user, assistant) = (&*Box::leak(Box::new(user)), &*Box::leak(Box::new(assistant)));
        let found = of(&prompt(user), &prompt(assistant), RenderFormat::OpenaiChat);
        assert_eq!((found.common, found.difference), (1, Some((1, 0))));
    }
}
