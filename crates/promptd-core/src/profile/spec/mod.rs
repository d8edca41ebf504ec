//! A checked profile: what assembly runs on.

use std::sync::Arc;

use super::{
    FilePattern,
    template::{Template, Templates},
    types::Field,
};
use crate::{
    id::Id,
    reply::ReplyContract,
    turn::{Role, Stage, TurnFields},
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
    /// How replies are judged.
    pub reply: ReplyContract,
    /// What callers may give.
    pub inputs: Vec<Input>,
    /// Limits that sections share.
    pub budgets: Vec<Budget>,
    /// The messages, in order.
    pub parts: Vec<Part>,
    /// The compiled templates of all sections.
    pub templates: Templates,
}

/// A declared input.
#[derive(Debug, Clone)]
pub struct Input {
    /// Its name, type and default.
    pub field: Field,
    /// The workspace file whose text it is where a turn does not give it.
    pub default_from: Option<String>,
    /// Whether it is a budget's limit, which cannot be negative.
    pub is_limit: bool,
}

/// A limit that sections share, in profile order.
#[derive(Debug, Clone)]
pub struct Budget {
    /// Its name.
    pub name: String,
    /// How much.
    pub limit: Amount,
    /// Of what.
    pub unit: Unit,
    /// What an entry that does not fit ends.
    pub on_overflow: OnOverflow,
}

/// What the first entry that does not fit ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnOverflow {
    /// The budget: nothing that comes after may take the room.
    #[default]
    Close,
    /// Its section alone: the sections after it go on with what is left.
    NextSection,
}

/// A number, or the input that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Amount {
    /// A number.
    Fixed(u64),
    /// The name of an `int` input.
    Input(String),
}

/// What a budget counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Unicode scalar values.
    Chars,
    /// UTF-16 code units.
    Utf16,
    /// UTF-8 bytes.
    Bytes,
    /// Tokens of `o200k_base`.
    Tokens,
    /// Estimated tokens of a user message with the text, as `max_tokens` of a conversation counts them.
    Estimate,
    /// Entries, whatever their length; headers and footers are free.
    Entries,
}

/// A part of a whole, 0 to 1, or the `number` input that has it.
#[derive(Debug, Clone, PartialEq)]
pub enum Share {
    /// A number.
    Fixed(f64),
    /// The name of an input.
    Input(String),
}

/// One place in the order of messages.
#[derive(Debug)]
pub enum Part {
    /// A message of the profile's own.
    Message(MessageSpec),
    /// The caller's conversation.
    Conversation(Box<ConversationSpec>),
}

/// A message: its sections joined by its separator; without any text there is no message.
#[derive(Debug)]
pub struct MessageSpec {
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// What stands between sections; belongs to none.
    pub separator: String,
    /// Must not be written to the conversation history.
    pub ephemeral: bool,
    /// In order.
    pub sections: Vec<SectionSpec>,
}

/// A section.
#[derive(Debug)]
pub struct SectionSpec {
    /// Its stable name.
    pub id: String,
    /// Its condition; absent: always.
    pub when: Option<Template>,
    /// The condition as written; may be empty.
    pub gate: String,
    /// Why it is left out, for a person; may be empty.
    pub omitted: String,
    /// How often it changes.
    pub stability: Stability,
    /// The stages that it stands in; empty: all.
    pub stages: Vec<Stage>,
    /// What stands before it instead of the message's separator.
    pub separator: Option<String>,
    /// The workspace file that it is made from; without it the section is left out.
    pub file: Option<FilePattern>,
    /// Whether it stands also where the file has only white space.
    pub keep_empty: bool,
    /// What it says where the file is not there.
    pub fallback: Option<Template>,
    /// Whether the file's text is cut to the workspace's limit for one context file.
    pub cut: bool,
    /// What it says.
    pub body: Body,
    /// What of the turn it depends on.
    pub deps: TurnFields,
}

/// What a section says.
#[derive(Debug)]
pub enum Body {
    /// A template.
    Text(Template),
    /// A template for each of a list.
    Each(Each),
    /// The workspace's context files under fair limits, each a section of its own below this one's id.
    ContextFiles {
        /// The lines before the files.
        heading: Template,
        /// One file: `path`, `purpose`, `text`.
        entry: Template,
        /// The files that are always looked for, with their purposes; the workspace's own follow.
        files: Vec<(String, String)>,
    },
    /// The skills block: `available_skills` in a template.
    Skills(Template),
    /// One line a known fact; the turn's variables follow.
    Facts {
        /// What stands before the lines.
        header: String,
        /// Label and value, in order.
        facts: Vec<Fact>,
    },
    /// The skill that the turn activates: `skill` in a template.
    ActiveSkill(Template),
    /// The summaries of what the conversation left out, each a section of its own below this one's id.
    SummaryTree(SummaryTree),
}

/// A template for each of a list.
#[derive(Debug)]
pub struct Each {
    /// The list.
    pub list: Template,
    /// The name of the list that it is taken from.
    pub of: String,
    /// What stands before the first entry.
    pub header: Option<Template>,
    /// One entry.
    pub entry: Template,
    /// What stands between entries.
    pub between: String,
    /// What stands after the last entry.
    pub footer: Option<Template>,
    /// The budget it draws on, by index: whole entries only.
    pub budget: Option<usize>,
    /// Whether the budget must hold all of the section, or none of it stands.
    pub whole: bool,
}

/// How the summaries of a conversation are written.
#[derive(Debug)]
pub struct SummaryTree {
    /// What stands before the first.
    pub header: Option<Template>,
    /// One summary: `id`, `level`, `start`, `end`, `first`, `last`, `summary`.
    pub entry: Template,
    /// What stands between two.
    pub between: String,
    /// What stands after the last.
    pub footer: Option<Template>,
}

/// A line of runtime facts.
#[derive(Debug, Clone)]
pub struct Fact {
    /// Its label.
    pub label: String,
    /// The name whose value it shows.
    pub name: String,
    /// The field of that name; may be empty.
    pub field: String,
}

/// The caller's conversation, as the profile carries it.
#[derive(Debug)]
pub struct ConversationSpec {
    /// Its condition; absent: always.
    pub when: Option<Template>,
    /// The stages that it stands in; empty: all.
    pub stages: Vec<Stage>,
    /// How many of the newest messages; absent: all.
    pub window: Option<Amount>,
    /// Whether a message with the id of an earlier one is left out.
    pub deduplicate: bool,
    /// Whether tool messages without their call, and calls without their results, are left out.
    pub paired_tools: bool,
    /// How text of users and assistants is written: `content`, `speaker`, `time`.
    pub template: Option<Template>,
    /// The most UTF-16 code units of one tool result.
    pub max_tool_result_chars: Option<Amount>,
    /// Trims the oldest messages to a number of estimated tokens.
    pub trim: Option<TrimSpec>,
}

/// How the oldest messages are trimmed.
#[derive(Debug)]
pub struct TrimSpec {
    /// The whole budget, in estimated tokens.
    pub max_tokens: Amount,
    /// The part of it, 0 to 1, that summaries may take.
    pub summary_budget: Share,
}

impl Profile {
    /// All sections with the message that they stand in, in order.
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

/// How often a section changes; ordered from the most stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stability {
    /// Only with the workspace.
    Stable,
    /// The same through one session.
    Session,
    /// Can change every turn.
    Volatile,
}
