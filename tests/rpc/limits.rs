//! Every limit has a value of its own here, and each is enforced with that value: a limit that is read from another's key shows.

use std::{path::Path, time::Duration};

use promptd::config::{Config, Overrides, TABLE};
use promptd_contract::proto;
use prost::Message as _;
use prost_types::{ListValue, Struct, Value, value::Kind};
use tokio::{io::AsyncReadExt as _, net::TcpStream, time::Instant};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use crate::{
    held::Held,
    raw::{Raw, frame, prefix},
    rig::{PATIENCE, Rig, Setup, ask, ask_with, harbor},
};

const ASSEMBLE: &str = "promptd.v1.PromptService/AssemblePrompt";

/// The limits, each with another value. Those of whole workspaces and of text are enforced by the core, whose cases have them.
const LIMITS: [(&str, usize); 21] = [
    ("max_file_bytes", 90_001),
    ("max_value_chars", 91),
    ("max_variable_chars", 92),
    ("max_message_bytes", 60_000),
    ("max_in_flight", 7),
    ("max_heavy", 3),
    ("max_unread_bytes", 8 * 70_000),
    ("max_unsent_bytes", 8 * 80_000),
    ("max_streams", 5),
    ("max_connections", 40),
    ("max_streams_per_connection", 13),
    ("max_call_time", 2),
    ("max_knowledge", 21),
    ("max_variables", 22),
    ("max_inputs", 23),
    ("max_messages", 24),
    ("max_segments", 25),
    ("max_tool_calls", 26),
    ("max_context_files", 27),
    ("max_digests", 28),
    ("max_values", 99),
];

fn limit(name: &str) -> usize {
    LIMITS.iter().find(|(known, _)| *known == name).unwrap().1
}

fn config() -> Config {
    let lines = LIMITS.map(|(name, value)| match name {
        "max_call_time" => format!("  {name}: {value}s\n"),
        _ => format!("  {name}: {value}\n"),
    });
    let text = format!("listen: 127.0.0.1:0\nlimits:\n{}", lines.concat());
    Config::read(&text, "promptd.yaml", Path::new("/etc/promptd"), &Overrides::default()).unwrap()
}

async fn rig() -> Rig {
    Rig::start_with(Setup { options: config().grpc, ..Setup::default() }).await
}

fn reason(status: &Status) -> String {
    status.get_details_error_info().unwrap().reason
}

#[test]
fn every_limit_of_the_config_is_here_with_a_value_of_its_own() {
    let mut names: Vec<_> = TABLE.iter().filter_map(|setting| setting.key.strip_prefix("limits.")).collect();
    names.sort_unstable();
    let (mut known, mut values) = (LIMITS.map(|(name, _)| name), LIMITS.map(|(_, value)| value).to_vec());
    known.sort_unstable();
    values.sort_unstable();
    values.dedup();
    assert_eq!((known.as_slice(), values.len()), (names.as_slice(), LIMITS.len()));
    let Config { grpc, source, .. } = config();
    let settings = source.settings;
    let read =
        (settings.max_file_bytes, settings.max_value_chars, settings.max_variable_chars, grpc.max_heavy.unwrap());
    assert_eq!(
        read,
        (limit("max_file_bytes"), limit("max_value_chars"), limit("max_variable_chars"), limit("max_heavy"))
    );
}

/// A request with so many of something.
type Sized = fn(usize) -> proto::AssemblePromptRequest;

fn conversation(conversation: proto::Conversation) -> proto::AssemblePromptRequest {
    ask_with(proto::Turn { conversation: Some(conversation), ..Default::default() })
}

fn object(names: usize) -> Struct {
    let null = Value { kind: Some(Kind::NullValue(0)) };
    Struct { fields: (0..names).map(|n| (format!("n{n}"), null.clone())).collect() }
}

const LISTS: [(&str, &str, Sized); 9] = [
    ("max_knowledge", "turn.knowledge", |n| {
        let one = proto::KnowledgeSnippet { content: "a".into(), ..Default::default() };
        ask_with(proto::Turn { knowledge: vec![one; n], ..Default::default() })
    }),
    ("max_variables", "turn.variables", |n| ask_with(proto::Turn { variables: Some(object(n)), ..Default::default() })),
    ("max_inputs", "turn.inputs", |n| ask_with(proto::Turn { inputs: Some(object(n)), ..Default::default() })),
    ("max_messages", "turn.conversation.messages", |n| {
        let one =
            proto::ConversationMessage { role: proto::Role::User.into(), content: "a".into(), ..Default::default() };
        conversation(proto::Conversation { messages: vec![one; n], ..Default::default() })
    }),
    ("max_segments", "turn.conversation.segments", |n| {
        conversation(proto::Conversation { segments: vec![proto::SummarySegment::default(); n], ..Default::default() })
    }),
    ("max_tool_calls", "turn.conversation.messages[0].tool_calls", |n| {
        let call = |n| proto::ToolCall { id: format!("c{n}"), name: "a".into(), arguments_json: "{}".into() };
        let one = proto::ConversationMessage {
            role: proto::Role::Assistant.into(),
            tool_calls: (0..n).map(call).collect(),
            ..Default::default()
        };
        conversation(proto::Conversation { messages: vec![one], ..Default::default() })
    }),
    ("max_context_files", "turn.context_files", |n| {
        ask_with(proto::Turn { context_files: (0..n).map(|n| format!("f{n}.md")).collect(), ..Default::default() })
    }),
    ("max_digests", "if_none_match", |n| proto::AssemblePromptRequest {
        if_none_match: vec!["0".repeat(64); n],
        ..ask()
    }),
    ("max_values", "turn.variables", |n| {
        let list = ListValue { values: vec![Value { kind: Some(Kind::NullValue(0)) }; n - 1] };
        let value = Value { kind: Some(Kind::ListValue(list)) };
        let variables = Struct { fields: [("k".to_owned(), value)].into() };
        ask_with(proto::Turn { variables: Some(variables), ..Default::default() })
    }),
];

#[tokio::test]
async fn every_list_has_its_own_bound() {
    let rig = rig().await;
    let mut client = rig.prompts().await;
    for (name, field, request) in LISTS {
        // What else is wrong with a request is another field's.
        let over = |status: &Status| {
            let violations = status.get_details_bad_request().map_or(Vec::new(), |request| request.field_violations);
            let bound = |text: &str| text.contains("at most") || text.contains("more than");
            violations.iter().any(|one| one.field == field && bound(&one.description))
        };
        let most = client.assemble_prompt(request(limit(name))).await;
        assert!(!most.as_ref().is_err_and(over), "{name}: {most:?}");
        let status = client.assemble_prompt(request(limit(name) + 1)).await.expect_err(name);
        assert!(over(&status), "{name}: {:?}", status.get_details_bad_request());
    }
}

#[tokio::test]
async fn a_message_has_its_bound() {
    let rig = rig().await;
    let with = |bytes: usize| {
        let request = ask_with(proto::Turn { persona: Some("p".repeat(bytes)), ..Default::default() });
        (request.encoded_len(), request)
    };
    let rest = with(50_000).0 - 50_000;
    let (bytes, largest) = with(limit("max_message_bytes") - rest);
    assert_eq!(bytes, limit("max_message_bytes"));
    rig.prompts().await.assemble_prompt(largest).await.unwrap();
    let status = rig.prompts().await.assemble_prompt(with(limit("max_message_bytes") - rest + 1).1).await.unwrap_err();
    assert_eq!(reason(&status), "MESSAGE_TOO_LARGE");
}

#[tokio::test]
async fn calls_streams_and_time_have_their_bounds() {
    let rig = rig().await;
    let watch = proto::WatchWorkspaceRequest { workspace_id: "harbor".into(), ..Default::default() };
    let mut streams = Vec::new();
    for _ in 0..limit("max_streams") {
        streams.push(rig.workspaces().await.watch_workspace(watch.clone()).await.unwrap());
    }
    let status = rig.workspaces().await.watch_workspace(watch).await.unwrap_err();
    assert_eq!((status.code(), reason(&status).as_str()), (Code::Unavailable, "OVERLOADED"));
    let (channel, began) = (rig.channel().await, Instant::now());
    let calls: Vec<_> = (0..limit("max_in_flight")).map(|_| Held::begin(channel.clone())).collect();
    rig.seen.has_begun(limit("max_streams") + 1 + calls.len()).await;
    let status = rig.prompts().await.assemble_prompt(ask()).await.unwrap_err();
    assert_eq!(reason(&status), "OVERLOADED");
    for call in calls {
        let status = call.answer.await.unwrap().unwrap_err();
        assert_eq!(reason(&status), "DEADLINE_EXCEEDED");
    }
    let (took, longest) = (began.elapsed(), Duration::from_secs(limit("max_call_time") as u64));
    assert!(took >= longest && took < 10 * longest, "{took:?}");
}

#[tokio::test]
async fn connections_and_their_streams_have_their_bounds() {
    let rig = rig().await;
    let mut clients = Vec::new();
    for _ in 0..limit("max_connections") {
        let client = Raw::connect(&rig, 1 << 20).await;
        client.call(ASSEMBLE, &ask()).await.begun().await.data().await.unwrap().unwrap();
        clients.push(client);
    }
    assert_eq!(clients[0].max_streams(), limit("max_streams_per_connection"));
    let mut one_more = TcpStream::connect(rig.addr).await.unwrap();
    let mut byte = [0; 1];
    let read = one_more.read(&mut byte);
    assert!(tokio::time::timeout(PATIENCE, read).await.unwrap().is_ok_and(|bytes| bytes == 0), "it is closed");
}

#[tokio::test]
async fn unread_requests_and_unsent_answers_have_their_bounds() {
    let rig = rig().await;
    for (bytes, full) in
        [(limit("max_unread_bytes") / 8 - 50_000, false), (limit("max_unread_bytes") / 8 - 49_999, true)]
    {
        let client = Raw::connect(&rig, 1 << 20).await;
        let mut partial = client.start(ASSEMBLE, &[]).await;
        partial.send([&prefix(59_000)[..], &vec![0; 49_995]].concat().into(), false);
        // It comes after the other one, on the same connection.
        let mut other = client.start(ASSEMBLE, &[]).await;
        other.send([&prefix(59_000)[..], &vec![0; bytes - 5]].concat().into(), false);
        let patience = if full { PATIENCE } else { Duration::from_millis(300) };
        let ended = tokio::time::timeout(patience, other.status()).await;
        assert_eq!(ended.ok().map(|status| reason(&status)), full.then(|| "CONNECTION_FULL".to_owned()), "{bytes}");
    }
    // An answer counts what it has and 2 KiB; its frame has 5 bytes, the rest of the message fewer than 300.
    for (bytes, full) in [(limit("max_unsent_bytes") / 8 - 2_400, false), (limit("max_unsent_bytes") / 8 - 2_048, true)]
    {
        rig.publish("harbor", harbor().file("skills/git/large.md", "x".repeat(bytes)));
        let (workspace_id, name, file) = ("harbor".into(), "git".into(), "large.md".into());
        let request = proto::ReadSkillRequest { workspace_id, name, file, ..Default::default() };
        let deaf = Raw::connect(&rig, 0).await;
        let mut call = deaf.start("promptd.v1.WorkspaceService/ReadSkill", &[]).await;
        call.send(frame(&request), true);
        assert_eq!(
            call.status_if_refused().await.map(|status| reason(&status)),
            full.then(|| "CONNECTION_FULL".to_owned())
        );
    }
}
