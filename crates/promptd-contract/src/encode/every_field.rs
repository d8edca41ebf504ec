//! Every field of the answer, found in the contract's descriptors: set in the prompt, it arrives in the decoded answer, and
//! no other field changes with it.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use prost_reflect::{DynamicMessage, Kind, MessageDescriptor, ReflectMessage as _, Value};

use super::*;
use crate::json::descriptors;
use promptd_core::{
    finding::Severity,
    profile::{CachePlacement, Stability},
    prompt::{
        Behind, CachePlan, CarriedConversation, ConversationOrigin, Holder, How, Origin, OriginKind, Outcome, Position,
        SectionReport, Size, Source, Span,
    },
    turn::{ConversationMessage, Role, ToolCall},
};

/// An answer with every field set, most of them to values that are not their defaults.
struct Sample {
    prompt: Prompt<'static>,
    revision: &'static str,
    profile: &'static str,
    rendered: &'static str,
    session_position: Option<u64>,
    recalled: Vec<u64>,
    side: Option<canary::Side>,
    shape: Shape,
}

impl Sample {
    fn new() -> Self {
        let size = |n| Size { bytes: n, chars: n + 1, tokens: Some(n + 2) };
        let call = ToolCall { id: "c1".into(), name: "tide".into(), arguments_json: "{}".into() };
        let said = ConversationMessage {
            tool_call_id: "c0".into(),
            name: "Dana".into(),
            tool_calls: vec![call],
            ..ConversationMessage::new(Role::Assistant, "calling")
        };
        let message = Message {
            role: Role::Assistant,
            name: "skeleton",
            content: "text".into(),
            ephemeral: false,
            digest: Digest([1; 32]),
            size: size(1),
            stability: Stability::Stable,
            cache_prefix: Cow::default(),
            memo: None,
            origin: Some(ConversationOrigin { index: 1, message: leak(said), unchanged: true }),
        };
        let card = Message {
            name: "briefing",
            content: "card".into(),
            digest: Digest([4; 32]),
            origin: None,
            ..message.clone()
        };
        let origin = Origin {
            kind: OriginKind::File,
            name: "AGENTS.md".into(),
            profile: "kern".into(),
            file: Some(Source::new("@layers/org/AGENTS.md", "ab")),
        };
        let section = SectionReport {
            id: "skills".into(),
            outcome: Outcome::Truncated,
            reason: "cut".into(),
            position: Some(Position { holder: Holder::Message(1), bytes: 2..3 }),
            source: Some(Cow::Owned(Source::new("@layers/org/AGENTS.md", "ab"))),
            original: size(10),
            included: size(20),
            max_chars: Some(40),
            stability: Stability::Session,
            shared: None,
            spans: Box::new([Span { bytes: 1..2, origin: Arc::new(origin), source: 3..4, how: How::Verbatim }]),
        };
        let finding = Finding::new(Code::SkillInvalid, Place::at("AGENTS.md", 3, 4), "x");
        let prompt = Prompt {
            messages: vec![message],
            cards: vec![card],
            sections: vec![section],
            findings: vec![Cow::Owned(finding)],
            digest: Digest([2; 32]),
            size: size(30),
            allowed_tools: vec!["read".into()],
            cache_placement: CachePlacement::Plan,
            conversation: Some(CarriedConversation {
                cut: 1,
                held: true,
                uncovered: 2,
                estimated_tokens: 3,
                token_budget: 4,
                summaries: vec!["5".into()],
            }),
            cache_plan: CachePlan {
                stable_messages: 1,
                stable_bytes: 2,
                stable_digest: Digest([3; 32]),
                behind_conversation: Some(Behind::User),
            },
        };
        Self {
            prompt,
            revision: "r",
            profile: "p",
            rendered: "text",
            session_position: Some(1),
            recalled: vec![7],
            side: Some(canary::Side::Stable),
            shape: Shape::default(),
        }
    }

    fn decoded(&self) -> DynamicMessage {
        let Self { prompt, revision, profile, rendered, shape, session_position, recalled, side } = self;
        let (session_position, side) = (*session_position, *side);
        let answer = Answer { prompt, revision, profile, rendered, session_position, recalled, side, shape };
        let bytes = answer.encode().to_vec();
        DynamicMessage::decode(response(), &*bytes).unwrap()
    }

    fn message(&mut self) -> &mut Message<'static> {
        &mut self.prompt.messages[0]
    }

    /// Changes the conversation's message that the prompt's message comes from.
    fn said(&mut self, change: impl FnOnce(&mut ConversationMessage)) {
        let origin = self.message().origin.as_mut().unwrap();
        let mut said = origin.message.clone();
        change(&mut said);
        origin.message = leak(said);
    }

    fn section(&mut self) -> &mut SectionReport<'static> {
        &mut self.prompt.sections[0]
    }

    fn position(&mut self) -> &mut Position {
        self.section().position.as_mut().unwrap()
    }

    fn source(&mut self) -> &mut Source {
        self.section().source.as_mut().unwrap().to_mut()
    }

    fn span(&mut self) -> &mut Span {
        &mut self.section().spans[0]
    }

    fn origin(&mut self) -> &mut Origin {
        Arc::make_mut(&mut self.span().origin)
    }

    fn carried(&mut self) -> &mut CarriedConversation {
        self.prompt.conversation.as_mut().unwrap()
    }

    fn finding(&mut self) -> &mut Finding {
        self.prompt.findings[0].to_mut()
    }
}

fn leak(said: ConversationMessage) -> &'static ConversationMessage {
    Box::leak(Box::new(said))
}

fn response() -> MessageDescriptor {
    descriptors().get_message_by_name("promptd.v1.AssemblePromptResponse").unwrap()
}

/// A change of one field; and the fields that the contract says change with it.
type Case = (&'static str, &'static [&'static str], fn(&mut Sample));

#[rustfmt::skip]
const CASES: &[Case] = &[
    ("messages", &[], |s| s.prompt.messages.clear()),
    ("messages.role", &[], |s| s.message().role = Role::User),
    ("messages.content", &[], |s| s.message().content = "other".into()),
    ("messages.name", &[], |s| s.message().name = "heartbeat"),
    ("messages.ephemeral", &[], |s| s.message().ephemeral = true),
    ("messages.tool_call_id", &[], |s| s.said(|said| said.tool_call_id = "c9".into())),
    ("messages.tool_calls", &[], |s| s.said(|said| said.tool_calls.clear())),
    ("messages.tool_calls.id", &[], |s| s.said(|said| said.tool_calls[0].id = "c9".into())),
    ("messages.tool_calls.name", &[], |s| s.said(|said| said.tool_calls[0].name = "berth".into())),
    ("messages.tool_calls.arguments_json", &[], |s| s.said(|said| said.tool_calls[0].arguments_json = "[]".into())),
    ("messages.digest", &[], |s| s.message().digest = Digest([9; 32])),
    ("messages.not_modified", &["messages.content"], |s| s.shape.held = vec![Digest([1; 32])]),
    ("messages.speaker", &[], |s| s.said(|said| said.name = "Kim".into())),
    ("messages.conversation_index", &[], |s| s.message().origin.as_mut().unwrap().index = 0),
    ("sections", &[], |s| s.prompt.sections.clear()),
    ("sections.id", &[], |s| s.section().id = "other".into()),
    ("sections.outcome", &[], |s| s.section().outcome = Outcome::Dropped),
    ("sections.reason", &[], |s| s.section().reason = "other".into()),
    ("sections.message_index", &[], |s| s.position().holder = Holder::Message(0)),
    ("sections.card_index", &["sections.message_index"], |s| s.position().holder = Holder::Card(1)),
    ("sections.byte_start", &[], |s| s.position().bytes.start = 0),
    ("sections.byte_end", &[], |s| s.position().bytes.end = 9),
    ("sections.source.path", &[], |s| s.source().path = "SOUL.md".into()),
    ("sections.source.sha256", &[], |s| s.source().sha256 = "cd".into()),
    ("sections.source.layer", &[], |s| s.source().layer = None),
    ("sections.original_size.bytes", &[], |s| s.section().original.bytes = 99),
    ("sections.original_size.chars", &[], |s| s.section().original.chars = 99),
    ("sections.original_size.tokens", &[], |s| s.section().original.tokens = Some(0)),
    ("sections.included_size.bytes", &[], |s| s.section().included.bytes = 99),
    ("sections.included_size.chars", &[], |s| s.section().included.chars = 99),
    ("sections.included_size.tokens", &[], |s| s.section().included.tokens = None),
    ("sections.max_chars", &[], |s| s.section().max_chars = Some(0)),
    ("sections.stability", &[], |s| s.section().stability = Stability::Volatile),
    ("sections.spans", &[], |s| s.section().spans = Box::default()),
    ("sections.spans.byte_start", &[], |s| s.span().bytes.start = 0),
    ("sections.spans.byte_end", &[], |s| s.span().bytes.end = 9),
    ("sections.spans.source.path", &[], |s| s.origin().file.as_mut().unwrap().path = "SOUL.md".into()),
    ("sections.spans.source.sha256", &[], |s| s.origin().file.as_mut().unwrap().sha256 = "cd".into()),
    ("sections.spans.source.layer", &[], |s| s.origin().file.as_mut().unwrap().layer = None),
    ("sections.spans.source_start", &[], |s| s.span().source.start = 0),
    ("sections.spans.source_end", &[], |s| s.span().source.end = 9),
    ("sections.spans.origin.kind", &[], |s| s.origin().kind = OriginKind::Profile),
    ("sections.spans.origin.name", &[], |s| s.origin().name = "other".into()),
    ("sections.spans.origin.profile", &[], |s| s.origin().profile = "other".into()),
    ("sections.spans.how", &[], |s| s.span().how = How::Cut),
    ("findings", &[], |s| s.prompt.findings.clear()),
    ("findings.severity", &[], |s| s.finding().severity = Severity::Info),
    ("findings.code", &[], |s| s.finding().code = Code::FileNameCase),
    ("findings.message", &[], |s| s.finding().message = "y".into()),
    ("findings.path", &[], |s| s.finding().place = Place::at("SOUL.md", 3, 4)),
    ("findings.line", &[], |s| s.finding().place = Place::at("AGENTS.md", 9, 4)),
    ("findings.column", &[], |s| s.finding().place = Place::at("AGENTS.md", 3, 9)),
    ("findings.field", &["findings.path", "findings.line", "findings.column"], |s| s.finding().place = Place::field("turn.user")),
    ("revision", &[], |s| s.revision = "other"),
    ("digest", &[], |s| s.prompt.digest = Digest([9; 32])),
    ("profile", &[], |s| s.profile = "other"),
    ("not_modified", &["messages", "sections", "rendered", "cards"], |s| s.shape.held = vec![Digest([2; 32])]),
    ("rendered", &[], |s| s.rendered = "other"),
    ("session_position", &[], |s| s.session_position = Some(0)),
    ("recalled_positions", &[], |s| s.recalled.clear()),
    ("canary_side", &[], |s| s.side = Some(canary::Side::Candidate)),
    ("size.bytes", &[], |s| s.prompt.size.bytes = 99),
    ("size.chars", &[], |s| s.prompt.size.chars = 99),
    ("size.tokens", &[], |s| s.prompt.size.tokens = None),
    ("cache_plan.stable_messages", &[], |s| s.prompt.cache_plan.stable_messages = 9),
    ("cache_plan.stable_bytes", &[], |s| s.prompt.cache_plan.stable_bytes = 99),
    ("allowed_tools", &[], |s| s.prompt.allowed_tools.clear()),
    ("conversation_window.cut", &[], |s| s.carried().cut = 9),
    ("conversation_window.held", &[], |s| s.carried().held = false),
    ("conversation_window.uncovered", &[], |s| s.carried().uncovered = 9),
    ("conversation_window.estimated_tokens", &[], |s| s.carried().estimated_tokens = 9),
    ("conversation_window.token_budget", &[], |s| s.carried().token_budget = 9),
    ("conversation_window.summary_ids", &[], |s| s.carried().summaries.clear()),
    ("cache_plan.stable_digest", &[], |s| s.prompt.cache_plan.stable_digest = Digest([9; 32])),
    ("cache_plan.behind_conversation", &[], |s| s.prompt.cache_plan.behind_conversation = Some(Behind::SystemPart)),
    ("cards", &[], |s| s.prompt.cards.clear()),
    ("cards.name", &[], |s| s.prompt.cards[0].name = "other"),
    ("cards.content", &[], |s| s.prompt.cards[0].content = "other".into()),
    ("cards.digest", &[], |s| s.prompt.cards[0].digest = Digest([9; 32])),
    ("cards.not_modified", &["cards.content"], |s| s.shape.held = vec![Digest([4; 32])]),
];

#[test]
fn every_field_of_the_answer_arrives_alone() {
    let cases: BTreeMap<_, _> = CASES.iter().map(|(path, also, change)| (*path, (*also, *change))).collect();
    let mut fields = Vec::new();
    paths(&response(), "", &mut fields);
    let known: BTreeSet<_> = fields.iter().map(String::as_str).collect();
    let tested: BTreeSet<_> = cases.keys().copied().collect();
    assert_eq!(tested, known, "each field of the contract has its case here");
    let before = Sample::new().decoded();
    for (path, (also, change)) in cases {
        let mut sample = Sample::new();
        change(&mut sample);
        let mut changed = BTreeSet::new();
        differences(&before, &sample.decoded(), "", &mut changed);
        let expected: BTreeSet<_> = also.iter().chain([&path]).map(ToString::to_string).collect();
        assert_eq!(changed, expected, "{path}");
    }
}

/// Every field that can differ by itself: all but single messages, which differ by their own fields.
fn paths(message: &MessageDescriptor, prefix: &str, found: &mut Vec<String>) {
    for field in message.fields() {
        let path = format!("{prefix}{}", field.name());
        let inner = match field.kind() {
            Kind::Message(inner) => Some(inner),
            _ => None,
        };
        if inner.is_none() || field.is_list() {
            found.push(path.clone());
        }
        if let Some(inner) = inner {
            paths(&inner, &format!("{path}."), found);
        }
    }
}

fn differences(a: &DynamicMessage, b: &DynamicMessage, prefix: &str, found: &mut BTreeSet<String>) {
    for field in a.descriptor().fields() {
        let path = format!("{prefix}{}", field.name());
        let inner = format!("{path}.");
        match (&*a.get_field(&field), &*b.get_field(&field)) {
            (Value::Message(one), Value::Message(other)) => differences(one, other, &inner, found),
            (Value::List(one), Value::List(other)) if one.len() == other.len() => {
                for (one, other) in one.iter().zip(other) {
                    match (one, other) {
                        (Value::Message(one), Value::Message(other)) => differences(one, other, &inner, found),
                        (one, other) => assert_eq!(one, other, "{path}: lists of numbers and texts have no case yet"),
                    }
                }
            }
            (one, other) => {
                if one != other || a.has_field(&field) != b.has_field(&field) {
                    found.insert(path);
                }
            }
        }
    }
}
