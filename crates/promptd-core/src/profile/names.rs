//! The names that templates may use, and what of a turn each depends on.

use super::{
    range::Range,
    spec::{Input, ReplyContract},
    taught,
    types::{Field, Type},
};
use crate::{turn::TurnFields, yaml::nearest};

/// The names that a template may use: roots, inputs, and locals such as an entry's fields.
#[derive(Debug, Clone)]
pub struct Names(Vec<(String, Type, TurnFields)>);

impl Names {
    /// The roots, a profile's inputs, and what its reply contract gives unless an input has the name.
    #[must_use]
    pub fn new(inputs: &[Input], contract: &ReplyContract) -> Self {
        let roots = ROOTS.iter().map(|root| (root.name.to_owned(), root.ty(), root.deps));
        let inputs = inputs.iter().map(|input| (input.field.name.clone(), input.field.ty.clone(), input.deps()));
        let taught = taught::NAMES.into_iter().zip(taught::types(contract));
        let taught = taught.map(|(name, ty)| (name.to_owned(), ty, TurnFields::NONE));
        Self(roots.chain(inputs).chain(taught).collect())
    }

    /// These names, and locals that come first.
    #[must_use]
    pub fn with(&self, locals: &[Field], deps: TurnFields) -> Self {
        let locals = locals.iter().map(|field| (field.name.clone(), field.ty.clone(), deps));
        Self(locals.chain(self.0.iter().cloned()).collect())
    }

    /// These names, as the conversation itself sees them.
    #[must_use]
    pub fn of_conversation(&self) -> Self {
        Self(self.0.iter().filter(|(name, ..)| name != TRIMMED_MESSAGES).cloned().collect())
    }

    fn find(&self, name: &str) -> Option<&(String, Type, TurnFields)> {
        self.0.iter().find(|(known, ..)| known == name)
    }

    /// The type of a dotted path; the error names what is not known.
    pub fn resolve(&self, path: &str) -> Result<&Type, String> {
        let mut steps = path.split('.');
        let first = steps.next().unwrap_or_default();
        let Some((_, mut ty, _)) = self.find(first).map(|(n, t, d)| (n, t, d)) else {
            return Err(unknown(first, "", self.0.iter().map(|(name, ..)| name.as_str())));
        };
        let mut parent = first.len();
        for step in steps {
            let (above, below) = (&path[..parent], parent + 1 + step.len());
            match ty {
                Type::Object(fields) => match fields.iter().find(|f| f.name == step) {
                    Some(field) => ty = &field.ty,
                    None => return Err(unknown(step, above, fields.iter().map(|f| f.name.as_str()))),
                },
                Type::Any => return Ok(ty),
                _ => return Err(format!("unknown name `{path}`; {} has no fields", ty.describe())),
            }
            parent = below;
        }
        Ok(ty)
    }

    /// What a name depends on.
    #[must_use]
    pub fn deps(&self, name: &str) -> TurnFields {
        self.find(name).map_or(TurnFields::NONE, |(.., deps)| *deps)
    }
}

fn unknown<'k>(name: &str, parent: &str, known: impl Iterator<Item = &'k str>) -> String {
    let known: Vec<_> = known.collect();
    let hint = nearest(name, known.iter().copied()).map(|near| format!("; did you mean `{near}`?"));
    let dot = if parent.is_empty() { "" } else { "." };
    format!("`{parent}{dot}{name}` is not known{}", hint.unwrap_or_default())
}

/// A name that every template may use.
pub(super) struct Root {
    /// The name.
    pub name: &'static str,
    /// Its text fields; empty: it has none and is what `whole` says.
    pub fields: &'static [&'static str],
    /// What it is where it has no fields.
    pub whole: fn() -> Type,
    /// What it depends on.
    pub deps: TurnFields,
}

const fn object(name: &'static str, fields: &'static [&'static str], deps: TurnFields) -> Root {
    Root { name, fields, whole: || Type::Any, deps }
}

const fn text(name: &'static str, deps: TurnFields) -> Root {
    Root { name, fields: &[], whole: || Type::Text, deps }
}

const fn choice(name: &'static str, whole: fn() -> Type, deps: TurnFields) -> Root {
    Root { name, fields: &[], whole, deps }
}

fn words(words: &[&str]) -> Type {
    Type::Choice(words.iter().map(|word| (*word).to_owned()).collect())
}

const fn flag(name: &'static str, deps: TurnFields) -> Root {
    Root { name, fields: &[], whole: || Type::Bool, deps }
}

/// How many messages of the history come before the first that is carried. The conversation itself has no such name: what it
/// leaves out is known only once it is carried.
const TRIMMED_MESSAGES: &str = "trimmed_messages";

/// All of them. Text that is not known is empty, so that `when: user.name` asks for it.
pub(super) const ROOTS: &[Root] = &[
    object("agent", &["id", "name"], TurnFields::AGENT),
    object("user", &["id", "name"], TurnFields::USER),
    object("channel", &["name", "user_id", "chat_type", "group_id"], TurnFields::CHANNEL),
    object("now", &["local", "utc", "zone", "long", "hour"], TurnFields::NOW),
    object("workspace", &["id", "root"], TurnFields::NONE),
    text("persona", TurnFields::PERSONA),
    text("conversation_summary", TurnFields::SUMMARY),
    choice("response_format", || words(&["text", "json_object"]), TurnFields::FORMAT),
    text("ephemeral_system_prompt", TurnFields::EPHEMERAL),
    text("heartbeat_protocol", TurnFields::NONE),
    choice("stage", || words(&["first", "synthesis"]), TurnFields::STAGE),
    text("working_directory", TurnFields::WORKING_DIRECTORY),
    Root {
        name: TRIMMED_MESSAGES,
        fields: &[],
        whole: || Type::Int(Range::NOT_NEGATIVE),
        deps: TurnFields::CONVERSATION,
    },
    flag("heartbeat", TurnFields::HEARTBEAT),
    flag("skip_context_files", TurnFields::CONTEXT_FILES),
    Root {
        name: "knowledge",
        fields: &[],
        whole: || texts(&["content", "source", "title"]),
        deps: TurnFields::KNOWLEDGE,
    },
    Root {
        name: "skills",
        fields: &[],
        whole: || texts(&["name", "description", "location"]),
        deps: TurnFields::SKILLS,
    },
];

/// The root of that name.
#[must_use]
pub(super) fn root(name: &str) -> Option<&'static Root> {
    ROOTS.iter().find(|root| root.name == name)
}

impl Root {
    /// What it is.
    #[must_use]
    pub(super) fn ty(&self) -> Type {
        if self.fields.is_empty() { (self.whole)() } else { Type::Object(text_fields(self.fields)) }
    }
}

/// Text fields of those names.
#[must_use]
pub(super) fn text_fields(names: &[&str]) -> Vec<Field> {
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
