//! What callers ask for, and what they get.

use std::time::{Duration, SystemTime};

use promptd_client::{
    Budget, BudgetUnit, Channel, Code, Conversation, ConversationMessage, Format, KnowledgeSnippet, NameGlobs, Promptd,
    ResponseFormat, Role, SkillFilter, ToolCall, User, proto,
};
use serde_json::{Value, json};

use crate::server::Server;

pub(crate) fn said(role: Role, content: &str) -> ConversationMessage {
    ConversationMessage { role: role.into(), content: content.into(), ..ConversationMessage::default() }
}

pub(crate) fn talk(messages: Vec<ConversationMessage>) -> Conversation {
    Conversation { messages, ..Conversation::default() }
}

fn whole(prompt: &promptd_client::Prompt) -> String {
    prompt.messages.iter().map(|message| &*message.content).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn a_prompt_has_everything_that_its_turn_has() {
    let server = Server::start();
    let client = Promptd::connect(&server.address).await.unwrap();
    let globs = NameGlobs { globs: vec!["tide-*".into()] };
    let prompt = client
        .assemble("example")
        .user(User { id: "u-1".into(), name: "Dana".into() })
        .channel(Channel { name: "telegram".into(), ..Channel::default() })
        .now(SystemTime::UNIX_EPOCH + Duration::from_secs(1_772_323_200))
        .time_zone("Europe/Copenhagen")
        .variables(&json!({"Vessel": "MV Baltic Heron", "Length": 82, "Insured": true}))
        .persona("A persona of this turn.")
        .knowledge(vec![KnowledgeSnippet { content: "Berth 7 is closed.".into(), ..KnowledgeSnippet::default() }])
        .conversation_summary("They spoke of berths.")
        .conversation(talk(vec![said(Role::User, "Where can I berth?")]))
        .response_format(ResponseFormat::JsonObject)
        .ephemeral_system_prompt("Answer in one sentence.")
        .skill_filter(SkillFilter { allowlist: Some(globs), blocklist: None })
        .context_files(vec!["AGENTS.md".into()])
        .token_encoding("o200k_base")
        .include_spans(true)
        .timeout(Duration::from_secs(5))
        .send()
        .await
        .unwrap();
    let text = whole(&prompt);
    for part in [
        "Dana",
        "telegram",
        "2026-03-01",
        "Europe/Copenhagen",
        "MV Baltic Heron",
        "82",
        "A persona of this turn.",
        "Berth 7 is closed.",
        "They spoke of berths.",
        "Where can I berth?",
        "JSON",
        "Answer in one sentence.",
        "tide-window",
        "Working rules",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(!text.contains("berth-offer") && !text.contains("# Voice"), "what is filtered out\n{text}");
    assert!(prompt.size.unwrap().tokens.unwrap() > 100);
    assert!(prompt.sections.iter().any(|section| !section.spans.is_empty()));
    assert_eq!((prompt.revision.len(), prompt.digest.len(), prompt.stale), (64, 64, None));
    assert_eq!(prompt.request_id.len(), 32);
    assert_eq!(prompt.fragment, Value::Null);
    assert!(whole(&client.assemble("example").heartbeat(true).send().await.unwrap()).contains("HEARTBEAT_OK"));
    let bare = client.assemble("example").skip_context_files(true).omit_sections(true).send().await.unwrap();
    assert!(!whole(&bare).contains("Working rules") && bare.sections.is_empty());
    let budget = Budget { max: 6_000, unit: BudgetUnit::Chars.into(), ..Budget::default() };
    assert!(client.assemble("example").budget(budget).send().await.unwrap().size.unwrap().chars <= 6_000);
    // The inputs arrive: the profile has none of this name.
    let call = client.assemble("example").profile("kern").inputs(&json!({"nonesuch": 1}));
    let error = call.send().await.unwrap_err();
    assert!(error.violations[0].field.contains("nonesuch"), "{:?}", error.violations);
}

#[tokio::test]
async fn each_provider_gets_the_fields_of_its_request_and_no_other() {
    let server = Server::start();
    let client = Promptd::connect(format!("http://{}", server.address)).await.unwrap();
    let call = ToolCall { id: "c1".into(), name: "tides".into(), arguments_json: r#"{"day": 1}"#.into() };
    let asked = ConversationMessage { tool_calls: vec![call], ..said(Role::Assistant, "") };
    let result = ConversationMessage { tool_call_id: "c1".into(), ..said(Role::Tool, "14:10") };
    let conversation = talk(vec![said(Role::User, "When is high water?"), asked, result]);
    for (format, key) in [
        (Format::OpenaiChat, "messages"),
        (Format::OpenrouterChat, "messages"),
        (Format::OpenaiResponses, "input"),
        (Format::AnthropicMessages, "messages"),
        (Format::Gemini, "contents"),
        (Format::BedrockConverse, "messages"),
    ] {
        let prompt = client.assemble("example").conversation(conversation.clone()).format(format).send().await.unwrap();
        let all = [prompt.for_openai(), prompt.for_anthropic(), prompt.for_gemini(), prompt.for_bedrock()];
        let good: Vec<_> = all.iter().filter_map(|fields| fields.as_ref().ok()).collect();
        assert_eq!(good.len(), 1, "{format}");
        assert_eq!(Value::Object(good[0].clone()), serde_json::from_str::<Value>(&prompt.rendered).unwrap());
        assert!(!good[0][key].as_array().unwrap().is_empty(), "{format}");
        let wrong = all.into_iter().find_map(Result::err).unwrap();
        assert_eq!(wrong.code, Code::FailedPrecondition);
        assert!(wrong.message.contains(&format.to_string()) && wrong.message.contains("Format::"), "{wrong}");
        assert_eq!(format.to_string().parse::<Format>().unwrap(), format);
    }
    let text = client.assemble("example").format(Format::Text).send().await.unwrap();
    assert_eq!(text.fragment, Value::String(text.rendered.clone()));
}

#[tokio::test]
async fn texts_that_the_request_has_are_put_back() {
    let server = Server::start();
    let client = Promptd::connect(&server.address).await.unwrap();
    // The profile carries what tools say as it is.
    let call = ToolCall { id: "c1".into(), name: "tides".into(), arguments_json: "{}".into() };
    let asked = ConversationMessage { tool_calls: vec![call], ..said(Role::Assistant, "") };
    let result = ConversationMessage { tool_call_id: "c1".into(), ..said(Role::Tool, "14:10") };
    let conversation = talk(vec![said(Role::User, "When is high water?"), asked, result]);
    let call = client.assemble("example").conversation(conversation).now(SystemTime::UNIX_EPOCH);
    let plain = call.clone().send().await.unwrap();
    let referenced = call.reference_conversation(true).send().await.unwrap();
    let texts =
        |prompt: &promptd_client::Prompt| prompt.messages.iter().map(|one| one.content.clone()).collect::<Vec<_>>();
    assert_eq!(texts(&plain), texts(&referenced));
    assert!(texts(&referenced).contains(&"14:10".to_owned()), "{:?}", texts(&referenced));
}

#[tokio::test]
async fn every_other_method_answers() {
    let server = Server::start();
    let client = Promptd::connect(&server.address).await.unwrap();
    let workspaces = client.list_workspaces("").await.unwrap();
    assert_eq!(workspaces.iter().map(|one| &*one.id).collect::<Vec<_>>(), ["example"]);
    assert!(client.list_workspaces("nonesuch").await.unwrap().is_empty());
    let revision = client.get_workspace("example").await.unwrap().revision;
    assert_eq!(client.list_revisions("example").await.unwrap()[0].revision, revision);
    let skills = client.list_skills("example", None).await.unwrap();
    assert!(skills.iter().any(|skill| skill.name == "tide-window"));
    let read =
        proto::ReadSkillRequest { workspace_id: "example".into(), name: "tide-window".into(), ..Default::default() };
    assert!(String::from_utf8(client.read_skill(read).await.unwrap().content).unwrap().contains("name: tide-window"));
    let file = client.read_file("example", "SOUL.md").await.unwrap();
    assert!(String::from_utf8(file.content).unwrap().starts_with("# Voice"));
    assert!(client.list_profiles().await.unwrap().iter().any(|profile| profile.name == "kern"));
    assert_eq!(client.get_profile("five-layer").await.unwrap().name, "five-layer");
    let reply = proto::ParseReplyRequest {
        workspace_id: "example".into(),
        text: "HEARTBEAT_OK".into(),
        heartbeat: true,
        ..Default::default()
    };
    assert!(client.parse_reply(reply).await.unwrap().heartbeat_ok);
    let plan = proto::PlanHistoryRequest { workspace_id: "example".into(), ..Default::default() };
    assert_eq!(client.plan_history(plan).await.unwrap().settled_end, 0);
    let diff = proto::DiffPromptRequest {
        workspace_id: "example".into(),
        before_revision: revision.clone(),
        after: Some(proto::diff_prompt_request::After::AfterRevision(revision)),
        turn: Some(proto::Turn::default()),
        ..Default::default()
    };
    assert!(client.diff(diff).await.unwrap().same);
}
