use std::{borrow::Cow, sync::Arc};

use jiff::Timestamp;
use prost::Message as _;

use super::*;
use crate::proto;
use promptd_core::{
    globs::{NameGlobs, SkillFilter},
    id::Id,
    profile::{CachePlacement, ProfileSet, Stability},
    prompt::{
        Behind, CachePlan, ConversationOrigin, Holder, Memo, Outcome, Position, Prepared, SectionReport, Size, Source,
    },
    settings::{Settings, SkillLimits},
    turn::{ConversationMessage, Role, ToolCall},
    workspace::{Load, MemoryTree, load},
};

fn said() -> ConversationMessage {
    ConversationMessage {
        tool_call_id: "c0".into(),
        name: "Dana".into(),
        tool_calls: vec![ToolCall { id: "c1".into(), name: "tide".into(), arguments_json: "{}".into() }],
        ..ConversationMessage::new(Role::Assistant, "calling")
    }
}

fn prompt(said: &ConversationMessage) -> Prompt<'_> {
    let size = Size { bytes: 300, chars: 200, tokens: Some(0) };
    let message = |index: u32, origin| Message {
        role: Role::System,
        name: if index == 0 { "skeleton" } else { "" },
        content: Cow::Owned("界".repeat(100)),
        ephemeral: index == 0,
        digest: Digest([u8::from(index > 0); 32]),
        size,
        stability: Stability::Stable,
        cache_prefix: Cow::default(),
        memo: None,
        origin,
    };
    let section = |position, source| SectionReport {
        id: "workspace_context/AGENTS.md".into(),
        outcome: Outcome::Truncated,
        reason: "cut".into(),
        position,
        source,
        original: size,
        included: Size::default(),
        max_chars: None,
        stability: Stability::Session,
        shared: None,
        spans: Box::default(),
    };
    let source = Source::new("AGENTS.md", "ab");
    let findings = [Place::Unplaced, Place::field("turn.user"), Place::at("AGENTS.md", 3, 0)];
    Prompt {
        messages: vec![
            message(0, None),
            message(1, Some(ConversationOrigin { index: 0, message: said, unchanged: true })),
        ],
        cards: vec![Message { digest: Digest([3; 32]), ..message(0, None) }],
        sections: vec![
            section(Some(Position { holder: Holder::Message(0), bytes: 0..300 }), Some(Cow::Owned(source))),
            section(Some(Position { holder: Holder::Card(0), bytes: 0..300 }), None),
            section(None, None),
        ],
        findings: findings.map(|place| Cow::Owned(Finding::new(Code::SkillInvalid, place, "x"))).into(),
        digest: Digest([9; 32]),
        size,
        allowed_tools: vec!["read".into()],
        cache_placement: CachePlacement::Plan,
        conversation: None,
        cache_plan: CachePlan {
            stable_messages: 1,
            stable_bytes: 300,
            stable_digest: Digest([8; 32]),
            behind_conversation: Some(Behind::User),
        },
    }
}

fn encoded(prompt: &Prompt<'_>, shape: &Shape) -> (Vec<u8>, proto::AssemblePromptResponse) {
    let bytes = Answer {
        prompt,
        revision: "r",
        profile: "p",
        rendered: "text",
        session_position: None,
        recalled: &[],
        side: None,
        shape,
    }
    .encode()
    .to_vec();
    let read = proto::AssemblePromptResponse::decode(&*bytes).unwrap();
    (bytes, read)
}

#[test]
fn the_bytes_are_those_of_the_generated_types() {
    let said = said();
    let prompt = prompt(&said);
    let held = |digests: &[u8]| Shape { held: digests.iter().map(|b| Digest([*b; 32])).collect(), ..Shape::default() };
    let shapes = [
        Shape::default(),
        held(&[0]),
        held(&[9]),
        Shape { omit_sections: true, reference_conversation: true, ..Shape::default() },
    ];
    for shape in shapes {
        let (bytes, read) = encoded(&prompt, &shape);
        assert_eq!(read.encode_to_vec(), bytes, "{shape:?}");
    }
}

#[test]
fn what_a_revision_shares_is_encoded_once_and_the_same() {
    let said = said();
    let alone = prompt(&said);
    let memo = Memo::default();
    let mut sharing = alone.clone();
    sharing.messages[0].memo = Some(&memo);
    for shape in [Shape::default(), Shape { held: vec![Digest([0; 32])], ..Shape::default() }] {
        for _ in 0..2 {
            assert_eq!(encoded(&sharing, &shape).0, encoded(&alone, &shape).0, "{shape:?}");
        }
    }
    assert!(memo.get_or_init(Bytes::new).is_some_and(|bytes| bytes.len() > 300));
}

#[test]
fn what_the_caller_holds_comes_without_content() {
    let said = said();
    let prompt = prompt(&said);
    let (_, read) = encoded(&prompt, &Shape { held: vec![Digest([0; 32])], ..Shape::default() });
    assert!(
        read.messages[0].not_modified && read.messages[0].content.is_empty() && !read.messages[1].content.is_empty()
    );
    let (_, read) = encoded(&prompt, &Shape { held: vec![Digest([3; 32])], ..Shape::default() });
    assert!(read.cards[0].not_modified && read.cards[0].content.is_empty() && !read.messages[0].not_modified);
    let (_, read) = encoded(&prompt, &Shape { held: vec![Digest([9; 32])], ..Shape::default() });
    assert!(
        read.not_modified
            && read.messages.is_empty()
            && read.cards.is_empty()
            && read.sections.is_empty()
            && read.rendered.is_empty()
    );
    let (_, read) = encoded(&prompt, &Shape { reference_conversation: true, ..Shape::default() });
    assert!(read.messages[1].content.is_empty() && !read.messages[1].not_modified);
}

#[test]
fn a_referenced_message_that_was_changed_comes_with_content() {
    let said = said();
    let mut prompt = prompt(&said);
    for (unchanged, content) in [(true, ""), (false, "界界")] {
        prompt.messages[1].content = "界界".into();
        prompt.messages[1].origin = Some(ConversationOrigin { index: 0, message: &said, unchanged });
        let (_, read) = encoded(&prompt, &Shape { reference_conversation: true, ..Shape::default() });
        assert_eq!(read.messages[1].content, content);
        assert_eq!(read.messages[1].conversation_index, Some(0));
    }
}

#[test]
fn findings_beyond_the_bound_are_counted() {
    let said = said();
    let mut prompt = prompt(&said);
    prompt.findings = vec![prompt.findings[0].clone(); 250];
    let (_, read) = encoded(&prompt, &Shape::default());
    assert_eq!((read.findings.len(), &*read.findings[100].code), (101, "FINDINGS_OMITTED"));
    assert!(read.findings[100].message.starts_with("150 more"));
}

#[test]
fn losses_of_all_skills_are_not_told_to_whoever_may_see_some() {
    let skill = |name: &str| format!("---\nname: {name}\ndescription: Tells the {name}.\n---\n");
    let tree = MemoryTree::new()
        .file("AGENTS.md", "Rules. ".repeat(20))
        .file("workspace.yaml", "context: {max_chars_per_file: 100}\n")
        .file("skills/moon/SKILL.md", skill("moon"))
        .file("skills/tides/SKILL.md", skill("tides"));
    let id = Id::parse("harbor").unwrap();
    let settings = Settings { skills: SkillLimits { max_shown: 1, ..SkillLimits::default() }, ..Settings::default() };
    let files = Load {
        id: &id,
        root: "/harbor",
        tree: &tree,
        shared_skills: &[],
        profiles: Arc::new(ProfileSet::built_in()),
        settings: Arc::new(settings),
        previous: None,
    };
    let snapshot = Prepared::from(load(&files).unwrap());
    let codes = |access: SkillAccess<'_>| {
        let workspace = super::workspace(&id, &snapshot, Timestamp::UNIX_EPOCH, access);
        let codes: Vec<_> = workspace.findings.into_iter().map(|finding| finding.code).collect();
        assert_eq!(workspace.warnings as usize, codes.len());
        codes
    };
    assert_eq!(codes(SkillAccess::default()), ["CONTEXT_FILE_TRUNCATED", "SKILLS_TRUNCATED"]);
    let allow = Some(NameGlobs::compile(["tides"]).unwrap());
    let tides = SkillFilter { allow, ..SkillFilter::default() };
    assert_eq!(codes(SkillAccess { token: Some(&tides), ..SkillAccess::default() }), ["CONTEXT_FILE_TRUNCATED"]);
}
