//! From a decoded profile to a checked one: every template compiled, every name resolved, every fault placed.

mod limits;
mod templates;

use std::sync::Arc;

use limits::share_budgets;

use super::{
    FilePattern, declare,
    extend::Placed,
    names::{Names, text_fields},
    raw::{RawConversation, RawMessage, RawProfile, RawSection, Spot},
    spec::{
        Body, Budget, ConversationSpec, Each, Fact, Input, MessageSpec, Part, Profile, SectionSpec, Stability,
        SummaryTree, TrimSpec,
    },
    template::{Template, Templates},
    types::{Field, Type},
};
use crate::{
    finding::Code,
    id::Id,
    reply::ReplyContract,
    turn::{Role, Stage, TurnFields},
    yaml::nearest,
};

/// Checks a profile. Faults found before are in `faults`; the profile is of use only if there are none at the end.
#[must_use]
pub fn compile(raw: RawProfile, name: Id, built_in: bool, source: Arc<str>, faults: &mut Vec<Placed>) -> Profile {
    let inputs = declare::inputs(&raw.inputs, faults);
    let fields: Vec<Field> = inputs.iter().map(|input| input.field.clone()).collect();
    let mut compiler =
        Compiler { names: Names::new(&fields), inputs, budgets: Vec::new(), templates: Templates::new(), faults };
    compiler.budgets = raw.budgets.iter().filter_map(|budget| compiler.budget(budget)).collect();
    let mut parts: Vec<Part> = raw.messages.iter().map(|message| compiler.part(message)).collect();
    if parts.is_empty() {
        let fault = raw.start.fault(Code::ProfileInvalid, "a profile needs `messages`");
        compiler.faults.push(fault);
    }
    compiler.unique(&raw.messages);
    compiler.reach_summaries(&raw.messages, &parts);
    share_budgets(&mut parts, compiler.budgets.len());
    let contracts = ReplyContract::ALL.map(|contract| (contract.as_str(), contract));
    let reply = raw.reply.as_ref().and_then(|spot| compiler.one_of(spot, "reply contract", &contracts));
    Profile {
        name,
        description: raw.description.map(|spot| spot.value.trim().to_owned()).unwrap_or_default(),
        extends: raw.extends.map(|spot| spot.value),
        built_in,
        source,
        reply: reply.unwrap_or_default(),
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
    faults: &'f mut Vec<Placed>,
}

impl Compiler<'_> {
    fn part(&mut self, raw: &RawMessage) -> Part {
        match &raw.conversation {
            Some(conversation) => Part::Conversation(Box::new(self.conversation(conversation))),
            None => Part::Message(self.message(raw)),
        }
    }

    /// Summaries stand for what a conversation trims: without one that does, they are never reached.
    fn reach_summaries(&mut self, raw: &[RawMessage], parts: &[Part]) {
        let trims = |part: &Part| matches!(part, Part::Conversation(spec) if spec.trim.is_some());
        if parts.iter().any(trims) {
            return;
        }
        for section in raw.iter().flat_map(|message| &message.sections) {
            if let Some(kind) = section.kind.as_ref().filter(|kind| kind.value == "summary_tree") {
                self.fault(kind, "`summary_tree` is never reached: no conversation has `max_tokens`".to_owned());
            }
        }
    }

    fn message(&mut self, raw: &RawMessage) -> MessageSpec {
        let sections: Vec<_> = raw.sections.iter().map(|section| self.section(&raw.name.value, section)).collect();
        if sections.is_empty() {
            self.fault(&raw.name, format!("the message `{}` has no sections", raw.name.value));
        }
        let role = |compiler: &mut Self, spot: &Spot<String>| {
            let known = [("system", Role::System), ("user", Role::User), ("assistant", Role::Assistant)];
            compiler.one_of(spot, "role", &known)
        };
        MessageSpec {
            name: raw.name.value.clone(),
            role: raw.role.as_ref().and_then(|spot| role(self, spot)).unwrap_or(Role::System),
            separator: raw.separator.as_ref().map_or_else(|| "\n\n".to_owned(), |spot| spot.value.clone()),
            ephemeral: raw.ephemeral.unwrap_or(false),
            sections,
        }
    }

    /// Reports name sections by id, and extending profiles name messages: neither may stand twice.
    fn unique(&mut self, messages: &[RawMessage]) {
        let names: Vec<_> = messages.iter().map(|message| &message.name).collect();
        let ids: Vec<_> = messages.iter().flat_map(|m| m.sections.iter().map(|section| &section.id)).collect();
        for (what, spots) in [("message", names), ("section", ids)] {
            let mut seen = std::collections::HashSet::new();
            for spot in spots {
                if !seen.insert(spot.value.as_str()) {
                    self.fault(spot, format!("the {what} `{}` stands twice", spot.value));
                }
            }
        }
    }

    fn section(&mut self, message: &str, raw: &RawSection) -> SectionSpec {
        let key = format!("{message}/{}", raw.id.value);
        let when =
            raw.when.as_ref().and_then(|spot| self.condition(&format!("{key}.when"), spot, &self.section_names(raw)));
        let file = raw.file.as_ref().and_then(|spot| match FilePattern::parse(&spot.value) {
            Ok(file) => Some(file),
            Err(message) => {
                self.fault(spot, message);
                None
            }
        });
        let stability = raw.stability.as_ref().and_then(|spot| {
            let known =
                [("stable", Stability::Stable), ("session", Stability::Session), ("volatile", Stability::Volatile)];
            self.one_of(spot, "stability", &known)
        });
        let fallback =
            raw.fallback.as_ref().map(|spot| self.template(&format!("{key}.fallback"), spot, &self.names.clone()));
        if let (Some(spot), None) = (&raw.fallback, &raw.file) {
            self.fault(spot, "`fallback` goes with `file`".to_owned());
        }
        let cut = raw.limit.as_ref().and_then(|spot| self.one_of(spot, "limit", &[("context_file", true)]));
        let body = self.body(&key, raw);
        let stages = self.stages(raw.stages.as_ref());
        let deps = body_deps(&body, &self.names)
            | when.as_ref().map_or(TurnFields::NONE, |when| when.deps)
            | fallback.as_ref().map_or(TurnFields::NONE, |fallback| fallback.deps)
            | TurnFields::NONE.and_if(!stages.is_empty(), TurnFields::STAGE);
        SectionSpec {
            id: raw.id.value.clone(),
            gate: raw.when.as_ref().map(|spot| spot.value.trim().to_owned()).unwrap_or_default(),
            omitted: raw.omitted.as_ref().map(|spot| spot.value.trim().to_owned()).unwrap_or_default(),
            when,
            stability: stability.unwrap_or(Stability::Volatile),
            stages,
            separator: raw.separator.as_ref().map(|spot| spot.value.clone()),
            file,
            keep_empty: raw.keep_empty.unwrap_or(false),
            fallback,
            cut: cut.unwrap_or(false),
            body,
            deps,
        }
    }

    fn section_names(&self, raw: &RawSection) -> Names {
        if raw.file.is_some() { self.names.with(&[file_local()], TurnFields::NONE) } else { self.names.clone() }
    }

    fn body(&mut self, key: &str, raw: &RawSection) -> Body {
        let names = self.section_names(raw);
        let bodies = [raw.each.is_some(), raw.kind.is_some()].iter().filter(|set| **set).count();
        if bodies > 1 || (bodies == 0 && raw.template.is_none()) {
            self.fault(&raw.id, format!("the section `{}` needs one of `template`, `each`, `kind`", raw.id.value));
        }
        if let Some(list) = &raw.each {
            return Body::Each(self.each(key, list, raw, &names));
        }
        let Some(kind) = &raw.kind else { return Body::Text(self.template_of(key, raw, &names)) };
        match kind.value.as_str() {
            "context_files" => {
                let heading = self.template_of(key, raw, &names);
                let locals = names.with(&text_fields(&["path", "purpose", "text"]), TurnFields::NONE);
                let entry = self.required(raw, "entry", raw.entry.as_ref());
                let entry = self.template(&format!("{key}.entry"), &entry, &locals);
                let pair = |(path, purpose): &(Spot<String>, Spot<String>)| (path.value.clone(), purpose.value.clone());
                Body::ContextFiles { heading, entry, files: raw.files.iter().flatten().map(pair).collect() }
            }
            "skills" => {
                let names = names.with(&text_fields(&["available_skills"]), TurnFields::SKILLS);
                Body::Skills(self.template_of(key, raw, &names))
            }
            "facts" => {
                let facts = raw.facts.iter().flatten().filter_map(|(label, value)| self.fact(label, value)).collect();
                Body::Facts { header: raw.header.as_ref().map(|h| h.value.clone()).unwrap_or_default(), facts }
            }
            "active_skill" => {
                let skill = object("skill", &["id", "name", "body"], Some("files"));
                let names = names.with(&[skill], TurnFields::SKILLS | TurnFields::CONVERSATION | TurnFields::INPUTS);
                Body::ActiveSkill(self.template_of(key, raw, &names))
            }
            "summary_tree" => {
                let fields = text_fields(&["id", "level", "start", "end", "first", "last", "summary"]);
                let locals = names.with(&fields, TurnFields::CONVERSATION | TurnFields::INPUTS);
                let entry = self.required(raw, "entry", raw.entry.as_ref());
                Body::SummaryTree(SummaryTree {
                    header: raw.header.as_ref().map(|spot| self.template(&format!("{key}.header"), spot, &names)),
                    entry: self.template(&format!("{key}.entry"), &entry, &locals),
                    between: raw.between.as_ref().map(|spot| spot.value.clone()).unwrap_or_default(),
                    footer: raw.footer.as_ref().map(|spot| self.template(&format!("{key}.footer"), spot, &names)),
                })
            }
            _ => {
                let known = ["context_files", "skills", "facts", "active_skill", "summary_tree"];
                self.fault(kind, format!("`{}` is no kind of section; known: {}", kind.value, known.join(", ")));
                Body::Text(Template::default())
            }
        }
    }

    fn each(&mut self, key: &str, list: &Spot<String>, raw: &RawSection, names: &Names) -> Each {
        let of = list.value.split('|').next().unwrap_or_default().trim();
        let locals = match self.names.resolve(of) {
            Ok(Type::List(of)) => item_fields(of),
            Ok(Type::Any) => item_fields(&Type::Any),
            Ok(ty) => {
                self.fault(list, format!("`{}` is {}, not a list", list.value, ty.describe()));
                Vec::new()
            }
            Err(message) => {
                self.fault(list, message);
                Vec::new()
            }
        };
        let list_template = self.expression(&format!("{key}.each"), list, names).unwrap_or_default();
        let entry_names = names.with(&locals, list_template.deps);
        let entry = self.required(raw, "entry", raw.entry.as_ref());
        let budget = raw.budget.as_ref().and_then(|spot| {
            let index = self.budgets.iter().position(|budget| budget.name == spot.value);
            if index.is_none() {
                let near = nearest(&spot.value, self.budgets.iter().map(|b| b.name.as_str()).collect::<Vec<_>>());
                let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                self.fault(spot, format!("there is no budget `{}`{hint}", spot.value));
            }
            index
        });
        let whole = raw.whole.unwrap_or(false);
        if whole && budget.is_none() {
            self.fault(list, "`whole` goes with `budget`".to_owned());
        }
        Each {
            header: raw.header.as_ref().map(|spot| self.template(&format!("{key}.header"), spot, names)),
            entry: self.template(&format!("{key}.entry"), &entry, &entry_names),
            footer: raw.footer.as_ref().map(|spot| self.template(&format!("{key}.footer"), spot, names)),
            between: raw.between.as_ref().map(|spot| spot.value.clone()).unwrap_or_default(),
            list: list_template,
            of: of.to_owned(),
            budget,
            whole,
        }
    }

    fn fact(&mut self, label: &Spot<String>, value: &Spot<String>) -> Option<Fact> {
        let message = match self.names.resolve(&value.value) {
            Ok(Type::Text | Type::Choice(_) | Type::Bool | Type::Int | Type::Number) => {
                let (name, field) = value.value.split_once('.').unwrap_or((&value.value, ""));
                return Some(Fact { label: label.value.clone(), name: name.to_owned(), field: field.to_owned() });
            }
            Ok(ty) => format!("a fact is text, a number or a boolean, not {}", ty.describe()),
            Err(message) => message,
        };
        self.fault(value, message);
        None
    }

    fn conversation(&mut self, raw: &RawConversation) -> ConversationSpec {
        let locals = text_fields(&["content", "speaker", "time"]);
        let names = self.names.with(&locals, TurnFields::CONVERSATION);
        let tools = raw.tools.as_ref().and_then(|s| self.one_of(s, "tools", &[("all", false), ("paired", true)]));
        let trim = match (&raw.max_tokens, &raw.summary_budget) {
            (Some(max), Some(part)) => match (self.amount(max), self.share(part)) {
                (Some(max_tokens), Some(summary_budget)) => Some(TrimSpec { max_tokens, summary_budget }),
                _ => None,
            },
            (None, None) => None,
            (Some(alone), None) | (None, Some(alone)) => {
                self.fault(alone, "`max_tokens` and `summary_budget` go together".to_owned());
                None
            }
        };
        let globals = self.names.clone();
        ConversationSpec {
            when: raw.when.as_ref().and_then(|spot| self.condition("conversation.when", spot, &globals)),
            stages: self.stages(raw.stages.as_ref()),
            window: raw.window.as_ref().and_then(|spot| self.amount(spot)),
            deduplicate: raw.deduplicate.unwrap_or(false),
            paired_tools: tools.unwrap_or(false),
            template: raw.template.as_ref().map(|spot| self.template("conversation", spot, &names)),
            max_tool_result_chars: raw.max_tool_result_chars.as_ref().and_then(|spot| self.amount(spot)),
            trim,
        }
    }

    fn stages(&mut self, raw: Option<&Spot<Vec<String>>>) -> Vec<Stage> {
        let known = [("first", Stage::First), ("synthesis", Stage::Synthesis)];
        let Some(raw) = raw else { return Vec::new() };
        let stage =
            |name: &String| Spot { value: name.clone(), at: raw.at, file: Arc::clone(&raw.file), literal: false };
        let stages: Vec<_> = raw.value.iter().filter_map(|name| self.one_of(&stage(name), "stage", &known)).collect();
        if raw.value.is_empty() {
            self.fault(
                &stage(&String::new()),
                "a section without stages is never reached; remove it instead".to_owned(),
            );
        }
        stages
    }

    fn one_of<T: Copy>(&mut self, spot: &Spot<String>, what: &str, known: &[(&str, T)]) -> Option<T> {
        let found = known.iter().find(|(name, _)| *name == spot.value).map(|(_, value)| *value);
        if found.is_none() {
            let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
            self.fault(spot, format!("`{}` is no {what}; known: {}", spot.value, names.join(", ")));
        }
        found
    }

    fn fault<T>(&mut self, spot: &Spot<T>, message: String) {
        self.faults.push(spot.fault(Code::ProfileInvalid, message));
    }
}

/// What an entry's template sees of an item: its fields, or `item` itself, and its number from 1.
fn item_fields(of: &Type) -> Vec<Field> {
    let plain = |name: &str, ty: Type| Field {
        name: name.to_owned(),
        ty,
        required: false,
        default: None,
        description: String::new(),
    };
    let mut fields = match of {
        Type::Object(fields) => fields.clone(),
        other => vec![plain("item", other.clone())],
    };
    fields.push(plain("index", Type::Int));
    fields
}

fn file_local() -> Field {
    object("file", &["path", "text", "tasks"], None)
}

fn object(name: &str, texts: &[&str], list: Option<&str>) -> Field {
    let mut fields = text_fields(texts);
    if let Some(list) = list {
        let ty = Type::List(Box::new(Type::Text));
        fields.push(Field { name: list.to_owned(), ty, required: false, default: None, description: String::new() });
    }
    Field {
        name: name.to_owned(),
        ty: Type::Object(fields),
        required: false,
        default: None,
        description: String::new(),
    }
}

fn body_deps(body: &Body, names: &Names) -> TurnFields {
    let of = |template: &Option<Template>| template.as_ref().map_or(TurnFields::NONE, |t| t.deps);
    match body {
        Body::Text(template) => template.deps,
        Body::Each(each) => each.list.deps | each.entry.deps | of(&each.header) | of(&each.footer),
        Body::ContextFiles { heading, entry, .. } => heading.deps | entry.deps | TurnFields::CONTEXT_FILES,
        Body::Skills(template) => template.deps | TurnFields::SKILLS,
        Body::Facts { facts, .. } => facts.iter().fold(TurnFields::VARIABLES, |all, fact| all | names.deps(&fact.name)),
        Body::ActiveSkill(template) => {
            template.deps | TurnFields::SKILLS | TurnFields::CONVERSATION | TurnFields::INPUTS
        }
        Body::SummaryTree(tree) => {
            tree.entry.deps | of(&tree.header) | of(&tree.footer) | TurnFields::CONVERSATION | TurnFields::INPUTS
        }
    }
}
