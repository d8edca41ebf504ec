//! Sections: their conditions, files and bodies.

use super::{
    super::{
        FilePattern,
        names::{Names, text_fields},
        range::Range,
        raw::{RawSection, Spanned},
        spec::{Body, Each, Fact, SectionSpec, Stability, SummaryTree},
        template::Template,
        types::{Field, Type},
        words::{KINDS, LIMITS, STABILITIES},
    },
    Compiler,
};
use crate::{turn::TurnFields, yaml::nearest};

/// The skill is the input of that name, or named by the newest message of the user.
fn active_skill_deps(names: &Names) -> TurnFields {
    names.deps("active_skill") | TurnFields::SKILLS | TurnFields::CONVERSATION
}

/// What says which context files are shown.
const CONTEXT_FILES_DEPS: TurnFields = TurnFields::CONTEXT_FILES.with(TurnFields::WORKING_DIRECTORY);
/// Which summaries are shown follows from the cut, which inputs may move.
const TREE_DEPS: TurnFields = TurnFields::SUMMARIES.with(TurnFields::SESSION_INPUTS);

impl Compiler<'_> {
    pub(super) fn section(&mut self, message: &str, raw: &RawSection) -> SectionSpec {
        let key = format!("{message}/{}", raw.id.value);
        let when = raw
            .when
            .as_ref()
            .and_then(|written| self.condition(&format!("{key}.when"), written, &self.section_names(raw)));
        let file = raw.file.as_ref().and_then(|written| match FilePattern::parse(&written.value) {
            Ok(file) => Some(file),
            Err(message) => {
                self.fault(written, message);
                None
            }
        });
        let stability = raw.stability.as_ref().and_then(|written| self.one_of(written, "stability", &STABILITIES));
        let fallback = raw
            .fallback
            .as_ref()
            .map(|written| self.template(&format!("{key}.fallback"), written, &self.names.clone()));
        if let (Some(written), None) = (&raw.fallback, &raw.file) {
            self.fault(written, "`fallback` needs `file`".to_owned());
        }
        let cut = raw.limit.as_ref().and_then(|written| self.one_of(written, "limit", &LIMITS));
        let body = self.body(&key, raw);
        let stages = self.stages(raw.stages.as_ref());
        let deps = body_deps(&body, &self.names)
            | when.as_ref().map_or(TurnFields::NONE, |when| when.deps)
            | fallback.as_ref().map_or(TurnFields::NONE, |fallback| fallback.deps)
            | TurnFields::NONE.and_if(!stages.is_empty(), TurnFields::STAGE)
            | TurnFields::NONE.and_if(file.is_some(), TurnFields::CONTEXT_FILES);
        SectionSpec {
            id: raw.id.value.clone(),
            gate: raw.when.as_ref().map(|written| written.value.trim().to_owned()).unwrap_or_default(),
            omitted: raw.omitted.as_ref().map(|written| written.value.trim().to_owned()).unwrap_or_default(),
            when,
            stability: stability.unwrap_or(Stability::Volatile),
            stages,
            separator: raw.separator.as_ref().map(|written| written.value.clone()),
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
            "context_files" => self.context_files(key, raw, &names),
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
                Body::ActiveSkill(self.template_of(key, raw, &names.with(&[skill], active_skill_deps(&names))))
            }
            "summary_tree" => self.summary_tree(key, raw, &names),
            _ => {
                self.fault(kind, format!("unknown section kind `{}`; known: {}", kind.value, KINDS.join(", ")));
                Body::Text(Template::default())
            }
        }
    }

    fn context_files(&mut self, key: &str, raw: &RawSection, names: &Names) -> Body {
        let heading = self.template_of(key, raw, names);
        let locals = names.with(&text_fields(&["path", "folder", "purpose", "text"]), TurnFields::NONE);
        let entry = self.required(raw, "entry", raw.entry.as_ref());
        let entry = self.template(&format!("{key}.entry"), &entry, &locals);
        let pair = |(path, purpose): &(Spanned<String>, Spanned<String>)| (path.value.clone(), purpose.value.clone());
        Body::ContextFiles { heading, entry, files: raw.files.iter().flatten().map(pair).collect() }
    }

    fn summary_tree(&mut self, key: &str, raw: &RawSection, names: &Names) -> Body {
        let fields = text_fields(&["id", "level", "start", "end", "first", "last", "summary"]);
        let locals = names.with(&fields, TREE_DEPS);
        let entry = self.required(raw, "entry", raw.entry.as_ref());
        Body::SummaryTree(SummaryTree {
            header: raw.header.as_ref().map(|text| self.template(&format!("{key}.header"), text, names)),
            entry: self.template(&format!("{key}.entry"), &entry, &locals),
            between: raw.between.as_ref().map(|text| text.value.clone()).unwrap_or_default(),
            footer: raw.footer.as_ref().map(|text| self.template(&format!("{key}.footer"), text, names)),
        })
    }

    fn each(&mut self, key: &str, list: &Spanned<String>, raw: &RawSection, names: &Names) -> Each {
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
        let budget = raw.budget.as_ref().and_then(|written| {
            let index = self.budgets.iter().position(|budget| budget.name == written.value);
            if index.is_none() {
                let near = nearest(&written.value, self.budgets.iter().map(|b| b.name.as_str()).collect::<Vec<_>>());
                let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                self.fault(written, format!("unknown budget `{}`{hint}", written.value));
            }
            index
        });
        let whole = raw.whole.unwrap_or(false);
        if whole && budget.is_none() {
            self.fault(list, "`whole` needs `budget`".to_owned());
        }
        Each {
            header: raw.header.as_ref().map(|written| self.template(&format!("{key}.header"), written, names)),
            entry: self.template(&format!("{key}.entry"), &entry, &entry_names),
            footer: raw.footer.as_ref().map(|written| self.template(&format!("{key}.footer"), written, names)),
            between: raw.between.as_ref().map(|written| written.value.clone()).unwrap_or_default(),
            list: list_template,
            of: of.to_owned(),
            budget,
            whole,
            newest_last: list.value.split('|').skip(1).any(|filter| filter.trim_start().starts_with("newest(")),
        }
    }

    fn fact(&mut self, label: &Spanned<String>, value: &Spanned<String>) -> Option<Fact> {
        let message = match self.names.resolve(&value.value) {
            Ok(Type::Text | Type::Choice(_) | Type::Bool | Type::Int(_) | Type::Number(_)) => {
                let (name, field) = value.value.split_once('.').unwrap_or((&value.value, ""));
                return Some(Fact {
                    lead: format!("- {}: ", label.value),
                    name: name.to_owned(),
                    field: field.to_owned(),
                });
            }
            Ok(ty) => format!("a fact is text, a number or a boolean, not {}", ty.describe()),
            Err(message) => message,
        };
        self.fault(value, message);
        None
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
    fields.push(plain("index", Type::Int(Range::default())));
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
        Body::ContextFiles { heading, entry, .. } => heading.deps | entry.deps | CONTEXT_FILES_DEPS,
        Body::Skills(template) => template.deps | TurnFields::SKILLS,
        Body::Facts { facts, .. } => facts.iter().fold(TurnFields::VARIABLES, |all, fact| all | names.deps(&fact.name)),
        Body::ActiveSkill(template) => template.deps | active_skill_deps(names),
        Body::SummaryTree(tree) => tree.entry.deps | of(&tree.header) | of(&tree.footer) | TREE_DEPS,
    }
}
