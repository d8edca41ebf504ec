//! `reply`: the contract by which replies are read.

use super::{
    super::{
        inputs, keys,
        raw::{ProfileFault, RawProfile, RawReply, Spanned},
        spec::{ActionField, ActionForm, ActionSpec, Actions, Block, JsonReading, ReplyContract, Visibility},
        taught,
        words::{ACKNOWLEDGEMENTS, FORMS, OTHERS, READINGS},
    },
    Compiler,
};
use crate::{
    finding::Code,
    kai_ui,
    yaml::{Faults, Fields, Node, Pair, Value},
};

/// How many names of thoughts a contract may have: each is looked for at every tag of a reply.
pub(in crate::profile) const MAX_THOUGHTS: usize = 16;

impl Compiler<'_> {
    pub(super) fn reply(&mut self, raw: &RawReply) -> ReplyContract {
        let words = ReplyContract::WORDS.map(|word| (word, word));
        let word = raw.word.as_ref().and_then(|written| self.one_of(written, "reply contract", &words));
        let mut contract = word.and_then(ReplyContract::of_word).unwrap_or_default();
        self.set(&mut contract.acknowledgement, raw.acknowledgement.as_ref(), "acknowledgement", &ACKNOWLEDGEMENTS);
        self.set(&mut contract.form, raw.form.as_ref(), "form", &FORMS);
        self.set(&mut contract.json, raw.json.as_ref(), "reading of JSON", &READINGS);
        self.set(&mut contract.other_fields, raw.other_fields.as_ref(), "treatment of other fields", &OTHERS);
        if let (Some(written), ActionForm::Tags | ActionForm::Team, JsonReading::Lenient) =
            (&raw.json, contract.form, contract.json)
        {
            self.fault(written, "`json: lenient` needs `form: json`: a tag that is cut off is text".to_owned());
        }
        if let Some(written) = &raw.thoughts {
            contract.thoughts = self.thoughts(written);
        }
        if let Some(written) = &raw.blocks {
            contract.blocks = self.blocks(written, contract.form);
        }
        if !raw.actions.is_empty() {
            let form = contract.form;
            let actions = raw.actions.iter().filter_map(|(name, node)| self.action(name, node, form));
            contract.actions = Actions::Declared(actions.collect());
        }
        contract
    }

    /// Whether the prompt says of each action what the reader takes: one that no template mentions is never asked for.
    pub(super) fn teach(&mut self, raw: &RawProfile, contract: &ReplyContract) {
        let sections = || raw.messages.iter().flat_map(|message| &message.sections);
        let texts = || sections().flat_map(|s| [&s.template, &s.header, &s.entry, &s.footer, &s.fallback]).flatten();
        let has = |part: &str| texts().any(|text| text.value.contains(part));
        let lists = ["{{ actions", "{{actions"].iter().any(|part| has(part))
            && !self.inputs.iter().any(|input| input.field.name == "actions");
        if lists || has("reply.actions") || has("reply.schema") {
            return;
        }
        for spec in taught::taught(contract).filter(|spec| !has(&spec.name)) {
            let written = raw.reply.iter().flat_map(|reply| &reply.actions).find(|(name, _)| name.value == spec.name);
            if let Some((name, _)) = written {
                let message = format!(
                    "no template mentions the action `{}`: show it with `{{{{ actions }}}}`, or hide it",
                    spec.name
                );
                self.faults.push(name.fault(Code::ReplyUntaught, message));
            }
        }
    }

    fn set<T: Copy>(&mut self, value: &mut T, written: Option<&Spanned<String>>, what: &str, known: &[(&str, T)]) {
        if let Some(given) = written.and_then(|written| self.one_of(written, what, known)) {
            *value = given;
        }
    }

    fn thoughts(&mut self, written: &Spanned<Vec<String>>) -> Vec<String> {
        if written.value.len() > MAX_THOUGHTS {
            self.fault(written, format!("`reply.thoughts` has more than {MAX_THOUGHTS} names"));
        }
        for name in &written.value {
            let is_name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
            if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.bytes().all(is_name) {
                self.fault(written, format!("`{name}` is not the name of a tag: write `think` for <think>"));
            }
        }
        written.value.iter().map(|name| name.to_ascii_lowercase()).collect()
    }

    fn blocks(&mut self, written: &Spanned<Vec<String>>, form: ActionForm) -> Vec<Block> {
        if form == ActionForm::Json && !written.value.is_empty() {
            self.fault(written, "`reply.blocks` needs `form: tags`: one object is the whole reply".to_owned());
        }
        let unknown = written.value.iter().find(|name| *name != kai_ui::BLOCK);
        if let Some(unknown) = unknown {
            self.fault(written, format!("unknown block `{unknown}`; known: {}", kai_ui::BLOCK));
        }
        written.value.iter().map(|_| Block::KaiUi).collect()
    }

    fn action(&mut self, name: &Spanned<String>, node: &Node, form: ActionForm) -> Option<ActionSpec> {
        let found = Faults::default();
        let path = format!("reply.actions.{}", name.value);
        let mut fields = Fields::at_path(node, path.clone(), &found).by(keys::ACTION);
        let remove = fields.bool("remove").unwrap_or(false);
        let spec = ActionSpec {
            name: name.value.clone(),
            description: fields.text("description").unwrap_or_default().trim().to_owned(),
            fields: fields.pairs("fields").iter().map(|pair| action_field(pair, &path, &found)).collect(),
            first_only: fields.bool("first_only").unwrap_or(false),
            exclusive: fields.bool("exclusive").unwrap_or(false),
            strip: fields.bool("strip").unwrap_or(true),
            visibility: if fields.bool("hidden") == Some(true) { Visibility::Hidden } else { Visibility::Taught },
        };
        if form == ActionForm::Json {
            for key in ["first_only", "exclusive", "strip"].into_iter().filter(|key| fields.has(key)) {
                let message = format!("`{path}.{key}` needs `form: tags`: one object is the whole reply");
                found.add(Code::InvalidValue, fields.mark(key), message);
            }
        }
        fields.finish();
        let faults = found.into_vec();
        let is_sound = faults.is_empty();
        self.faults.extend(faults.into_iter().map(|fault| ProfileFault::of(fault, &name.file)));
        if let Some(message) = bad_name(&spec, form) {
            self.fault(name, message);
        }
        (is_sound && !remove).then_some(spec)
    }
}

/// A field's declaration is that of an input, and `number_as_text`.
fn action_field(pair: &Pair, path: &str, faults: &Faults) -> ActionField {
    const OWN: &str = "number_as_text";
    let path = format!("{path}.fields.{}", pair.key);
    let mut number_as_text = false;
    let mut node = pair.value.clone();
    if let Value::Map(pairs) = &mut node.value {
        let own: Vec<Pair> = pairs.extract_if(.., |pair| pair.key == OWN).collect();
        let own = Node { at: node.at, value: Value::Map(own) };
        number_as_text = Fields::at_path(&own, path.clone(), faults).bool(OWN).unwrap_or(false);
    }
    ActionField { field: inputs::field(&pair.key, &node, &path, faults), number_as_text }
}

fn bad_name(spec: &ActionSpec, form: ActionForm) -> Option<String> {
    let ActionSpec { name, fields, .. } = spec;
    let of_tag = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    match form {
        ActionForm::Tags if !name.starts_with(|c: char| c.is_ascii_uppercase()) || !name.bytes().all(of_tag) => {
            Some(format!("invalid tag `{name}`: it must begin with a letter and have only A-Z, 0-9 and _"))
        }
        ActionForm::Json if name.trim().is_empty() || name.trim() != name => {
            Some(format!("invalid action `{name}`: it must have text, and no white space around it"))
        }
        ActionForm::Json => {
            fields.iter().find(|field| matches!(&*field.field.name, "action" | "parameters")).map(|field| {
                format!("the action `{name}` cannot have a field `{}`, which every action has", field.field.name)
            })
        }
        ActionForm::Tags => None,
        ActionForm::Team => Some("`form: team` has no actions of its own".to_owned()),
    }
}
