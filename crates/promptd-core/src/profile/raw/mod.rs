//! A profile's YAML, decoded: every key optional, every value with its place, so that one profile can extend another.

use std::sync::Arc;

use crate::{
    finding::Code,
    yaml::{Fields, Mark, Node, Pair, Value},
};

/// A value and where it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot<T> {
    /// The value.
    pub value: T,
    /// Where it stands.
    pub at: Mark,
    /// In which file.
    pub file: Arc<str>,
    /// A `|` block, whose lines are lines of the file.
    pub literal: bool,
}

/// A profile as written.
#[derive(Debug, Clone)]
pub struct RawProfile {
    /// `name`.
    pub name: Option<Spot<String>>,
    /// `extends`.
    pub extends: Option<Spot<String>>,
    /// `description`.
    pub description: Option<Spot<String>>,
    /// `reply`.
    pub reply: Option<Spot<String>>,
    /// `inputs`: name and declaration.
    pub inputs: Vec<(Spot<String>, Node)>,
    /// `budgets`: name and declaration.
    pub budgets: Vec<RawBudget>,
    /// `messages`.
    pub messages: Vec<RawMessage>,
    /// The file's beginning, for faults of the whole.
    pub start: Spot<()>,
}

/// One of `budgets`.
#[derive(Debug, Clone)]
pub struct RawBudget {
    /// Its name.
    pub name: Spot<String>,
    /// `limit`.
    pub limit: Option<Spot<String>>,
    /// `unit`.
    pub unit: Option<Spot<String>>,
    /// `on_overflow`.
    pub on_overflow: Option<Spot<String>>,
}

/// One of `messages`.
#[derive(Debug, Clone)]
pub struct RawMessage {
    /// `name`; the conversation is named by its key.
    pub name: Spot<String>,
    /// `role`.
    pub role: Option<Spot<String>>,
    /// `separator`.
    pub separator: Option<Spot<String>>,
    /// `ephemeral`.
    pub ephemeral: Option<bool>,
    /// `remove`.
    pub remove: bool,
    /// `sections`.
    pub sections: Vec<RawSection>,
    /// Set on the conversation.
    pub conversation: Option<RawConversation>,
}

/// The key of `messages` that stands for the caller's conversation.
pub const CONVERSATION: &str = "conversation";

/// `conversation`, as one of `messages`.
#[derive(Debug, Clone, Default)]
pub struct RawConversation {
    /// `when`.
    pub when: Option<Spot<String>>,
    /// `stages`.
    pub stages: Option<Spot<Vec<String>>>,
    /// `window`: how many messages.
    pub window: Option<Spot<String>>,
    /// `deduplicate`.
    pub deduplicate: Option<bool>,
    /// `tools`.
    pub tools: Option<Spot<String>>,
    /// `template`.
    pub template: Option<Spot<String>>,
    /// `max_tool_result_chars`.
    pub max_tool_result_chars: Option<Spot<String>>,
    /// `max_tokens`.
    pub max_tokens: Option<Spot<String>>,
    /// `summary_budget`.
    pub summary_budget: Option<Spot<String>>,
}

macro_rules! raw_section {
    ($($(#[doc = $doc:literal])+ $field:ident: $ty:ty = $read:ident($key:literal);)+) => {
        /// One of a message's `sections`.
        #[derive(Debug, Clone)]
        pub struct RawSection {
            /// `id`.
            pub id: Spot<String>,
            /// `remove`.
            pub remove: bool,
            /// `after`: the section that a new one follows.
            pub after: Option<Spot<String>>,
            $($(#[doc = $doc])+ pub $field: Option<$ty>,)+
        }

        impl RawSection {
            fn read(mut fields: Fields<'_, '_>, file: &Arc<str>) -> Option<Self> {
                let id = text(&mut fields, "id", file);
                if id.is_none() {
                    fields.faults().add(Code::InvalidValue, fields.at(), "a section needs an `id`");
                }
                let section = Self {
                    id: id.clone().unwrap_or_else(|| spot(String::new(), fields.at(), file)),
                    remove: fields.bool("remove").unwrap_or(false),
                    after: text(&mut fields, "after", file),
                    $($field: $read(&mut fields, $key, file),)+
                };
                fields.finish();
                id.map(|_| section)
            }

            /// This section, with what it leaves out taken from `base`.
            #[must_use]
            pub fn over(self, base: Self) -> Self {
                Self { id: self.id, remove: self.remove, after: self.after, $($field: self.$field.or(base.$field),)+ }
            }
        }
    };
}

raw_section! {
    /// `when`.
    when: Spot<String> = text("when");
    /// `omitted`.
    omitted: Spot<String> = text("omitted");
    /// `stability`.
    stability: Spot<String> = text("stability");
    /// `stages`.
    stages: Spot<Vec<String>> = texts("stages");
    /// `separator`.
    separator: Spot<String> = text("separator");
    /// `file`.
    file: Spot<String> = text("file");
    /// `keep_empty`.
    keep_empty: bool = flag("keep_empty");
    /// `fallback`.
    fallback: Spot<String> = text("fallback");
    /// `limit`.
    limit: Spot<String> = text("limit");
    /// `budget`.
    budget: Spot<String> = text("budget");
    /// `whole`.
    whole: bool = flag("whole");
    /// `template`.
    template: Spot<String> = text("template");
    /// `each`.
    each: Spot<String> = text("each");
    /// `header`.
    header: Spot<String> = text("header");
    /// `entry`.
    entry: Spot<String> = text("entry");
    /// `between`.
    between: Spot<String> = text("between");
    /// `footer`.
    footer: Spot<String> = text("footer");
    /// `kind`.
    kind: Spot<String> = text("kind");
    /// `facts`: label and value.
    facts: Vec<(Spot<String>, Spot<String>)> = facts("facts");
    /// `files`: path and purpose.
    files: Vec<(Spot<String>, Spot<String>)> = files("files");
}

impl RawProfile {
    /// Decodes a file's root; faults go where `fields` collects them.
    #[must_use]
    pub fn read(root: &Node, mut fields: Fields<'_, '_>, file: &Arc<str>) -> Self {
        let input = |pair: &Pair| (spot(pair.key.clone(), pair.at, file), pair.value.clone());
        let profile = Self {
            name: text(&mut fields, "name", file),
            extends: text(&mut fields, "extends", file),
            description: text(&mut fields, "description", file),
            reply: text(&mut fields, "reply", file),
            inputs: fields.pairs("inputs").iter().map(input).collect(),
            budgets: budgets(&mut fields, file),
            messages: fields.each("messages").into_iter().filter_map(|message| read_message(message, file)).collect(),
            start: spot((), root.at, file),
        };
        fields.finish();
        profile
    }
}

fn budgets(fields: &mut Fields<'_, '_>, file: &Arc<str>) -> Vec<RawBudget> {
    let mut budgets = Vec::new();
    for pair in fields.pairs("budgets") {
        let mut budget = Fields::at_path(&pair.value, format!("budgets.{}", pair.key), fields.faults());
        budgets.push(RawBudget {
            name: spot(pair.key.clone(), pair.at, file),
            limit: amount(&mut budget, "limit", file),
            unit: text(&mut budget, "unit", file),
            on_overflow: text(&mut budget, "on_overflow", file),
        });
        budget.finish();
    }
    budgets
}

fn read_message(mut fields: Fields<'_, '_>, file: &Arc<str>) -> Option<RawMessage> {
    let is_conversation = fields.has(CONVERSATION);
    let name = if is_conversation {
        Some(spot(CONVERSATION.to_owned(), fields.at(), file))
    } else {
        text(&mut fields, "name", file)
    };
    if name.is_none() {
        fields.faults().add(Code::InvalidValue, fields.at(), "a message needs a `name`, or to be `conversation:`");
    }
    let message = RawMessage {
        name: name.clone().unwrap_or_else(|| spot(String::new(), fields.at(), file)),
        role: text(&mut fields, "role", file),
        separator: text(&mut fields, "separator", file),
        ephemeral: fields.bool("ephemeral"),
        remove: fields.bool("remove").unwrap_or(false),
        sections: fields.each("sections").into_iter().filter_map(|section| RawSection::read(section, file)).collect(),
        conversation: is_conversation.then(|| read_conversation(fields.fields(CONVERSATION), file)),
    };
    fields.finish();
    name.map(|_| message)
}

fn read_conversation(mut fields: Fields<'_, '_>, file: &Arc<str>) -> RawConversation {
    let conversation = RawConversation {
        when: text(&mut fields, "when", file),
        stages: texts(&mut fields, "stages", file),
        window: amount(&mut fields, "window", file),
        deduplicate: fields.bool("deduplicate"),
        tools: text(&mut fields, "tools", file),
        template: text(&mut fields, "template", file),
        max_tool_result_chars: amount(&mut fields, "max_tool_result_chars", file),
        max_tokens: amount(&mut fields, "max_tokens", file),
        summary_budget: amount(&mut fields, "summary_budget", file),
    };
    fields.finish();
    conversation
}

fn spot<T>(value: T, at: Mark, file: &Arc<str>) -> Spot<T> {
    Spot { value, at, file: Arc::clone(file), literal: false }
}

fn text(fields: &mut Fields<'_, '_>, key: &'static str, file: &Arc<str>) -> Option<Spot<String>> {
    let node = fields.node(key)?;
    let literal = matches!(&node.value, Value::Scalar(scalar) if scalar.literal);
    fields.text(key).map(|text| Spot { literal, ..spot(text.to_owned(), node.at, file) })
}

fn flag(fields: &mut Fields<'_, '_>, key: &'static str, _: &Arc<str>) -> Option<bool> {
    fields.bool(key)
}

/// A number, or an input's name.
fn amount(fields: &mut Fields<'_, '_>, key: &'static str, file: &Arc<str>) -> Option<Spot<String>> {
    let node = fields.node(key)?;
    match &node.value {
        Value::Scalar(scalar) => Some(spot(scalar.text.clone(), node.at, file)),
        _ => {
            let name = fields.name(key);
            let message = format!("`{name}` must be a number or the name of an input, not {}", node.kind());
            fields.faults().add(Code::WrongType, node.at, message);
            None
        }
    }
}

fn texts(fields: &mut Fields<'_, '_>, key: &'static str, file: &Arc<str>) -> Option<Spot<Vec<String>>> {
    let at = fields.node(key).map(|node| node.at)?;
    fields.texts(key).map(|texts| spot(texts.into_iter().map(|(text, _)| text.to_owned()).collect(), at, file))
}

fn facts(fields: &mut Fields<'_, '_>, key: &'static str, file: &Arc<str>) -> Option<Vec<(Spot<String>, Spot<String>)>> {
    pairs_of(fields, key, ["label", "value"], file)
}

fn files(fields: &mut Fields<'_, '_>, key: &'static str, file: &Arc<str>) -> Option<Vec<(Spot<String>, Spot<String>)>> {
    pairs_of(fields, key, ["path", "purpose"], file)
}

fn pairs_of(
    fields: &mut Fields<'_, '_>,
    key: &'static str,
    names: [&'static str; 2],
    file: &Arc<str>,
) -> Option<Vec<(Spot<String>, Spot<String>)>> {
    fields.node(key)?;
    let mut pairs = Vec::new();
    for mut item in fields.each(key) {
        let (first, second) = (text(&mut item, names[0], file), text(&mut item, names[1], file));
        match (first, second) {
            (Some(first), Some(second)) => pairs.push((first, second)),
            _ => {
                let message = format!("needs `{}` and `{}`", names[0], names[1]);
                item.faults().add(Code::InvalidValue, item.at(), message);
            }
        }
        item.finish();
    }
    Some(pairs)
}
