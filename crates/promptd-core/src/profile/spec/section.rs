//! A section of a message.

use crate::{
    profile::{FilePattern, template::Template},
    turn::{Stage, TurnFields},
};

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
    /// The stages that it is part of; empty: all.
    pub stages: Vec<Stage>,
    /// The text before it, instead of the message's separator.
    pub separator: Option<String>,
    /// The workspace file that it is made from; without it the section is left out.
    pub file: Option<FilePattern>,
    /// Whether it is included also where the file has only white space.
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

impl SectionSpec {
    /// The names that its condition and templates use, locals included; a name may come more than once.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let templates = self.when.iter().chain(&self.fallback).chain(self.body.templates());
        let facts = match &self.body {
            Body::Facts { facts, .. } => facts.as_slice(),
            _ => &[],
        };
        let facts = facts.iter().map(|fact| fact.name.as_str());
        templates.flat_map(|template| template.names().iter().map(String::as_str)).chain(facts)
    }

    /// Whether a condition or template of it uses a name.
    #[must_use]
    pub fn uses(&self, name: &str) -> bool {
        self.names().any(|used| used == name)
    }
}

/// What a section says.
#[derive(Debug)]
pub enum Body {
    /// A template.
    Text(Template),
    /// A template for each of a list.
    Each(Each),
    /// The workspace's context files under fair limits, each a section whose id is below this one's.
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
        /// The text before the lines.
        header: String,
        /// Label and value, in order.
        facts: Vec<Fact>,
    },
    /// The skill that the turn activates: `skill` in a template.
    ActiveSkill(Template),
    /// The summaries of what the conversation left out, each a section whose id is below this one's.
    SummaryTree(SummaryTree),
}

impl Body {
    fn templates(&self) -> impl Iterator<Item = &Template> {
        let (first, second, header, footer) = match self {
            Self::Text(template) | Self::Skills(template) | Self::ActiveSkill(template) => {
                (Some(template), None, None, None)
            }
            Self::Each(Each { list, header, entry, footer, .. }) => {
                (Some(list), Some(entry), header.as_ref(), footer.as_ref())
            }
            Self::ContextFiles { heading, entry, .. } => (Some(heading), Some(entry), None, None),
            Self::Facts { .. } => (None, None, None, None),
            Self::SummaryTree(SummaryTree { header, entry, footer, .. }) => {
                (Some(entry), None, header.as_ref(), footer.as_ref())
            }
        };
        [first, second, header, footer].into_iter().flatten()
    }
}

/// A template for each of a list.
#[derive(Debug)]
pub struct Each {
    /// The list.
    pub list: Template,
    /// The name of the list that it is taken from.
    pub of: String,
    /// The text before the first entry.
    pub header: Option<Template>,
    /// One entry.
    pub entry: Template,
    /// The text between entries.
    pub between: String,
    /// The text after the last entry.
    pub footer: Option<Template>,
    /// The budget it draws on, by index: whole entries only.
    pub budget: Option<usize>,
    /// Whether the section is left out unless the budget holds all of it.
    pub whole: bool,
    /// Whether its newest entries are its last, as of a list that `newest` shortens: the prompt's own budget then leaves out the
    /// first ones.
    pub newest_last: bool,
}

/// How the summaries of a conversation are written.
#[derive(Debug)]
pub struct SummaryTree {
    /// The text before the first.
    pub header: Option<Template>,
    /// One summary: `id`, `level`, `start`, `end`, `first`, `last`, `summary`.
    pub entry: Template,
    /// The text between two.
    pub between: String,
    /// The text after the last.
    pub footer: Option<Template>,
}

/// A line of runtime facts.
#[derive(Debug, Clone)]
pub struct Fact {
    /// What comes before the value: `- ` and the label, a colon and a space.
    pub lead: String,
    /// The name whose value it shows.
    pub name: String,
    /// The field of that name; may be empty.
    pub field: String,
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
