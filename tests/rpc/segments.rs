//! The tree of summaries of a stored session: listed, and in the prompts of turns that name the session.

use std::{sync::Arc, time::Duration};

use promptd::grpc::Memory;
use promptd_contract::proto;
use promptd_core::{history::Thresholds, id::Id, turn::Role};
use promptd_memory::{Options, Source, SqliteStore, Store};
use promptd_memory_pipeline::{
    Division, Embedding, Fault, Later, Pipeline, Prompts, Request, Said, Summaries, Summariser, Working,
};
use tempfile::TempDir;
use tonic::Code;

use crate::{
    rig::{PATIENCE, Rig, Setup, refused},
    sessions::{agentic, append, number, said},
};

/// Asks for the lengths of what is summed up, and says them.
struct Lengths;

impl Prompts for Lengths {
    fn request<'a>(&'a self, _: &'a Id, source: Source, target: u32) -> Later<'a, Result<Request, String>> {
        let lengths: Vec<usize> = match source {
            Source::Messages(messages) => messages.iter().map(|stored| stored.message.content.len()).collect(),
            Source::Segments(children) => children.iter().map(|child| child.summary.len()).collect(),
        };
        let messages = vec![(Role::User, format!("{lengths:?}"))];
        Box::pin(async move { Ok(Request { messages, max_tokens: target }) })
    }
}

impl Summariser for Lengths {
    fn say(&self, request: Request) -> Later<'_, Result<Said, Fault>> {
        let text: String = request.messages[0].1.chars().take(60).collect();
        Box::pin(async move { Ok(Said { tokens: 15, text }) })
    }
}

async fn start(dir: &TempDir) -> (Rig, Working) {
    let store = SqliteStore::open(&Options::new(dir.path().to_owned())).unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    let thresholds = Thresholds {
        min_new_messages: 4,
        min_new_tokens: 100,
        min_segment_tokens: 50,
        min_segment_messages: 4,
        rollup_size: 4,
        ..Thresholds::default()
    };
    let division = Division { thresholds, embedding: Arc::new(Embedding::of_words()) };
    let summaries =
        Summaries { model: Arc::new(Lengths), prompts: Arc::new(Lengths), concurrency: 4, tokens_per_hour: None };
    let working = Pipeline::new(Arc::clone(&store), division, Some(summaries)).start();
    (Rig::start_with(Setup { memory: Some(Memory::new(Ok(store))), ..Setup::default() }).await, working)
}

fn list(page_token: &str, page_size: i32) -> proto::ListSegmentsRequest {
    proto::ListSegmentsRequest {
        workspace_id: "harbor".into(),
        session_id: "s".into(),
        page_size,
        page_token: page_token.into(),
    }
}

/// All segments of the session, page by page, once there are some of a level and the model has summarised all.
async fn segments(rig: &Rig, level: u32) -> Vec<proto::StoredSegment> {
    let mut sessions = rig.sessions().await;
    let walk = async {
        let mut before = Vec::new();
        loop {
            let (mut all, mut token) = (Vec::new(), String::new());
            loop {
                let page = sessions.list_segments(list(&token, 7)).await.unwrap().into_inner();
                all.extend(page.segments);
                token = page.next_page_token;
                if token.is_empty() {
                    break;
                }
            }
            let is_waiting = all.iter().any(|segment| segment.state() == proto::SegmentState::Waiting);
            // The planner rests half a second between two plans.
            let has_level = all.iter().any(|it| it.segment.as_ref().is_some_and(|segment| segment.level >= level));
            if !is_waiting && has_level && all == before {
                return all;
            }
            before = all;
            tokio::time::sleep(Duration::from_millis(1_500)).await;
        }
    };
    tokio::time::timeout(PATIENCE, walk).await.unwrap()
}

#[tokio::test]
async fn a_turn_has_the_summaries_that_its_session_has() {
    let dir = TempDir::new().unwrap();
    let (rig, working) = start(&dir).await;
    let (mut sessions, mut prompts) = (rig.sessions().await, rig.prompts().await);
    let mut messages = agentic(120);
    sessions.append_messages(append("s", messages.clone())).await.unwrap();
    let before = proto::Turn { session_id: "s".into(), ..Default::default() };
    let ask = |budget: f64, turn: proto::Turn| proto::AssemblePromptRequest {
        profile: "kern".into(),
        turn: Some(proto::Turn {
            inputs: Some(number("max_context_tokens", budget)),
            now: Some(prost_types::Timestamp { seconds: 7, nanos: 0 }),
            ..turn
        }),
        ..crate::rig::ask()
    };
    let first = prompts.assemble_prompt(ask(3_000.0, before.clone())).await.unwrap().into_inner();
    let tree = segments(&rig, 2).await;
    drop(working);
    // What was made since is seen from the next message on.
    let again = prompts.assemble_prompt(ask(3_000.0, before)).await.unwrap().into_inner();
    assert_eq!(again, first);
    messages.push(said(proto::Role::User, "more", "And what else?"));
    sessions.append_messages(append("s", messages[messages.len() - 1..].to_vec())).await.unwrap();
    let summaries: Vec<_> = tree.iter().map(|segment| segment.segment.clone().unwrap()).collect();
    for budget in [300.0, 700.0, 1_500.0, 3_000.0, 10_000.0, 100_000.0, 0.0] {
        let whole =
            proto::Conversation { messages: messages.clone(), segments: summaries.clone(), ..Default::default() };
        let brought = proto::Turn { conversation: Some(whole), ..Default::default() };
        let named = proto::Turn { session_id: "s".into(), ..Default::default() };
        let brought = prompts.assemble_prompt(ask(budget, brought)).await.unwrap().into_inner();
        let named = prompts.assemble_prompt(ask(budget, named)).await.unwrap().into_inner();
        assert_eq!(named.conversation_window, brought.conversation_window, "{budget}");
        assert_eq!(named.digest, brought.digest, "{budget}");
        let shown = named.conversation_window.unwrap();
        assert_eq!(shown.summary_ids.is_empty(), shown.cut == 0, "{budget}");
        assert_eq!(shown.cut == 0, budget < 1.0, "{budget}: all but no limit trims");
        assert!(shown.summary_ids.iter().all(|id| summaries.iter().any(|summary| summary.id == *id)));
    }
    let old = proto::Turn { session_id: "s".into(), session_position: first.session_position, ..Default::default() };
    assert_eq!(prompts.assemble_prompt(ask(3_000.0, old)).await.unwrap().into_inner(), first);
}

#[tokio::test]
async fn segments_are_listed_counted_and_removed() {
    let dir = TempDir::new().unwrap();
    let (rig, _working) = start(&dir).await;
    let mut sessions = rig.sessions().await;
    sessions.append_messages(append("s", agentic(20))).await.unwrap();
    let tree = segments(&rig, 0).await;
    let stats = proto::GetRecallStatsRequest { workspace_id: "harbor".into() };
    let counted = sessions.get_recall_stats(stats.clone()).await.unwrap().into_inner();
    let counts = [counted.segments_waiting, counted.segments_summarised, counted.segments_set_aside];
    assert_eq!(counts, [0, tree.len() as u64, 0]);
    let first = tree[0].segment.as_ref().unwrap();
    assert_eq!((first.level, first.message_start, first.summary_tokens), (0, 0, 15));
    assert!(first.summary.starts_with('[') && tree[0].tokens > 0 && tree[0].target_tokens > 0);
    refused(sessions.list_segments(list("", -1)).await, Code::InvalidArgument, "INVALID_REQUEST");
    refused(sessions.list_segments(list("nonsense", 0)).await, Code::InvalidArgument, "INVALID_REQUEST");
    let nowhere = proto::ListSegmentsRequest { session_id: "t".into(), ..list("", 0) };
    refused(sessions.list_segments(nowhere).await, Code::NotFound, "SESSION_NOT_FOUND");
    let gone = proto::DeleteSessionRequest { workspace_id: "harbor".into(), session_id: "s".into() };
    sessions.delete_session(gone).await.unwrap();
    let counted = sessions.get_recall_stats(stats).await.unwrap().into_inner();
    assert_eq!(counted.segments_summarised, 0);
    refused(sessions.list_segments(list("", 0)).await, Code::NotFound, "SESSION_NOT_FOUND");
}
