//! From a decoded profile to a checked one: every template compiled, every name resolved, every fault placed.

mod limits;
pub(super) mod reply;
mod section;
mod stability;
mod templates;
mod tools;

use std::sync::Arc;

use self::limits::share_budgets;
use super::{
    inputs,
    names::{Names, text_fields},
    raw::{ProfileFault, RawConversation, RawMessage, RawProfile, Spanned},
    spec::{Budget, ConversationSpec, Input, MessageSpec, Part, Profile, ReplyContract, TrimSpec, takes_recalled},
    taught::Taught,
    template::{Template, Templates},
    words::{PLACEMENTS, ROLES, STAGES, TOOLS},
};
use crate::{
    finding::Code,
    id::Id,
    turn::{Role, Stage, TurnFields},
};

/// Checks a profile. Faults found before are in `faults`; the profile is of use only if there are none at the end.
#[must_use]
pub(super) fn compile(
    raw: RawProfile,
    name: Id,
    built_in: bool,
    source: Arc<str>,
    faults: &mut Vec<ProfileFault>,
) -> Profile {
    let mut inputs = inputs::declared(&raw.inputs, faults);
    tools::destabilise(&mut inputs, raw.tool_allowlist.as_ref());
    let names = Names::new(&[], &ReplyContract::default());
    let mut compiler = Compiler { names, inputs, budgets: Vec::new(), templates: Templates::new(), faults };
    let reply = raw.reply.as_ref().map(|reply| compiler.reply(reply)).unwrap_or_default();
    compiler.names = Names::new(&compiler.inputs, &reply);
    compiler.budgets = raw.budgets.iter().filter_map(|budget| compiler.budget(budget)).collect();
    let mut parts: Vec<Part> = raw.messages.iter().map(|message| compiler.part(message)).collect();
    if parts.is_empty() {
        let fault = raw.start.fault(Code::ProfileInvalid, "a profile needs `messages`");
        compiler.faults.push(fault);
    }
    compiler.unique(&raw.messages);
    compiler.needs_a_base(&raw);
    compiler.reach_summaries(&raw.messages, &parts);
    share_budgets(&mut parts, &compiler.budgets, &compiler.inputs);
    compiler.prove_stability(&raw.messages, &parts);
    compiler.teach(&raw, &reply);
    let tool_allowlist = raw.tool_allowlist.as_ref().and_then(|raw| compiler.tool_allowlist(raw));
    let cache = raw.cache.as_ref().and_then(|written| compiler.one_of(written, "`cache` value", &PLACEMENTS));
    Profile {
        name,
        description: raw.description.map(|written| written.value.trim().to_owned()).unwrap_or_default(),
        extends: raw.extends.map(|written| written.value),
        built_in,
        source,
        taught: Taught::of(&reply),
        cache: cache.unwrap_or_default(),
        tool_allowlist,
        reply: Arc::new(reply),
        budgets: compiler.budgets,
        inputs: compiler.inputs,
        templates: compiler.templates,
        parts,
    }
}

struct Compiler<'f> {
    names: Names,
    inputs: Vec<Input>,
    budgets: Vec<Budget>,
    templates: Templates,
    faults: &'f mut Vec<ProfileFault>,
}

impl Compiler<'_> {
    fn part(&mut self, raw: &RawMessage) -> Part {
        match &raw.conversation {
            Some(conversation) => Part::Conversation(Box::new(self.conversation(conversation))),
            None => Part::Message(self.message(raw)),
        }
    }

    /// Summaries replace what a conversation trims: without one that trims, they are never used.
    fn reach_summaries(&mut self, raw: &[RawMessage], parts: &[Part]) {
        let trims = |part: &Part| matches!(part, Part::Conversation(spec) if spec.trim.is_some());
        if parts.iter().any(trims) {
            return;
        }
        for section in raw.iter().flat_map(|message| &message.sections) {
            if let Some(kind) = section.kind.as_ref().filter(|kind| kind.value == "summary_tree") {
                self.fault(kind, "`summary_tree` is never used: no conversation has `max_tokens`".to_owned());
            }
        }
    }

    fn message(&mut self, raw: &RawMessage) -> MessageSpec {
        let sections: Vec<_> = raw.sections.iter().map(|section| self.section(&raw.name.value, section)).collect();
        if sections.is_empty() {
            self.fault(&raw.name, format!("the message `{}` has no sections", raw.name.value));
        }
        let role = |compiler: &mut Self, written: &Spanned<String>| compiler.one_of(written, "role", &ROLES);
        let is_card = raw.card.as_ref().is_some_and(|card| card.value);
        if let (true, Some(role)) = (is_card, &raw.role) {
            self.fault(role, "a card has no role: it is not for the model".to_owned());
        }
        MessageSpec {
            name: raw.name.value.clone(),
            role: raw.role.as_ref().and_then(|written| role(self, written)).unwrap_or(Role::System),
            separator: raw.separator.as_ref().map_or_else(|| "\n\n".to_owned(), |written| written.value.clone()),
            ephemeral: raw.ephemeral.unwrap_or(false),
            is_card,
            sections,
        }
    }

    /// What is left of these was for a profile that this one lies over.
    fn needs_a_base(&mut self, raw: &RawProfile) {
        if raw.extends.is_some() {
            return;
        }
        if let Some(order) = &raw.order {
            self.fault(order, "`order` needs `extends`".to_owned());
        }
        for section in raw.messages.iter().flat_map(|message| &message.sections).filter(|section| section.moves) {
            self.fault(&section.id, "`move` needs `extends`".to_owned());
        }
    }

    /// Reports name sections by id, and extending profiles name messages: both must be unique.
    fn unique(&mut self, messages: &[RawMessage]) {
        let names: Vec<_> = messages.iter().map(|message| &message.name).collect();
        let ids: Vec<_> = messages.iter().flat_map(|m| m.sections.iter().map(|section| &section.id)).collect();
        for (what, all) in [("message", names), ("section", ids)] {
            let mut seen = std::collections::HashSet::new();
            for written in all {
                if !seen.insert(written.value.as_str()) {
                    self.fault(written, format!("duplicate {what} `{}`", written.value));
                }
            }
        }
    }

    fn conversation(&mut self, raw: &RawConversation) -> ConversationSpec {
        let locals = text_fields(&["content", "speaker", "time"]);
        let globals = self.names.of_conversation();
        let names = globals.with(&locals, TurnFields::CONVERSATION);
        if let Some(tools) = &raw.tools {
            // Of profiles written before: calls and results are paired under every profile now.
            let _: Option<()> = self.one_of(tools, "tools", &TOOLS);
        }
        let trim = match (&raw.max_tokens, &raw.summary_budget) {
            (Some(max), Some(part)) => match (self.amount(max), self.share(part)) {
                (Some(max_tokens), Some(summary_budget)) => {
                    let keep = raw.keep_unsummarised.as_ref();
                    let keep = keep.and_then(|it| self.condition("conversation.keep_unsummarised", it, &globals));
                    Some(TrimSpec { max_tokens, summary_budget, keep_unsummarised: keep })
                }
                _ => None,
            },
            (None, None) => {
                if let Some(alone) = &raw.keep_unsummarised {
                    self.fault(alone, "`keep_unsummarised` needs `max_tokens`: nothing is trimmed here".to_owned());
                }
                None
            }
            (Some(alone), None) | (None, Some(alone)) => {
                self.fault(alone, "`max_tokens` and `summary_budget` need each other".to_owned());
                None
            }
        };
        let auto_recall =
            raw.auto_recall.as_ref().and_then(|written| self.auto_recall(written, raw.max_tokens.is_some(), &globals));
        ConversationSpec {
            when: raw.when.as_ref().and_then(|written| self.condition("conversation.when", written, &globals)),
            stages: self.stages(raw.stages.as_ref()),
            window: raw.window.as_ref().and_then(|written| self.amount(written)),
            deduplicate: raw.deduplicate.unwrap_or(false),
            template: raw.template.as_ref().map(|written| self.template("conversation", written, &names)),
            max_tool_result_chars: raw.max_tool_result_chars.as_ref().and_then(|written| self.amount(written)),
            trim,
            auto_recall,
        }
    }

    fn auto_recall(&mut self, written: &Spanned<String>, trims: bool, names: &Names) -> Option<Template> {
        if !trims {
            self.fault(written, "`auto_recall` needs `max_tokens`: nothing is trimmed here".to_owned());
        }
        if !takes_recalled(&self.inputs) {
            let needs = "an input `recall`, a list of objects with `time`, `text` and `message_end`";
            self.fault(written, format!("`auto_recall` needs {needs}"));
        }
        self.condition("conversation.auto_recall", written, names)
    }

    fn stages(&mut self, raw: Option<&Spanned<Vec<String>>>) -> Vec<Stage> {
        let Some(raw) = raw else { return Vec::new() };
        let stage =
            |name: &String| Spanned { value: name.clone(), at: raw.at, file: Arc::clone(&raw.file), literal: false };
        let stages: Vec<_> = raw.value.iter().filter_map(|name| self.one_of(&stage(name), "stage", &STAGES)).collect();
        if raw.value.is_empty() {
            self.fault(&stage(&String::new()), "a section without stages is never used; remove it".to_owned());
        }
        stages
    }

    fn one_of<T: Copy>(&mut self, written: &Spanned<String>, what: &str, known: &[(&str, T)]) -> Option<T> {
        let found = known.iter().find(|(name, _)| *name == written.value).map(|(_, value)| *value);
        if found.is_none() {
            let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
            self.fault(written, format!("unknown {what} `{}`; known: {}", written.value, names.join(", ")));
        }
        found
    }

    fn fault<T>(&mut self, written: &Spanned<T>, message: String) {
        self.faults.push(written.fault(Code::ProfileInvalid, message));
    }
}
