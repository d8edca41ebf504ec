//! A profile's YAML, decoded: every key optional, every value with its place, so that one profile can extend another.

mod reply;
mod section;
mod spanned;
mod tools;

use std::sync::Arc;

use self::spanned::{amount, expression, spanned, text, texts};
pub(super) use self::{
    reply::RawReply,
    section::RawSection,
    spanned::{ProfileFault, Spanned},
    tools::RawToolAllowlist,
};
use crate::{
    finding::Code,
    yaml::{Fields, Node, Pair},
};

/// A profile as written.
#[derive(Debug, Clone)]
pub(super) struct RawProfile {
    /// `name`.
    pub name: Option<Spanned<String>>,
    /// `extends`.
    pub extends: Option<Spanned<String>>,
    /// `description`.
    pub description: Option<Spanned<String>>,
    /// `cache`.
    pub cache: Option<Spanned<String>>,
    /// `order`: the names of messages, in their order.
    pub order: Option<Spanned<Vec<String>>>,
    /// `tool_allowlist`.
    pub tool_allowlist: Option<RawToolAllowlist>,
    /// `reply`.
    pub reply: Option<RawReply>,
    /// `inputs`: name and declaration.
    pub inputs: Vec<(Spanned<String>, Node)>,
    /// `budgets`: name and declaration.
    pub budgets: Vec<RawBudget>,
    /// `messages`.
    pub messages: Vec<RawMessage>,
    /// The file's beginning, for faults of the whole.
    pub start: Spanned<()>,
}

/// One of `budgets`.
#[derive(Debug, Clone)]
pub(super) struct RawBudget {
    /// Its name.
    pub name: Spanned<String>,
    /// `limit`.
    pub limit: Option<Spanned<String>>,
    /// `unit`.
    pub unit: Option<Spanned<String>>,
    /// `on_overflow`.
    pub on_overflow: Option<Spanned<String>>,
}

/// One of `messages`.
#[derive(Debug, Clone)]
pub(super) struct RawMessage {
    /// `name`; the conversation is named by its key.
    pub name: Spanned<String>,
    /// `role`.
    pub role: Option<Spanned<String>>,
    /// `separator`.
    pub separator: Option<Spanned<String>>,
    /// `ephemeral`.
    pub ephemeral: Option<bool>,
    /// `card`.
    pub card: Option<Spanned<bool>>,
    /// `remove`.
    pub remove: bool,
    /// `sections`.
    pub sections: Vec<RawSection>,
    /// Set on the conversation.
    pub conversation: Option<RawConversation>,
}

/// The key of `messages` for the caller's conversation.
pub(super) const CONVERSATION: &str = "conversation";

/// `conversation`, as one of `messages`.
#[derive(Debug, Clone, Default)]
pub(super) struct RawConversation {
    /// `when`.
    pub when: Option<Spanned<String>>,
    /// `stages`.
    pub stages: Option<Spanned<Vec<String>>>,
    /// `window`: how many messages.
    pub window: Option<Spanned<String>>,
    /// `deduplicate`.
    pub deduplicate: Option<bool>,
    /// `tools`.
    pub tools: Option<Spanned<String>>,
    /// `template`.
    pub template: Option<Spanned<String>>,
    /// `max_tool_result_chars`.
    pub max_tool_result_chars: Option<Spanned<String>>,
    /// `max_tokens`.
    pub max_tokens: Option<Spanned<String>>,
    /// `summary_budget`.
    pub summary_budget: Option<Spanned<String>>,
    /// `keep_unsummarised`.
    pub keep_unsummarised: Option<Spanned<String>>,
    /// `auto_recall`.
    pub auto_recall: Option<Spanned<String>>,
}

impl RawProfile {
    /// Decodes a file's root; faults go where `fields` collects them.
    #[must_use]
    pub(super) fn read(root: &Node, mut fields: Fields<'_, '_>, file: &Arc<str>) -> Self {
        let input = |pair: &Pair| (spanned(pair.key.clone(), pair.at, file), pair.value.clone());
        let profile = Self {
            name: text(&mut fields, "name", file),
            extends: text(&mut fields, "extends", file),
            description: text(&mut fields, "description", file),
            cache: text(&mut fields, "cache", file),
            order: texts(&mut fields, "order", file),
            tool_allowlist: RawToolAllowlist::read(&mut fields, file),
            reply: RawReply::read(&mut fields, file),
            inputs: fields.pairs("inputs").iter().map(input).collect(),
            budgets: budgets(&mut fields, file),
            messages: fields.each("messages").into_iter().filter_map(|message| read_message(message, file)).collect(),
            start: spanned((), root.at, file),
        };
        fields.finish();
        profile
    }
}

fn budgets(fields: &mut Fields<'_, '_>, file: &Arc<str>) -> Vec<RawBudget> {
    let mut budgets = Vec::new();
    for (pair, mut budget) in fields.named("budgets") {
        budgets.push(RawBudget {
            name: spanned(pair.key.clone(), pair.at, file),
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
    let own = text(&mut fields, "name", file);
    let conversation = read_conversation(fields.fields(CONVERSATION), file);
    if let Some(own) = own.as_ref().filter(|_| is_conversation) {
        fields.faults().add(Code::InvalidValue, own.at, "the conversation has no `name`; remove it");
    }
    let name = if is_conversation { Some(spanned(CONVERSATION.to_owned(), fields.at(), file)) } else { own };
    if name.is_none() {
        fields.faults().add(Code::InvalidValue, fields.at(), "a message needs a `name`, or to be `conversation:`");
    }
    let message = RawMessage {
        name: name.clone().unwrap_or_else(|| spanned(String::new(), fields.at(), file)),
        role: text(&mut fields, "role", file),
        separator: text(&mut fields, "separator", file),
        ephemeral: fields.bool("ephemeral"),
        card: fields.bool("card").map(|card| spanned(card, fields.mark("card"), file)),
        remove: fields.bool("remove").unwrap_or(false),
        sections: fields.each("sections").into_iter().filter_map(|section| RawSection::read(section, file)).collect(),
        conversation: is_conversation.then_some(conversation),
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
        keep_unsummarised: expression(&mut fields, "keep_unsummarised", file),
        auto_recall: expression(&mut fields, "auto_recall", file),
    };
    fields.finish();
    conversation
}
