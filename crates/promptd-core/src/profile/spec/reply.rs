//! How a profile's replies are read: what acknowledges a heartbeat, what are thoughts, what are actions.

use crate::profile::types::Field;

/// The rules by which a reply is taken apart.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplyContract {
    /// What acknowledges a heartbeat.
    pub acknowledgement: Acknowledgement,
    /// Names of the tags that hold thoughts, in lower case: `think` for `<think>…</think>`.
    pub thoughts: Vec<String>,
    /// How an action is written.
    pub form: ActionForm,
    /// How the JSON of an action is read.
    pub json: JsonReading,
    /// What happens to fields of a payload that its action does not declare.
    pub other_fields: OtherFields,
    /// Which code fences are actions.
    pub blocks: Vec<Block>,
    /// Which actions there are.
    pub actions: Actions,
}

/// A code fence that is an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block {
    /// A screen of [`crate::kai_ui`].
    KaiUi,
}

/// What acknowledges a heartbeat.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Acknowledgement {
    /// A reply that is the token, or nothing.
    #[default]
    Exact,
    /// A reply that has the token as a word, whatever else it says.
    Anywhere,
}

/// How an action is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ActionForm {
    /// `[TAG:{…}]`, any number of them in the text.
    #[default]
    Tags,
    /// The reply is one JSON object, whose `action` names it and whose `parameters` are laid over the rest.
    Json,
    /// The reply is one team of a card game, whose cards are numbers of those in the prompt.
    Team,
}

/// How the JSON of an action is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum JsonReading {
    /// As RFC 8259 has it.
    #[default]
    Strict,
    /// What is cut off is closed and what is misspelt is read as far as it goes, each with a finding.
    Lenient,
}

/// What happens to fields of a payload that its action does not declare.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OtherFields {
    /// They stay in the payload.
    #[default]
    Keep,
    /// They are left out of it.
    Drop,
}

/// Which actions a reply can have.
#[derive(Debug, Clone, PartialEq)]
pub enum Actions {
    /// Any name, with any payload: the meaning of `reply: five-layer`, `kai` and `airi`.
    Any,
    /// These alone.
    Declared(Vec<ActionSpec>),
}

/// A declared action.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionSpec {
    /// The tag, or the value of `action`.
    pub name: String,
    /// For the model and for people; may be empty.
    pub description: String,
    /// The fields of its payload, in order.
    pub fields: Vec<ActionField>,
    /// Only the first of a reply counts.
    pub first_only: bool,
    /// Where it is, it is the reply's only action.
    pub exclusive: bool,
    /// Whether it is taken out of the text.
    pub strip: bool,
    /// Whether the model learns of it.
    pub visibility: Visibility,
}

/// Whether an action is among those that templates show. Every action is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Visibility {
    /// It is shown.
    #[default]
    Taught,
    /// It is not.
    Hidden,
}

/// A declared field of an action.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionField {
    /// Its name, type and default.
    pub field: Field,
    /// A number among `parameters` is taken as its text.
    pub number_as_text: bool,
}

/// The thoughts that are taken away where a profile says nothing else.
const THOUGHTS: [&str; 4] = ["think", "thinking", "thought", "reasoning"];

impl Default for ReplyContract {
    /// The token alone acknowledges, and there are no actions.
    fn default() -> Self {
        Self {
            acknowledgement: Acknowledgement::default(),
            thoughts: THOUGHTS.map(ToOwned::to_owned).to_vec(),
            form: ActionForm::default(),
            json: JsonReading::default(),
            other_fields: OtherFields::default(),
            blocks: Vec::new(),
            actions: Actions::Declared(Vec::new()),
        }
    }
}

impl ReplyContract {
    /// The words that `reply` may be instead of a mapping.
    pub const WORDS: [&'static str; 3] = ["five-layer", "kai", "airi"];

    /// What a word means.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        let any = Self { actions: Actions::Any, ..Self::default() };
        match word {
            "five-layer" => Some(any),
            "kai" => Some(Self { acknowledgement: Acknowledgement::Anywhere, ..any }),
            "airi" => Some(Self { form: ActionForm::Json, json: JsonReading::Lenient, ..any }),
            _ => None,
        }
    }

    /// The declared actions, in order.
    #[must_use]
    pub fn declared(&self) -> &[ActionSpec] {
        match &self.actions {
            Actions::Declared(actions) => actions,
            Actions::Any => &[],
        }
    }
}
