//! Spans: every byte of every section once, in order, and what is verbatim is.

use std::{collections::BTreeMap, ops::Range};

use promptd_core::{
    finding::member,
    profile::{Field, Profile, Type},
    prompt::{self, Holder, OriginKind, Outcome, Prepared, Prompt, Span},
    turn::Turn,
};
use proptest::{collection::vec, option, prelude::*};
use serde_json::{Map, Value, json};

use crate::arbitrary::{Files, PROFILES, checked, files, raw_turn, settings, snapshot, text};
use crate::budget::budget;

/// Everything that a span can be of, by the kind and the name of its origin. Names that are too long are cut, so one may be of
/// several texts.
struct Sources(BTreeMap<(OriginKindName, String), Vec<Vec<u8>>>);

type OriginKindName = &'static str;

impl Sources {
    fn new(files: &Files, snapshot: &Prepared, profile: &Profile, turn: &Turn) -> Self {
        let mut all = Self(BTreeMap::new());
        for (path, bytes) in files {
            let read = &bytes[..bytes.len().min(snapshot.settings.max_file_bytes)];
            all.add(OriginKind::File, path, read);
        }
        let mut field = |name: &str, text: &str| all.add(OriginKind::Turn, &format!("turn.{name}"), text.as_bytes());
        if let Some(agent) = &turn.agent {
            field("agent.id", &agent.id);
            field("agent.name", &agent.name);
        }
        if let Some(user) = &turn.user {
            field("user.id", &user.id);
            field("user.name", &user.name);
        }
        if let Some(channel) = &turn.channel {
            field("channel.name", &channel.name);
            field("channel.user_id", &channel.user_id);
            field("channel.chat_type", &channel.chat_type);
            field("channel.group_id", &channel.group_id);
        }
        field("persona", turn.persona.as_deref().unwrap_or_default());
        field("ephemeral_system_prompt", turn.ephemeral_system_prompt.as_deref().unwrap_or_default());
        field("conversation_summary", &turn.conversation_summary);
        for (index, snippet) in turn.knowledge.iter().enumerate() {
            field(&format!("knowledge[{index}].content"), &snippet.content);
            field(&format!("knowledge[{index}].source"), &snippet.source);
            field(&format!("knowledge[{index}].title"), &snippet.title);
        }
        for (index, message) in turn.conversation.messages.iter().enumerate() {
            field(&format!("conversation.messages[{index}].content"), &message.content);
        }
        for (index, segment) in turn.conversation.segments.iter().enumerate() {
            field(&format!("conversation.segments[{index}].id"), &segment.id);
            field(&format!("conversation.segments[{index}].summary"), &segment.summary);
        }
        for (key, value) in &turn.variables {
            field(&member("variables", key), value.as_str().unwrap_or_default());
        }
        let manifest = &snapshot.manifest;
        let own = &manifest.agent;
        for (key, text) in [
            ("agent.id", Some(&own.id)),
            ("agent.name", Some(&own.name)),
            ("agent.persona", own.persona.as_ref()),
            ("agent.ephemeral_system_prompt", own.ephemeral_system_prompt.as_ref()),
            ("heartbeat.protocol", manifest.heartbeat_protocol.as_ref()),
        ] {
            all.add(OriginKind::Setting, key, text.map(String::as_str).unwrap_or_default().as_bytes());
        }
        for (index, file) in manifest.context.files.iter().enumerate() {
            all.add(OriginKind::Setting, &format!("context.files[{index}].purpose"), file.purpose.as_bytes());
        }
        for input in &profile.inputs {
            let path = format!("inputs.{}", input.field.name);
            let given = [
                (OriginKind::Input, turn.inputs.get(&input.field.name)),
                (OriginKind::Setting, manifest.inputs.get(&input.field.name)),
                (OriginKind::Profile, input.field.default.as_ref()),
            ];
            for (kind, value) in given {
                all.add_json(kind, &path, value.unwrap_or(&Value::Null));
            }
        }
        all
    }

    fn add(&mut self, kind: OriginKind, name: &str, bytes: &[u8]) {
        self.0.entry((kind.as_str(), name.to_owned())).or_default().push(bytes.to_owned());
    }

    fn add_json(&mut self, kind: OriginKind, path: &str, value: &Value) {
        match value {
            Value::String(text) => self.add(kind, path, text.as_bytes()),
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(i, item)| self.add_json(kind, &format!("{path}[{i}]"), item));
            }
            Value::Object(fields) => {
                fields.iter().for_each(|(key, value)| self.add_json(kind, &member(path, key), value));
            }
            _ => {}
        }
    }

    /// Whether the bytes are those of the span's source.
    fn has(&self, span: &Span, bytes: &[u8]) -> bool {
        let texts = self.0.get(&(span.origin.kind.as_str(), span.origin.name.clone()));
        texts.is_some_and(|texts| texts.iter().any(|text| text.get(range(&span.source)) == Some(bytes)))
    }
}

fn range(range: &Range<u64>) -> Range<usize> {
    usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()
}

/// The text that a section is part of.
fn held<'p>(prompt: &'p Prompt<'_>, holder: Holder) -> &'p str {
    match holder {
        Holder::Message(index) => &prompt.messages[index as usize].content,
        Holder::Card(index) => &prompt.cards[index as usize].content,
    }
}

/// All of a prompt but its spans.
fn without_spans(mut prompt: Prompt<'_>) -> String {
    prompt.sections.iter_mut().for_each(|section| section.spans = Box::default());
    let messages: Vec<_> = prompt
        .messages
        .iter()
        .chain(&prompt.cards)
        .map(|m| (m.name, &m.content, m.digest, m.size, m.stability, &m.cache_prefix))
        .collect();
    format!("{messages:?} {:?} {:?} {:?} {:?}", prompt.sections, prompt.findings, prompt.digest, prompt.cache_plan)
}

/// What is true of all spans of all prompts.
fn check(files: &Files, snapshot: &Prepared, profile: &Profile, turn: &Turn) -> Result<(), TestCaseError> {
    let Ok(plain) = prompt::assemble(snapshot, profile, turn) else { return Ok(()) };
    let prompt = prompt::assemble_with_spans(snapshot, profile, turn).unwrap();
    let sources = Sources::new(files, snapshot, profile, turn);
    prop_assert!(plain.sections.iter().all(|section| section.spans.is_empty()), "nobody asked for them");
    for section in &prompt.sections {
        let Some(position) = &section.position else {
            prop_assert!(section.spans.is_empty(), "{}", section.id);
            continue;
        };
        let text = held(&prompt, position.holder);
        let mut at = position.bytes.start;
        for span in &section.spans {
            prop_assert_eq!(span.bytes.start, at, "{} {:?}", section.id, section.spans);
            prop_assert!(span.bytes.end > at && span.source.start <= span.source.end, "{} {:?}", section.id, span);
            at = span.bytes.end;
            let bytes = text.get(span.bytes.start as usize..span.bytes.end as usize);
            prop_assert!(bytes.is_some(), "between characters: {} {:?}", section.id, span);
            let bytes = bytes.unwrap().as_bytes();
            if span.how.is_same() {
                prop_assert!(sources.has(span, bytes), "{} {} {:?}", profile.name, section.id, span);
            }
            if span.origin.kind == OriginKind::File {
                let source = span.origin.file.as_ref().unwrap();
                prop_assert_eq!(&*source.path, &span.origin.name);
                prop_assert_eq!(Some(&source.sha256), snapshot.inputs.get(&source.path), "{:?}", span);
            }
        }
        prop_assert_eq!(at, position.bytes.end, "{} {:?}", section.id, section.spans);
        // A section that is made from one file shows all of it, in the order of the file.
        if let Some(source) = section.source.as_ref().filter(|_| section.outcome == Outcome::Included) {
            let mut last = 0;
            let of_file = section.spans.iter().filter(|span| span.origin.file.as_ref() == Some(&**source));
            let mut shown = 0;
            for span in of_file {
                prop_assert!(span.source.start >= last, "{} {:?}", section.id, section.spans);
                (last, shown) = (span.source.end, shown + u64::from(span.bytes.end - span.bytes.start));
            }
            let document = snapshot.documents.get(&source.path);
            if let Some(document) = document {
                prop_assert!(shown >= document.text.trim().len() as u64, "{} {:?}", section.id, section.spans);
            }
        }
    }
    prop_assert_eq!(without_spans(prompt), without_spans(plain));
    Ok(())
}

/// A value of a type, near enough to real ones.
fn value(ty: &Type) -> BoxedStrategy<Value> {
    match ty {
        Type::Text => prop_oneof![3 => text(), 1 => Just(String::new()), 1 => Just("same".to_owned())]
            .prop_map(Value::from)
            .boxed(),
        Type::Choice(words) => prop::sample::select(words.clone()).prop_map(Value::from).boxed(),
        Type::Bool => any::<bool>().prop_map(Value::from).boxed(),
        Type::Int(_) | Type::Number(_) => (0_u32..9).prop_map(Value::from).boxed(),
        Type::Time => {
            prop::sample::select(vec![json!("2026-01-31T10:00:00+02:00"), json!(0), json!(1_769_000_000_000_u64)])
                .boxed()
        }
        Type::Object(fields) => object(fields).prop_map(Value::Object).boxed(),
        Type::List(of) => vec(value(of), 0..4).prop_map(Value::Array).boxed(),
        Type::Any => prop_oneof![
            text().prop_map(Value::from),
            Just(json!({"action": "continue", "n": [1, "a"]})),
            Just(Value::Null)
        ]
        .boxed(),
    }
}

fn object(fields: &[Field]) -> BoxedStrategy<Map<String, Value>> {
    let fields: Vec<_> =
        fields.iter().map(|field| (Just(field.name.clone()), option::weighted(0.8, value(&field.ty)))).collect();
    fields.prop_map(|fields| fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()).boxed()
}

/// A built-in profile and values for its inputs.
fn profile_and_inputs() -> impl Strategy<Value = (String, Map<String, Value>)> {
    let names: Vec<_> = PROFILES.iter().map(|profile| profile.name.to_string()).collect();
    prop::sample::select(names).prop_flat_map(|name| {
        let fields: Vec<Field> = PROFILES.get(&name).unwrap().inputs.iter().map(|input| input.field.clone()).collect();
        object(&fields).prop_map(move |inputs| (name.clone(), inputs))
    })
}

/// Texts for files that some profile reads.
fn more_files() -> impl Strategy<Value = Files> {
    let names = vec!["KERN.md", "USERS.md", "KNOWLEDGE.md", "PROTOCOL.md", "PERSONA.md", "notes/2026-01-31.md"];
    let file = prop_oneof![text().prop_map(String::into_bytes), vec(any::<u8>(), 0..40)];
    vec((prop::sample::select(names), file), 0..4)
        .prop_map(|files| files.into_iter().map(|(path, bytes)| (path.to_owned(), bytes)).collect())
}

fn segments() -> impl Strategy<Value = Vec<promptd_contract::proto::SummarySegment>> {
    vec((text(), 0_u32..2), 0..3).prop_map(|segments| {
        let segment = |(index, (summary, level)): (usize, (String, u32))| promptd_contract::proto::SummarySegment {
            id: format!("s{index}"),
            level,
            message_start: index as u64,
            message_end: index as u64 + 1,
            summary,
            ..Default::default()
        };
        segments.into_iter().enumerate().map(segment).collect()
    })
}

proptest! {
    #[test]
    fn every_byte_of_every_section_is_in_one_span_and_what_is_verbatim_is(
        files in files(), more in more_files(), raw in raw_turn(), settings in settings(), (name, inputs) in profile_and_inputs(),
        segments in segments(), budget in option::weighted(0.4, budget()),
    ) {
        let files: Files = files.into_iter().chain(more).collect();
        let Some(snapshot) = snapshot(&files, &settings) else { return Ok(()) };
        let mut raw = raw;
        if let Some(conversation) = &mut raw.conversation {
            (conversation.first_index, conversation.segments) = (4, segments);
        }
        let Some(mut turn) = checked(raw) else { return Ok(()) };
        turn.budget = budget;
        for profile in snapshot.profiles.iter() {
            turn.inputs = if profile.name.as_str() == name { inputs.clone() } else { Map::new() };
            check(&files, &snapshot, profile, &turn)?;
        }
    }
}
