//! A checked profile: what assembly runs on.

mod budget;
mod reply;
mod section;
mod tools;

pub use self::{
    budget::{Amount, Budget, OnOverflow, Share, Unit},
    reply::{
        Acknowledgement, ActionField, ActionForm, ActionSpec, Actions, Block, JsonReading, OtherFields, ReplyContract,
        Visibility,
    },
    section::{Body, Each, Fact, SectionSpec, Stability, SummaryTree},
    tools::ToolAllowlist,
};

use std::sync::Arc;

use super::{
    FilePattern,
    taught::Taught,
    template::{Template, Templates},
    types::{Field, Type},
};
use crate::{
    id::Id,
    turn::{Role, Stage, Turn, TurnFields},
};

/// A recipe: ordered messages of ordered sections.
#[derive(Debug)]
pub struct Profile {
    /// Its name.
    pub name: Id,
    /// One or two sentences for a person.
    pub description: String,
    /// The profile that it extends.
    pub extends: Option<String>,
    /// Whether it is as the service ships it.
    pub built_in: bool,
    /// The YAML it was read from.
    pub source: Arc<str>,
    /// Where providers are asked to keep a prefix.
    pub cache: CachePlacement,
    /// How replies are read.
    pub reply: Arc<ReplyContract>,
    /// What templates see of it.
    pub taught: Taught,
    /// What callers may give.
    pub inputs: Vec<Input>,
    /// The tools that are allowed; absent: all.
    pub tool_allowlist: Option<ToolAllowlist>,
    /// Limits that sections share.
    pub budgets: Vec<Budget>,
    /// The messages, in order.
    pub parts: Vec<Part>,
    /// The compiled templates of all sections.
    pub templates: Templates,
}

/// Where providers that need marks are asked to keep a prefix.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CachePlacement {
    /// After the fronts that stay the same, by the stability of sections; and in the conversation.
    #[default]
    Plan,
    /// As [`Plan`](Self::Plan), and system messages behind the conversation stay there, in the role that the provider allows.
    Trailing,
    /// After the system messages at the front, whatever their stability; and in the conversation, where all results of a
    /// message's calls count as one message, and one with several results is never marked.
    AsSystem,
}

/// A declared input.
#[derive(Debug, Clone)]
pub struct Input {
    /// Its name, type and default.
    pub field: Field,
    /// The workspace file whose text it is where a turn does not give it.
    pub default_from: Option<String>,
    /// How often its value changes.
    pub stability: Stability,
}

impl Input {
    /// What a text that shows it depends on.
    #[must_use]
    pub fn deps(&self) -> TurnFields {
        match self.stability {
            Stability::Stable => TurnFields::STABLE_INPUTS,
            Stability::Session => TurnFields::SESSION_INPUTS,
            Stability::Volatile => TurnFields::VOLATILE_INPUTS,
        }
    }
}

/// One place in the order of messages.
#[derive(Debug)]
pub enum Part {
    /// A message of the profile's own.
    Message(MessageSpec),
    /// The caller's conversation.
    Conversation(Box<ConversationSpec>),
}

/// A message: its sections joined by its separator. It is left out where all of them are empty.
#[derive(Debug)]
pub struct MessageSpec {
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// The text between sections; belongs to none.
    pub separator: String,
    /// Must not be written to the conversation history.
    pub ephemeral: bool,
    /// Is for the user interface, not for the model.
    pub is_card: bool,
    /// In order.
    pub sections: Vec<SectionSpec>,
}

/// The caller's conversation, as the profile carries it.
#[derive(Debug)]
pub struct ConversationSpec {
    /// Its condition; absent: always.
    pub when: Option<Template>,
    /// The stages that it is part of; empty: all.
    pub stages: Vec<Stage>,
    /// How many of the newest messages; absent: all.
    pub window: Option<Amount>,
    /// Whether a message with the id of an earlier one is left out.
    pub deduplicate: bool,
    /// How text of users and assistants is written: `content`, `speaker`, `time`.
    pub template: Option<Template>,
    /// The most UTF-16 code units of one tool result.
    pub max_tool_result_chars: Option<Amount>,
    /// Trims the oldest messages to a number of estimated tokens.
    pub trim: Option<TrimSpec>,
    /// Whether what was trimmed of a stored conversation is searched for the turn; absent: it is not.
    pub auto_recall: Option<Template>,
}

/// The input that has what a search found for the turn: a list of objects with `time`, `text` and `message_end`.
pub const RECALL_INPUT: &str = "recall";

/// How the oldest messages are trimmed.
#[derive(Debug)]
pub struct TrimSpec {
    /// The whole budget, in estimated tokens.
    pub max_tokens: Amount,
    /// The part of it, 0 to 1, that summaries may take.
    pub summary_budget: Share,
    /// Whether messages after the last summarised one are kept, even beyond the budget; absent: they are not.
    pub keep_unsummarised: Option<Template>,
}

/// Whether one of the inputs is `tools`, a list of objects with a `name`.
pub(in crate::profile) fn takes_tools(inputs: &[Input]) -> bool {
    let input = inputs.iter().find(|input| input.field.name == ToolAllowlist::INPUT);
    input.is_some_and(|input| match &input.field.ty {
        Type::List(of) => matches!(&**of, Type::Object(fields) if fields.iter().any(|field| field.name == "name")),
        _ => false,
    })
}

/// Whether one of the inputs is [`RECALL_INPUT`], with a key for each thing that a search says of a message.
pub(in crate::profile) fn takes_recalled(inputs: &[Input]) -> bool {
    let input = inputs.iter().find(|input| input.field.name == RECALL_INPUT);
    let has_all = |fields: &[Field]| {
        ["time", "text", "message_end"].iter().all(|name| fields.iter().any(|field| field.name == *name))
    };
    input.is_some_and(|input| match &input.field.ty {
        Type::List(of) => matches!(&**of, Type::Object(fields) if has_all(fields)),
        _ => false,
    })
}

impl Profile {
    /// All sections with their message, in order.
    pub fn sections(&self) -> impl Iterator<Item = (&MessageSpec, &SectionSpec)> {
        self.messages().flat_map(|message| message.sections.iter().map(move |section| (message, section)))
    }

    /// Whether a budget of it counts tokens, which takes longer than everything else.
    #[must_use]
    pub fn counts_tokens(&self) -> bool {
        self.budgets.iter().any(|budget| budget.unit == Unit::Tokens)
    }

    /// The profile's own messages, in order.
    pub fn messages(&self) -> impl Iterator<Item = &MessageSpec> {
        self.parts.iter().filter_map(|part| match part {
            Part::Message(message) => Some(message),
            Part::Conversation(_) => None,
        })
    }

    /// The fields that a turn sets; of inputs, those of the stability of each that it gives.
    #[must_use]
    pub fn set_by(&self, turn: &Turn) -> TurnFields {
        let set = TurnFields::set_by(turn);
        // Without the context files, an input that is not given may be another text too.
        if turn.inputs.is_empty() || turn.skip_context_files {
            return set;
        }
        let deps = |is_one: &dyn Fn(&str) -> bool| {
            let inputs = self.inputs.iter().filter(|input| is_one(&input.field.name));
            inputs.fold(TurnFields::NONE, |all, input| all | input.deps())
        };
        let is_given = |name: &str| turn.inputs.contains_key(name);
        let selects = match &self.tool_allowlist {
            Some(ToolAllowlist::ByInput { input, .. }) => input,
            _ => ToolAllowlist::INPUT,
        };
        let tools = is_given(ToolAllowlist::INPUT) || is_given(selects);
        let follows = |name: &str| tools && matches!(name, ToolAllowlist::INPUT | ToolAllowlist::ANY_INPUT);
        set.without(TurnFields::INPUTS) | deps(&|name| is_given(name) || follows(name))
    }

    /// Whether callers may give tools: an input `tools` that is a list of objects with a `name`.
    #[must_use]
    pub fn takes_tools(&self) -> bool {
        takes_tools(&self.inputs)
    }

    /// Whether it has a place for the summaries of what is trimmed.
    #[must_use]
    pub fn shows_summaries(&self) -> bool {
        self.sections().any(|(_, section)| matches!(section.body, Body::SummaryTree(_)))
    }

    /// The conversation's place, if the profile carries one.
    #[must_use]
    pub fn conversation(&self) -> Option<&ConversationSpec> {
        self.parts.iter().find_map(|part| match part {
            Part::Conversation(conversation) => Some(&**conversation),
            Part::Message(_) => None,
        })
    }

    /// The workspace files that it reads, beyond the context files.
    pub fn files(&self) -> impl Iterator<Item = FilePattern> {
        let sections = self.sections().filter_map(|(_, section)| section.file.clone());
        let inputs = self.inputs.iter().filter_map(|input| input.default_from.clone().map(FilePattern::Path));
        sections.chain(inputs)
    }
}
