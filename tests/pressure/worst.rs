//! For each RPC the requests that take the longest or need the most, within the limit on messages.

use bytes::Bytes;
use promptd_contract::proto;
use prost::Message;
use prost_types::{ListValue, Struct, Value, value::Kind};

use super::{
    client::{ASSEMBLE, LIST, framed},
    is_long,
};

const PARSE: &str = "promptd.v1.PromptService/ParseReply";
const LIST_SKILLS: &str = "promptd.v1.WorkspaceService/ListSkills";
const READ_SKILL: &str = "promptd.v1.WorkspaceService/ReadSkill";
const GRPC: &str = "application/grpc";
const JSON: &str = "application/json";

/// A little less than the largest message; a tenth of it in the short form.
fn large() -> usize {
    let most = (4 << 20) - (64 << 10);
    if is_long() { most } else { most / 10 }
}

/// A request, made once.
#[derive(Clone)]
pub struct Request {
    pub name: String,
    pub path: &'static str,
    pub content_type: &'static str,
    pub body: Bytes,
}

fn grpc(path: &'static str, what: &str, message: &impl Message) -> Request {
    let method = path.rsplit('/').next().unwrap();
    Request { name: format!("{method}: {what}"), path, content_type: GRPC, body: framed(message) }
}

fn json(path: &'static str, what: &str, body: String) -> Request {
    let method = path.rsplit('/').next().unwrap();
    Request { name: format!("{method} as JSON: {what}"), path, content_type: JSON, body: body.into() }
}

/// All of them, or in the short form every fifth.
pub fn some() -> Vec<Request> {
    requests().into_iter().step_by(if is_long() { 1 } else { 5 }).collect()
}

fn requests() -> Vec<Request> {
    [assembling(), replies(), reading(), in_json()].concat()
}

fn assembling() -> Vec<Request> {
    let turn = |what: &str, turn: proto::Turn| grpc(ASSEMBLE, what, &ask(turn));
    let text = "The tide turns at nine. ".repeat(large() / 24);
    let message = |n: usize| proto::ConversationMessage {
        role: (if n.is_multiple_of(2) { proto::Role::User } else { proto::Role::Assistant }).into(),
        content: "Is the berth free? ".repeat(20),
        ..Default::default()
    };
    let conversation = proto::Conversation { messages: (0..10_000).map(message).collect(), ..Default::default() };
    let snippet = proto::KnowledgeSnippet { content: "Berth 4 is closed. ".repeat(200), ..Default::default() };
    let counted = proto::AssemblePromptRequest {
        token_encoding: "o200k_base".into(),
        ..ask(proto::Turn {
            persona: Some(noise(if is_long() { large() } else { large() / 16 })),
            ..Default::default()
        })
    };
    let rendered = proto::AssemblePromptRequest {
        render_format: proto::RenderFormat::AnthropicMessages.into(),
        ..ask(proto::Turn { conversation: Some(conversation.clone()), ..Default::default() })
    };
    vec![
        turn("a persona of 4 MiB", proto::Turn { persona: Some(text.clone()), ..Default::default() }),
        turn(
            "a persona of hidden characters",
            proto::Turn { persona: Some("\u{200b}#".repeat(large() / 4)), ..Default::default() },
        ),
        turn("a summary of 4 MiB", proto::Turn { conversation_summary: text, ..Default::default() }),
        turn("1,000 snippets", proto::Turn { knowledge: vec![snippet; 1_000], ..Default::default() }),
        turn("10,000 messages", proto::Turn { conversation: Some(conversation), ..Default::default() }),
        turn("filters of 4 MiB", proto::Turn { skill_filter: Some(filter()), ..Default::default() }),
        turn(
            "a filter of 500 long globs",
            proto::Turn { skill_filter: Some(globs(500, "*a".repeat(60))), ..Default::default() },
        ),
        grpc(ASSEMBLE, "49,000 objects", &objects(49_000)),
        grpc(ASSEMBLE, "a million objects", &objects(1_000_000)),
        grpc(ASSEMBLE, "deep objects", &nested(90_000 / DEPTH)),
        grpc(ASSEMBLE, "the tokens of 4 MiB", &counted),
        grpc(ASSEMBLE, "10,000 messages rendered", &rendered),
        turn("10,000 messages, 63 KiB", proto::Turn { conversation: Some(short_conversation()), ..Default::default() }),
    ]
}

fn replies() -> Vec<Request> {
    let reply = |what: &str, profile: &str, text: String| {
        let request = proto::ParseReplyRequest { text, profile: profile.into(), heartbeat: true, ..Default::default() };
        grpc(PARSE, &format!("{what}, {profile}"), &request)
    };
    let of = |part: &str| part.repeat(large() / part.len());
    let mut all = Vec::new();
    for profile in ["five-layer", "kai-remote", "lucidpal", "airi", "kern"] {
        all.push(reply("text", profile, of("The tide turns at nine.\n")));
        all.push(reply("open brackets", profile, of("[")));
        all.push(reply("tags", profile, of("[SEND:{\"to\":\"a\"}] ")));
        all.push(reply("markers", profile, of("<|ACT:{\"emotion\":\"calm\"}|> <think>a</think> ")));
        all.push(reply("objects", profile, of("{\"a\":")));
        all.push(reply("code", profile, of("```json\n{\"tool\":\"x\"}\n```\n")));
    }
    all
}

fn reading() -> Vec<Request> {
    let workspace_id = || "harbor".to_owned();
    let skills =
        proto::ListSkillsRequest { workspace_id: workspace_id(), skill_filter: Some(filter()), ..Default::default() };
    let most = proto::ListSkillsRequest { workspace_id: workspace_id(), page_size: 1_000, ..Default::default() };
    let filtered = proto::ReadSkillRequest { skill_filter: Some(filter()), ..read_skill() };
    let every = proto::ListWorkspacesRequest { page_size: 1_000, ..Default::default() };
    let get = proto::GetWorkspaceRequest { workspace_id: workspace_id(), ..Default::default() };
    let profile = proto::GetProfileRequest { name: "kern".into() };
    let profiles = proto::ListProfilesRequest { page_size: 1_000, ..Default::default() };
    // `file_containing_symbol: "promptd.v1.Turn"`, many times.
    let symbol = framed(&Symbol { name: "promptd.v1.Turn".into() }).repeat(500);
    vec![
        grpc(LIST, "all", &every),
        grpc("promptd.v1.WorkspaceService/GetWorkspace", "harbor", &get),
        grpc(LIST_SKILLS, "all", &most),
        grpc(LIST_SKILLS, "filters of 4 MiB", &skills),
        grpc(READ_SKILL, "1 MiB", &read_skill()),
        grpc(READ_SKILL, "filters of 4 MiB", &filtered),
        grpc("promptd.v1.ProfileService/ListProfiles", "all", &profiles),
        grpc("promptd.v1.ProfileService/GetProfile", "kern", &profile),
        Request {
            name: "reflection: 500 symbols".into(),
            path: "grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
            content_type: GRPC,
            body: symbol.into(),
        },
    ]
}

fn in_json() -> Vec<Request> {
    let inputs = |value: &str| format!("{{\"workspaceId\":\"harbor\",\"turn\":{{\"inputs\":{{\"k\":{value}}}}}}}");
    let persona = |text: &str| format!("{{\"workspaceId\":\"harbor\",\"turn\":{{\"persona\":\"{text}\"}}}}");
    vec![
        json(ASSEMBLE, "a persona of 4 MiB", persona(&"The tide turns. ".repeat(large() / 16))),
        json(ASSEMBLE, "escapes", persona(&"\\u0041".repeat(large() / 6))),
        json(ASSEMBLE, "open brackets", inputs(&"[".repeat(large()))),
        json(ASSEMBLE, "deep lists", inputs(&format!("{}{}", "[".repeat(large() / 2), "]".repeat(large() / 2)))),
        json(ASSEMBLE, "a million values", inputs(&format!("[{}0]", "0,".repeat(large() / 4)))),
        json(ASSEMBLE, "90,000 objects", inputs(&format!("[{}{{}}]", "{},".repeat(90_000)))),
        json(
            ASSEMBLE,
            "unknown fields",
            format!(
                "{{{}\"workspaceId\":\"harbor\"}}",
                (0..large() / 20).fold(String::new(), |fields, n| fields + "\"f" + &n.to_string() + "\":1,")
            ),
        ),
        json(PARSE, "a reply of 4 MiB", format!("{{\"text\":\"{}\"}}", "[SEND:{}] ".repeat(large() / 10))),
        json(LIST_SKILLS, "all", "{\"workspaceId\":\"harbor\",\"pageSize\":1000}".into()),
        json(READ_SKILL, "1 MiB", "{\"workspaceId\":\"harbor\",\"name\":\"skill-0\",\"file\":\"large.txt\"}".into()),
        json(LIST, "all", "{\"pageSize\":1000}".into()),
    ]
}

/// The message of reflection, as far as it is used.
#[derive(Clone, PartialEq, Message)]
struct Symbol {
    #[prost(string, tag = "4")]
    name: String,
}

pub fn read_skill() -> proto::ReadSkillRequest {
    let (workspace_id, name, file) = ("harbor".into(), "skill-0".into(), "large.txt".into());
    proto::ReadSkillRequest { workspace_id, name, file, ..Default::default() }
}

fn ask(turn: proto::Turn) -> proto::AssemblePromptRequest {
    proto::AssemblePromptRequest { workspace_id: "harbor".into(), turn: Some(turn), ..Default::default() }
}

/// So many objects of one field each, in a list.
pub fn objects(count: usize) -> proto::AssemblePromptRequest {
    let empty = Value { kind: Some(Kind::StructValue(Struct::default())) };
    let full = Value { kind: Some(Kind::StructValue(Struct { fields: [(String::new(), empty.clone())].into() })) };
    // A million with a field each are over the limit on messages.
    let item = if count > 100_000 { empty } else { full };
    with_variable(Value { kind: Some(Kind::ListValue(ListValue { values: vec![item; count] })) })
}

/// How deep nested objects are.
pub const DEPTH: usize = 40;

/// So many values, each this deep.
pub fn nested(count: usize) -> proto::AssemblePromptRequest {
    let mut value = Value { kind: Some(Kind::NullValue(0)) };
    for _ in 1..DEPTH {
        value = Value { kind: Some(Kind::StructValue(Struct { fields: [(String::new(), value)].into() })) };
    }
    with_variable(Value { kind: Some(Kind::ListValue(ListValue { values: vec![value; count] })) })
}

fn with_variable(value: Value) -> proto::AssemblePromptRequest {
    let variables = Struct { fields: [("k".to_owned(), value)].into() };
    ask(proto::Turn { variables: Some(variables), ..Default::default() })
}

fn globs(count: usize, glob: String) -> proto::SkillFilter {
    proto::SkillFilter { allowlist: None, blocklist: Some(proto::NameGlobs { globs: vec![glob; count] }) }
}

/// As many globs as fit.
fn filter() -> proto::SkillFilter {
    let list = |letter: &str| proto::NameGlobs { globs: vec![format!("*{letter}").repeat(100); large() / 2 / 210] };
    proto::SkillFilter { allowlist: Some(list("a")), blocklist: Some(list("b")) }
}

/// As many messages as are answered on the threads that all calls share.
fn short_conversation() -> proto::Conversation {
    let message =
        proto::ConversationMessage { role: proto::Role::User.into(), content: "a".into(), ..Default::default() };
    proto::Conversation { messages: vec![message; 9_000], ..Default::default() }
}

/// Text of which no two words are alike.
fn noise(bytes: usize) -> String {
    let mut state = 1_u64;
    let mut text = String::with_capacity(bytes);
    while text.len() < bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        text.push(char::from(b'a' + u8::try_from((state >> 33) % 26).unwrap()));
        if state >> 60 == 0 {
            text.push(' ');
        }
    }
    text
}
