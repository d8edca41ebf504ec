//! The names that every template may use besides its profile's inputs, and what of a turn each depends on.

use std::{fmt, ops};

use super::types::{Field, Type};

/// Which parts of a turn something depends on; a set. What depends on none is rendered once a revision.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Deps(u32);

impl Deps {
    /// Nothing of the turn: the workspace alone.
    pub const NONE: Self = Self(0);
    /// `turn.agent`.
    pub const AGENT: Self = Self(1);
    /// `turn.user`.
    pub const USER: Self = Self(1 << 1);
    /// `turn.channel`.
    pub const CHANNEL: Self = Self(1 << 2);
    /// `turn.now` and `turn.time_zone`: every turn has a clock.
    pub const NOW: Self = Self(1 << 3);
    /// `turn.heartbeat`.
    pub const HEARTBEAT: Self = Self(1 << 4);
    /// `turn.variables`.
    pub const VARIABLES: Self = Self(1 << 5);
    /// `turn.persona`.
    pub const PERSONA: Self = Self(1 << 6);
    /// `turn.knowledge`.
    pub const KNOWLEDGE: Self = Self(1 << 7);
    /// `turn.conversation_summary`.
    pub const SUMMARY: Self = Self(1 << 8);
    /// `turn.response_format`.
    pub const FORMAT: Self = Self(1 << 9);
    /// `turn.ephemeral_system_prompt`.
    pub const EPHEMERAL: Self = Self(1 << 10);
    /// `turn.skip_context_files` and `turn.context_files`.
    pub const CONTEXT_FILES: Self = Self(1 << 11);
    /// `turn.skill_filter` and the token's skill globs.
    pub const SKILLS: Self = Self(1 << 12);
    /// `turn.conversation`.
    pub const CONVERSATION: Self = Self(1 << 13);
    /// `turn.inputs`.
    pub const INPUTS: Self = Self(1 << 14);
    /// `turn.stage`.
    pub const STAGE: Self = Self(1 << 15);

    /// Whether the two have a part in common.
    #[must_use]
    pub fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// This, and `other` if `condition` holds.
    #[must_use]
    pub fn and_if(self, condition: bool, other: Self) -> Self {
        if condition { self | other } else { self }
    }
}

impl ops::BitOr for Deps {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl ops::BitOrAssign for Deps {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl fmt::Binary for Deps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Binary::fmt(&self.0, f)
    }
}

/// A name that every template may use.
pub struct Root {
    /// The name.
    pub name: &'static str,
    /// Its text fields; empty: it has none and is what `whole` says.
    pub fields: &'static [&'static str],
    /// What it is where it has no fields.
    pub whole: fn() -> Type,
    /// What it depends on.
    pub deps: Deps,
}

const fn object(name: &'static str, fields: &'static [&'static str], deps: Deps) -> Root {
    Root { name, fields, whole: || Type::Any, deps }
}

const fn text(name: &'static str, deps: Deps) -> Root {
    Root { name, fields: &[], whole: || Type::Text, deps }
}

const fn choice(name: &'static str, whole: fn() -> Type, deps: Deps) -> Root {
    Root { name, fields: &[], whole, deps }
}

fn words(words: &[&str]) -> Type {
    Type::Choice(words.iter().map(|word| (*word).to_owned()).collect())
}

const fn flag(name: &'static str, deps: Deps) -> Root {
    Root { name, fields: &[], whole: || Type::Bool, deps }
}

/// All of them. Text that is not known is empty, so that `when: user.name` asks for it.
pub const ROOTS: &[Root] = &[
    object("agent", &["id", "name"], Deps::AGENT),
    object("user", &["id", "name"], Deps::USER),
    object("channel", &["name", "user_id", "chat_type", "group_id"], Deps::CHANNEL),
    object("now", &["local", "utc", "zone", "long", "hour"], Deps::NOW),
    object("workspace", &["id", "root"], Deps::NONE),
    text("persona", Deps::PERSONA),
    text("conversation_summary", Deps::SUMMARY),
    choice("response_format", || words(&["text", "json_object"]), Deps::FORMAT),
    text("ephemeral_system_prompt", Deps::EPHEMERAL),
    text("heartbeat_protocol", Deps::NONE),
    choice("stage", || words(&["first", "synthesis"]), Deps::STAGE),
    flag("heartbeat", Deps::HEARTBEAT),
    flag("skip_context_files", Deps::CONTEXT_FILES),
    Root { name: "knowledge", fields: &[], whole: || texts(&["content", "source", "title"]), deps: Deps::KNOWLEDGE },
    Root { name: "skills", fields: &[], whole: || texts(&["name", "description", "location"]), deps: Deps::SKILLS },
];

/// The root of that name.
#[must_use]
pub fn root(name: &str) -> Option<&'static Root> {
    ROOTS.iter().find(|root| root.name == name)
}

impl Root {
    /// What it is.
    #[must_use]
    pub fn ty(&self) -> Type {
        if self.fields.is_empty() { (self.whole)() } else { Type::Object(text_fields(self.fields)) }
    }
}

/// Text fields of those names.
#[must_use]
pub fn text_fields(names: &[&str]) -> Vec<Field> {
    let field = |name: &&str| Field {
        name: (*name).to_owned(),
        ty: Type::Text,
        required: false,
        default: None,
        description: String::new(),
    };
    names.iter().map(field).collect()
}

fn texts(names: &[&str]) -> Type {
    Type::List(Box::new(Type::Object(text_fields(names))))
}
