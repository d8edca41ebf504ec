//! `PlanHistory`.

use promptd_contract::proto;
use serde_json::json;
use tonic::Code;

use crate::{
    http::Caller,
    rig::{Rig, refused},
};

const PLAN: &str = "/promptd.v1.PromptService/PlanHistory";

fn said(role: proto::Role, content: String) -> proto::HistoryMessage {
    proto::HistoryMessage { role: role.into(), content, tokens: Some(600), ..Default::default() }
}

/// Two topics, 15 messages each.
fn messages() -> Vec<proto::HistoryMessage> {
    let topics = ["the berth, the tide and the tug at quay", "the invoice, the ledger and the auditor of tax"];
    let message = |index: usize| {
        let role = if index.is_multiple_of(2) { proto::Role::User } else { proto::Role::Assistant };
        said(role, format!("{} {}", topics[index / 15], index % 4))
    };
    (0..30).map(message).collect()
}

fn request() -> proto::PlanHistoryRequest {
    proto::PlanHistoryRequest { workspace_id: "harbor".into(), messages: messages(), ..Default::default() }
}

#[tokio::test]
async fn a_history_is_cut_where_the_topic_shifts_and_planned_once() {
    let rig = Rig::start().await;
    let mut client = rig.prompts().await;
    let mut asked = request();
    asked.messages[3].time = Some(prost_types::Timestamp { seconds: 60, nanos: 5 });
    let plan = client.plan_history(asked.clone()).await.unwrap().into_inner();
    assert_eq!((plan.settled_end, plan.waiting, plan.rollups.len()), (30, None, 0));
    let first = proto::PlannedSegment {
        message_start: 0,
        message_end: 15,
        start_time: asked.messages[3].time,
        end_time: asked.messages[3].time,
        tokens: 9_000,
        target_tokens: 900,
        profile: "kern-segment-summary".into(),
        end: proto::SegmentEnd::Topic.into(),
        merged: Vec::new(),
    };
    assert_eq!((plan.segments.len(), &plan.segments[0], plan.segments[1].message_end), (2, &first, 30));

    let kept = |(index, planned): (usize, &proto::PlannedSegment)| proto::HistorySegment {
        id: index.to_string(),
        message_start: planned.message_start,
        message_end: planned.message_end,
        summarised: index == 0,
        ..Default::default()
    };
    asked.segments = plan.segments.iter().enumerate().map(kept).collect();
    let again = client.plan_history(asked.clone()).await.unwrap().into_inner();
    assert_eq!((again.segments.len(), again.settled_end), (0, 30), "what is settled stays so");
    let unsummarised =
        proto::UnsummarisedSegment { id: "1".into(), target_tokens: 200, profile: "kern-segment-summary".into() };
    assert_eq!(again.unsummarised, [unsummarised]);

    let few = proto::PlanHistoryRequest { first_index: 30, messages: messages()[..9].to_vec(), ..request() };
    let waiting = client.plan_history(few).await.unwrap().into_inner().waiting.unwrap();
    assert_eq!((waiting.messages, waiting.messages_missing, waiting.tokens_missing), (9, 1, 4_600));
}

#[tokio::test]
async fn ten_summaries_are_rolled_up() {
    let rig = Rig::start().await;
    let segment = |index: u64| proto::HistorySegment {
        id: format!("s{index}"),
        message_start: 10 * index,
        message_end: 10 * index + 10,
        tokens: 100,
        summarised: true,
        ..Default::default()
    };
    let request = proto::PlanHistoryRequest {
        messages: Vec::new(),
        segments: (0..12).map(segment).collect(),
        rollup_profile: "kern-segment-summary".into(),
        ..request()
    };
    let plan = rig.prompts().await.plan_history(request).await.unwrap().into_inner();
    let rollup = proto::PlannedRollup {
        level: 1,
        child_ids: (0..10).map(|index| format!("s{index}")).collect(),
        message_start: 0,
        message_end: 100,
        start_time: None,
        end_time: None,
        tokens: 1_000,
        target_tokens: 1_500,
        profile: "kern-segment-summary".into(),
    };
    assert_eq!((plan.rollups, plan.settled_end), (vec![rollup], 120));
}

#[tokio::test]
async fn the_texts_to_embed_come_with_the_plan_that_they_are_for() {
    let rig = Rig::start().await;
    let mut client = rig.prompts().await;
    let ask = |first_index| proto::PlanHistoryRequest { first_index, embedding_inputs: true, ..request() };
    let plan = client.plan_history(ask(0)).await.unwrap().into_inner();
    assert_eq!(plan.embedding_inputs.len(), 30);
    assert!(plan.embedding_inputs[0].starts_with("user: the berth") && plan.embedding_inputs[0].lines().count() == 3);
    let mut waiting = ask(5);
    waiting.messages.truncate(5);
    assert_eq!(client.plan_history(waiting).await.unwrap().into_inner().embedding_inputs.len(), 0);
    // The vectors then decide.
    let mut embedded = ask(0);
    for (index, message) in embedded.messages.iter_mut().enumerate() {
        message.embedding = if index < 20 { vec![1.0, 0.0] } else { vec![0.0, 1.0] };
    }
    let plan = client.plan_history(embedded).await.unwrap().into_inner();
    assert_eq!(plan.segments.iter().map(|s| s.message_start).collect::<Vec<_>>(), [0, 20]);
}

#[tokio::test]
async fn what_cannot_be_planned_is_refused_with_its_field() {
    let rig = Rig::start().await;
    let mut client = rig.prompts().await;
    let none = proto::PlanHistoryRequest { workspace_id: "nowhere".into(), ..request() };
    refused(client.plan_history(none).await, Code::NotFound, "WORKSPACE_NOT_FOUND");
    for (field, wrong) in [
        ("workspace_id", proto::PlanHistoryRequest { workspace_id: String::new(), ..request() }),
        ("segment_profile", proto::PlanHistoryRequest { segment_profile: "none".into(), ..request() }),
        ("rollup_profile", proto::PlanHistoryRequest { rollup_profile: "none".into(), ..request() }),
        ("messages", proto::PlanHistoryRequest { messages: vec![messages().remove(0); 501], ..request() }),
    ] {
        let status = refused(client.plan_history(wrong).await, Code::InvalidArgument, "INVALID_REQUEST");
        assert!(status.message().contains(&format!("{field}: ")), "{}", status.message());
    }
}

#[tokio::test]
async fn connect_plans_in_json_as_grpc_does() {
    let rig = Rig::start().await;
    let plan = rig.prompts().await.plan_history(request()).await.unwrap().into_inner();
    let messages: Vec<_> = (messages().into_iter())
        .map(|message| json!({ "role": message.role, "content": message.content, "tokens": message.tokens }))
        .collect();
    let body = json!({ "workspaceId": "harbor", "messages": messages }).to_string();
    for caller in Caller::both(rig.addr) {
        let answer = caller.json(PLAN, &body).await;
        assert_eq!(answer.json()["settledEnd"], json!(plan.settled_end.to_string()), "{:?}", answer.status);
        assert_eq!(answer.json()["segments"].as_array().unwrap().len(), plan.segments.len());
        let wrong = body.replace("\"tokens\":600", "\"embedding\":[1,\"x\"]");
        let refused = caller.json(PLAN, &wrong).await;
        let text = refused.json().to_string();
        assert!(refused.status == 400 && text.contains("messages[0].embedding[1]"), "{text}");
    }
}
