//! `AssemblePrompt`: what comes back, and every way to be refused.

use promptd_contract::proto;
use promptd_core::workspace::MemoryTree;
use tonic::Code;
use tonic_types::StatusExt as _;

use crate::rig::{Rig, ask, ask_with, harbor, refused};

fn names(response: &proto::AssemblePromptResponse) -> Vec<&str> {
    response.messages.iter().map(|message| message.name.as_str()).collect()
}

#[tokio::test]
async fn all_five_layers_come_in_order_and_the_same_request_gives_the_same_bytes() {
    let rig = Rig::start().await;
    let turn = proto::Turn {
        heartbeat: true,
        ephemeral_system_prompt: Some("Only count.".into()),
        now: Some(prost_types::Timestamp { seconds: 0, nanos: 0 }),
        ..Default::default()
    };
    let mut client = rig.prompts().await;
    let first = client.assemble_prompt(ask_with(turn.clone())).await.unwrap().into_inner();
    assert_eq!(names(&first), ["skeleton", "runtime_facts", "workspace_context", "heartbeat", "ephemeral"]);
    assert!(first.messages[1].content.contains("1970-01-01T00:00:00"));
    assert_eq!((first.revision.len(), first.digest.len(), first.profile.as_str()), (64, 64, "five-layer"));
    let again = client.assemble_prompt(ask_with(turn)).await.unwrap().into_inner();
    assert_eq!(first, again);
    // Every byte that a report claims is there, and sizes say what they count; a context file's leave out its heading.
    for section in &first.sections {
        let headed = section.id.starts_with("workspace_context/");
        if let Some(index) = section.message_index.filter(|_| !headed) {
            let (start, end) = (section.byte_start as usize, section.byte_end as usize);
            let text = &first.messages[index as usize].content[start..end];
            let size = section.included_size.unwrap();
            assert_eq!((size.bytes, size.chars), (text.len() as u64, text.chars().count() as u64), "{}", section.id);
        }
    }
    assert_eq!(first.size.unwrap().bytes, first.messages.iter().map(|m| m.content.len() as u64).sum::<u64>());
}

#[tokio::test]
async fn a_turn_changes_its_own_layer_alone_and_no_other_turn() {
    let rig = Rig::start().await;
    let mut client = rig.prompts().await;
    let turn = |seconds, scope: &str, user_id: &str, heartbeat| proto::Turn {
        now: Some(prost_types::Timestamp { seconds, nanos: 0 }),
        channel: Some(proto::Channel { user_id: user_id.into(), group_id: user_id.into(), ..Default::default() }),
        ephemeral_system_prompt: (!scope.is_empty()).then(|| scope.into()),
        heartbeat,
        ..Default::default()
    };
    let mut ask = async |turn| client.assemble_prompt(ask_with(turn)).await.unwrap().into_inner();
    let midnight = 1_772_323_200;
    let plain = ask(turn(midnight - 1, "", "u1", false)).await;
    for (seconds, scope, user_id, heartbeat, changed) in [
        (midnight, "", "u1", false, &["runtime_facts"][..]),
        (midnight - 1, "", "u2", false, &["runtime_facts"]),
        (midnight - 1, "Count ducks: TOP-77.", "u1", false, &["ephemeral"]),
        (midnight - 1, "Count geese.", "u1", false, &["ephemeral"]),
        (midnight - 1, "", "u1", true, &["runtime_facts", "heartbeat"]),
    ] {
        let other = ask(turn(seconds, scope, user_id, heartbeat)).await;
        let differs = |message: &&proto::PromptMessage| !plain.messages.contains(message);
        let names: Vec<_> = other.messages.iter().filter(differs).map(|message| message.name.as_str()).collect();
        assert_eq!(names, changed);
        assert_eq!(ask(turn(midnight - 1, "", "u1", false)).await, plain, "nothing of it stays");
    }
}

#[tokio::test]
async fn a_turn_without_a_clock_has_the_servers() {
    let rig = Rig::start().await;
    let response = rig.prompts().await.assemble_prompt(ask()).await.unwrap().into_inner();
    assert!(response.messages[1].content.contains("2026-03-01T02:30:00"), "{}", response.messages[1].content);
}

#[tokio::test]
async fn what_the_caller_holds_is_not_sent_again() {
    let rig = Rig::start().await;
    let mut client = rig.prompts().await;
    let first = client.assemble_prompt(ask()).await.unwrap().into_inner();

    let held = proto::AssemblePromptRequest { if_none_match: vec!["0".repeat(64), first.digest.clone()], ..ask() };
    let whole = client.assemble_prompt(held).await.unwrap().into_inner();
    assert!(whole.not_modified && whole.messages.is_empty() && whole.sections.is_empty());
    assert_eq!((&whole.digest, &whole.revision, &whole.size), (&first.digest, &first.revision, &first.size));

    let skeleton = first.messages[0].digest.clone();
    let later = proto::Turn { now: Some(prost_types::Timestamp { seconds: 60, nanos: 0 }), ..Default::default() };
    let held = proto::AssemblePromptRequest { if_none_match: vec![skeleton], ..ask_with(later) };
    let part = client.assemble_prompt(held).await.unwrap().into_inner();
    assert!(!part.not_modified && part.messages[0].not_modified && part.messages[0].content.is_empty());
    assert!(!part.messages[1].not_modified && !part.messages[1].content.is_empty());
    assert_eq!(part.messages[0].digest, first.messages[0].digest);
}

#[tokio::test]
async fn reports_can_be_left_out_and_the_conversation_referenced() {
    let rig = Rig::start().await;
    let message = proto::ConversationMessage { role: 2, content: "Hello".into(), ..Default::default() };
    let conversation = Some(proto::Conversation { messages: vec![message], ..Default::default() });
    let request = proto::AssemblePromptRequest {
        omit_sections: true,
        reference_conversation: true,
        ..ask_with(proto::Turn { conversation, ..Default::default() })
    };
    let response = rig.prompts().await.assemble_prompt(request).await.unwrap().into_inner();
    assert!(response.sections.is_empty());
    let last = response.messages.last().unwrap();
    assert_eq!((last.conversation_index, last.role), (Some(0), 2));
}

#[tokio::test]
async fn spans_are_sent_on_request_and_change_nothing_else() {
    let rig = Rig::start().await;
    let user = proto::User { name: " Dana".into(), ..Default::default() };
    let turn = proto::Turn { user: Some(user), now: Some(prost_types::Timestamp::default()), ..Default::default() };
    let plain = ask_with(turn);
    let mut client = rig.prompts().await;
    let without = client.assemble_prompt(plain.clone()).await.unwrap().into_inner();
    let traced = proto::AssemblePromptRequest { include_spans: true, ..plain.clone() };
    let mut with = client.assemble_prompt(traced.clone()).await.unwrap().into_inner();
    let spans_of = |id: &str| -> Vec<(proto::How, proto::OriginKind, String, String, String)> {
        let section = with.sections.iter().find(|section| section.id == id).unwrap();
        let content = &with.messages[section.message_index.unwrap() as usize].content;
        let span = |span: &proto::Span| {
            let origin = span.origin.clone().unwrap();
            let source = span.source.clone().map(|source| source.path).unwrap_or_default();
            let range = format!("{source}:{}..{}", span.source_start, span.source_end);
            let text = content[span.byte_start as usize..span.byte_end as usize].to_owned();
            (span.how(), origin.kind(), origin.profile + "/" + &origin.name, range, text)
        };
        section.spans.iter().map(span).collect()
    };
    let span = |how, kind, name: &str, range: &str, text: &str| {
        (how, kind, name.to_owned(), range.to_owned(), text.to_owned())
    };
    assert_eq!(
        spans_of("user"),
        [
            span(
                proto::How::Template,
                proto::OriginKind::Profile,
                "five-layer/user",
                ":0..0",
                "You are currently talking to: "
            ),
            span(proto::How::Verbatim, proto::OriginKind::Turn, "/turn.user.name", ":1..5", "Dana"),
        ]
    );
    let rules = "# Rules\nAnswer in one sentence.";
    assert_eq!(
        spans_of("workspace_context/AGENTS.md").last().unwrap(),
        &span(proto::How::Verbatim, proto::OriginKind::File, "/AGENTS.md", "AGENTS.md:0..31", rules)
    );
    assert!(without.sections.iter().all(|section| section.spans.is_empty()));
    with.sections.iter_mut().for_each(|section| section.spans.clear());
    assert_eq!(with, without);
    let omitted = proto::AssemblePromptRequest { omit_sections: true, ..traced };
    let omitted = client.assemble_prompt(omitted).await.unwrap().into_inner();
    assert_eq!((omitted.sections.len(), omitted.digest), (0, without.digest));
}

#[tokio::test]
async fn token_counts_and_provider_fragments_are_sent_on_request() {
    let rig = Rig::start().await;
    let mut client = rig.prompts().await;
    let text = proto::AssemblePromptRequest {
        token_encoding: "o200k_base".into(),
        render_format: proto::RenderFormat::Text.into(),
        ..ask()
    };
    let response = client.assemble_prompt(text).await.unwrap().into_inner();
    let texts: Vec<_> = response.messages.iter().map(|message| message.content.as_str()).collect();
    assert_eq!(response.rendered, texts.join("\n\n"));
    assert!(response.size.unwrap().tokens.unwrap() > 50);
    let skills = response.sections.iter().find(|section| section.id == "skills").unwrap();
    assert!(skills.included_size.unwrap().tokens.unwrap() > 20);
    assert_eq!(skills.included_size.unwrap().tokens, skills.original_size.unwrap().tokens);

    let chat = proto::AssemblePromptRequest { render_format: proto::RenderFormat::OpenaiChat.into(), ..ask() };
    let response = client.assemble_prompt(chat).await.unwrap().into_inner();
    let fragment: serde_json::Value = serde_json::from_str(&response.rendered).unwrap();
    assert_eq!(fragment["messages"].as_array().unwrap().len(), response.messages.len());
    assert_eq!(response.size.unwrap().tokens, None);
}

#[tokio::test]
async fn every_wrong_field_is_reported_at_once() {
    let rig = Rig::start().await;
    let request = proto::AssemblePromptRequest {
        token_encoding: "p50k_base".into(),
        ..ask_with(proto::Turn { time_zone: "Etc/Unknown".into(), response_format: 9, ..Default::default() })
    };
    let status = refused(rig.prompts().await.assemble_prompt(request).await, Code::InvalidArgument, "INVALID_REQUEST");
    let violations = status.get_details_bad_request().unwrap().field_violations;
    let fields: Vec<_> = violations.iter().map(|violation| violation.field.as_str()).collect();
    assert_eq!(fields, ["token_encoding", "turn.time_zone", "turn.response_format"]);
}

#[tokio::test]
async fn ids_with_path_traversal_are_malformed_and_read_nothing() {
    let rig = Rig::start().await;
    let mut client = rig.prompts().await;
    for id in ["", "..", "../other", "/etc", "a/../../b", "a\0b", "%2e%2e%2fb", "..\\b", "C:x", &"a".repeat(4_096)] {
        let request = proto::AssemblePromptRequest { workspace_id: id.into(), ..Default::default() };
        let status = refused(client.assemble_prompt(request).await, Code::InvalidArgument, "INVALID_REQUEST");
        assert_eq!(status.get_details_bad_request().unwrap().field_violations[0].field, "workspace_id");
    }
}

#[tokio::test]
async fn unknown_names_are_not_found() {
    let rig = Rig::start().await;
    let mut client = rig.prompts().await;
    let other = proto::AssemblePromptRequest { workspace_id: "nowhere".into(), ..Default::default() };
    let status = refused(client.assemble_prompt(other).await, Code::NotFound, "WORKSPACE_NOT_FOUND");
    let resource = status.get_details_resource_info().unwrap();
    assert_eq!((resource.resource_type.as_str(), resource.resource_name.as_str()), ("workspace", "nowhere"));
    assert!(!status.message().contains("did you mean") && status.message().contains("ListWorkspaces"), "{status:?}");
    let misspelt = proto::AssemblePromptRequest { workspace_id: "habor".into(), ..Default::default() };
    let status = refused(client.assemble_prompt(misspelt).await, Code::NotFound, "WORKSPACE_NOT_FOUND");
    assert!(status.message().contains("did you mean `harbor`?"), "{status:?}");

    let pinned = proto::AssemblePromptRequest { revision: "0".repeat(64), ..ask() };
    refused(client.assemble_prompt(pinned).await, Code::NotFound, "REVISION_EXPIRED");

    let profile = proto::AssemblePromptRequest { profile: "five-layers".into(), ..ask() };
    let status = refused(client.assemble_prompt(profile).await, Code::InvalidArgument, "INVALID_REQUEST");
    assert_eq!(status.get_details_bad_request().unwrap().field_violations[0].field, "profile");
}

#[tokio::test]
async fn a_pinned_revision_stays_until_a_filter_is_tightened() {
    let rig = Rig::start().await;
    let mut client = rig.prompts().await;
    let old = client.assemble_prompt(ask()).await.unwrap().into_inner();
    rig.publish("harbor", harbor().file("SOUL.md", "Stern.\n"));
    let pinned = || proto::AssemblePromptRequest { revision: old.revision.clone(), ..ask() };
    let again = client.assemble_prompt(pinned()).await.unwrap().into_inner();
    assert_eq!((again.digest, again.revision), (old.digest.clone(), old.revision.clone()));
    assert_ne!(client.assemble_prompt(ask()).await.unwrap().into_inner().digest, old.digest);

    rig.publish("harbor", harbor().file("workspace.yaml", "skills:\n  blocklist: [\"*\"]\n"));
    refused(client.assemble_prompt(pinned()).await, Code::NotFound, "REVISION_EXPIRED");
}

#[tokio::test]
async fn strict_refuses_a_loss_before_digests_are_compared() {
    let rig = Rig::start().await;
    let mut client = rig.prompts().await;
    rig.publish("harbor", harbor().file("AGENTS.md", "r".repeat(9_000)).file("SOUL.md", "s".repeat(9_000)));
    let cut = client.assemble_prompt(ask()).await.unwrap().into_inner();
    assert_eq!(cut.findings.iter().filter(|finding| finding.code == "CONTEXT_FILE_TRUNCATED").count(), 2);
    let strict = proto::AssemblePromptRequest { strict: true, if_none_match: vec![cut.digest], ..ask() };
    let status = refused(client.assemble_prompt(strict).await, Code::FailedPrecondition, "PROMPT_LOSS");
    let violations = status.get_details_precondition_failure().unwrap().violations;
    let subjects: Vec<_> = violations.iter().map(|violation| violation.subject.as_str()).collect();
    assert_eq!(subjects, ["workspace_context/AGENTS.md", "workspace_context/SOUL.md"]);
    assert!(violations.iter().all(|violation| violation.r#type == "PROMPT_LOSS" && !violation.description.is_empty()));
}

#[tokio::test]
async fn strict_allows_what_a_profile_leaves_out_by_design() {
    let rig = Rig::start().await;
    let mut client = rig.prompts().await;
    let message = |n: usize| proto::ConversationMessage {
        role: if n.is_multiple_of(2) { proto::Role::User } else { proto::Role::Assistant }.into(),
        content: format!("message {n}"),
        ..Default::default()
    };
    let conversation = proto::Conversation { messages: (0..20).map(message).collect(), ..Default::default() };
    let turn = proto::Turn { conversation: Some(conversation), ..Default::default() };
    let prompt = client.assemble_prompt(proto::AssemblePromptRequest { strict: true, ..ask_with(turn) }).await;
    let prompt = prompt.unwrap().into_inner();
    let section = prompt.sections.iter().find(|section| section.id == "conversation").unwrap();
    let sizes = [&section.original_size, &section.included_size].map(|size| size.as_ref().unwrap().bytes);
    assert_eq!((section.outcome(), sizes[0] > sizes[1]), (proto::Outcome::Included, true));
    let limited: Vec<_> = prompt.findings.iter().filter(|finding| finding.code == "LIMITED_BY_DESIGN").collect();
    assert_eq!((limited.len(), limited[0].severity()), (1, proto::Severity::Info));
    assert_eq!(limited[0].field, "turn.conversation.messages");
}

#[tokio::test]
async fn a_budget_that_cannot_be_kept_is_refused_with_its_figures() {
    let rig = Rig::start().await;
    let mut client = rig.prompts().await;
    rig.publish(
        "harbor",
        harbor().file("workspace.yaml", "budget: {max: 900}\n").file("SOUL.md", "soft ".repeat(2_000)),
    );
    let prompt = client.assemble_prompt(ask()).await.unwrap().into_inner();
    assert!(prompt.findings.iter().any(|finding| finding.code == "BUDGET_EXCEEDED"));
    assert!(prompt.size.unwrap().tokens.is_none(), "tokens are in the answer only where they were asked for");
    let strict = proto::AssemblePromptRequest { strict: true, ..ask() };
    refused(client.assemble_prompt(strict).await, Code::FailedPrecondition, "PROMPT_LOSS");

    let budget = proto::Budget { max: 3, unit: proto::BudgetUnit::Tokens.into(), encoding: "cl100k_base".into() };
    let turn = proto::Turn { budget: Some(budget), ..Default::default() };
    let status = refused(client.assemble_prompt(ask_with(turn)).await, Code::FailedPrecondition, "BUDGET_TOO_SMALL");
    assert!(status.message().contains("budget of 3 tokens of cl100k_base is too small"), "{}", status.message());
    let metadata = status.get_details_error_info().unwrap().metadata;
    assert_eq!((metadata["max"].as_str(), metadata["unit"].as_str()), ("3", "tokens of cl100k_base"));
    assert!(metadata["pinned"].parse::<u64>().unwrap() > 3);
    let unknown = proto::Turn { budget: Some(proto::Budget { max: 0, ..Default::default() }), ..Default::default() };
    refused(client.assemble_prompt(ask_with(unknown)).await, Code::InvalidArgument, "INVALID_REQUEST");
}

#[tokio::test]
async fn an_invalid_workspace_reports_each_fault_and_affects_no_other() {
    let rig = Rig::start().await;
    let mut client = rig.prompts().await;
    let tree = MemoryTree::new().file("workspace.yaml", "agent:\n  naem: x\nskils: {}\n");
    rig.publish("broken", tree);
    let request = proto::AssemblePromptRequest { workspace_id: "broken".into(), ..Default::default() };
    let status = refused(client.assemble_prompt(request).await, Code::FailedPrecondition, "WORKSPACE_INVALID");
    let violations = status.get_details_precondition_failure().unwrap().violations;
    let subjects: Vec<_> = violations.iter().map(|violation| violation.subject.as_str()).collect();
    assert_eq!(subjects, ["workspace.yaml:2:3", "workspace.yaml:3:1"]);
    client.assemble_prompt(ask()).await.unwrap();
}

#[tokio::test]
async fn locked_fields_are_denied() {
    let rig = Rig::start().await;
    let mut client = rig.prompts().await;
    rig.publish("harbor", harbor().file("workspace.yaml", "locked: [profile, persona]\n"));
    let listed = rig.workspaces().await.list_workspaces(proto::ListWorkspacesRequest::default()).await.unwrap();
    assert_eq!(listed.into_inner().workspaces[0].locked, ["profile", "persona"]);
    let profile = proto::AssemblePromptRequest { profile: "five-layer".into(), ..ask() };
    refused(client.assemble_prompt(profile).await, Code::PermissionDenied, "FIELD_LOCKED");
    let persona = ask_with(proto::Turn { persona: Some(String::new()), ..Default::default() });
    let status = refused(client.assemble_prompt(persona).await, Code::PermissionDenied, "FIELD_LOCKED");
    assert!(status.message().contains("turn.persona"), "{status:?}");
    client.assemble_prompt(ask()).await.unwrap();
}

#[tokio::test]
async fn the_workspaces_filter_holds_on_every_kind_of_turn() {
    let rig = Rig::start().await;
    let mut client = rig.prompts().await;
    let ephemeral = Some("You count logs.".to_owned());
    for turn in [
        proto::Turn::default(),
        proto::Turn { heartbeat: true, ..Default::default() },
        proto::Turn { ephemeral_system_prompt: ephemeral, ..Default::default() },
        proto::Turn { skip_context_files: true, ..Default::default() },
    ] {
        let response = client.assemble_prompt(ask_with(turn)).await.unwrap().into_inner();
        let skeleton = &response.messages[0].content;
        assert!(skeleton.contains("<name>git</name>") && skeleton.contains("<name>xurl</name>"));
        assert!(!format!("{response:?}").contains("internal-x"));
    }
}
