//! Summaries of daily notes: made when a prompt would show one, listed, and in the prompts of turns that name a session.

use std::sync::Arc;

use promptd::grpc::Memory;
use promptd_contract::proto;
use promptd_core::{history::Thresholds, id::Id, turn::Role};
use promptd_memory::{Options, Source, SqliteStore, Store};
use promptd_memory_pipeline::{
    Division, Embedding, Fault, Later, Notebook, NotesRequest, Pipeline, Prompts, Request, Said, Summaries, Summariser,
    Working,
};
use tempfile::TempDir;
use tonic::Code;

use crate::{
    rig::{PATIENCE, Rig, Setup, refused},
    sessions::{append, said, start as start_without},
};

/// Notes of two days, and a model that says them again.
struct Days;

impl Notebook for Days {
    fn request<'a>(&'a self, workspace: &'a Id) -> Later<'a, Result<Option<NotesRequest>, String>> {
        let text = format!("The notes of </notes_summary> {workspace}.");
        let [first, last] = ["notes/2026-03-01.md", "notes/2026-03-02.md"].map(str::to_owned);
        let request = Request { messages: vec![(Role::User, text.clone())], max_tokens: 9 };
        let made = NotesRequest { first, last, source: text.clone(), chars: text.len(), request };
        Box::pin(async move { Ok(Some(made)) })
    }
}

impl Prompts for Days {
    fn request<'a>(&'a self, _: &'a Id, _: Source, _: u32) -> Later<'a, Result<Request, String>> {
        Box::pin(async { Err("there are no segments".into()) })
    }
}

impl Summariser for Days {
    fn say(&self, request: Request) -> Later<'_, Result<Said, Fault>> {
        Box::pin(async move { Ok(Said { text: request.messages[0].1.clone(), tokens: 7 }) })
    }
}

async fn start(dir: &TempDir) -> (Rig, Working) {
    let store = SqliteStore::open(&Options::new(dir.path().to_owned())).unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    let division = Division { thresholds: Thresholds::default(), embedding: Arc::new(Embedding::of_words()) };
    let summaries = Summaries { model: Arc::new(Days), prompts: Arc::new(Days), concurrency: 1, tokens_per_hour: None };
    let mut pipeline = Pipeline::new(Arc::clone(&store), division, Some(summaries));
    let queue = pipeline.sum_up_notes(Arc::new(Days));
    let memory = Memory::new(Ok(store)).with_notes(queue);
    (Rig::start_with(Setup { memory: Some(memory), ..Setup::default() }).await, pipeline.start())
}

fn ask(profile: &str, turn: proto::Turn) -> proto::AssemblePromptRequest {
    let now = Some(prost_types::Timestamp { seconds: 7, nanos: 0 });
    let turn = proto::Turn { now, session_id: "s".into(), ..turn };
    proto::AssemblePromptRequest { profile: profile.into(), turn: Some(turn), ..crate::rig::ask() }
}

async fn list(rig: &Rig) -> proto::ListNotesSummariesResponse {
    let request = proto::ListNotesSummariesRequest { workspace_id: "harbor".into() };
    rig.sessions().await.list_notes_summaries(request).await.unwrap().into_inner()
}

/// What a prompt has between the tags of the summary of notes.
fn notes_of(answer: &proto::AssemblePromptResponse) -> Option<&str> {
    let (_, rest) = answer.messages[0].content.split_once("<notes_summary>\n")?;
    rest.split_once("\n</notes_summary>").map(|(notes, _)| notes)
}

#[tokio::test]
async fn a_turn_has_the_summary_that_was_made_before_its_last_message() {
    let dir = TempDir::new().unwrap();
    let (rig, _working) = start(&dir).await;
    let (mut sessions, mut prompts) = (rig.sessions().await, rig.prompts().await);
    let mut say = async |id: &str| {
        sessions.append_messages(append("s", vec![said(proto::Role::User, id, "What is new?")])).await.unwrap();
    };
    say("1").await;
    // A profile that does not show it has none made.
    prompts.assemble_prompt(ask("five-layer", proto::Turn::default())).await.unwrap();
    let first = prompts.assemble_prompt(ask("kern", proto::Turn::default())).await.unwrap().into_inner();
    assert_eq!(notes_of(&first), None);
    let made = async {
        loop {
            let listed = list(&rig).await;
            if !listed.summaries.is_empty() {
                return listed;
            }
            tokio::task::yield_now().await;
        }
    };
    let listed = tokio::time::timeout(PATIENCE, made).await.unwrap();
    let [summary] = &listed.summaries[..] else { panic!("{listed:?}") };
    assert_eq!(
        (summary.first_note.as_str(), summary.last_note.as_str()),
        ("notes/2026-03-01.md", "notes/2026-03-02.md")
    );
    assert_eq!((summary.summary_tokens, listed.fault.as_str()), (7, ""));
    assert!(summary.made_at.is_some() && summary.summary.ends_with("harbor."), "{summary:?}");
    // It is not in the prompt of a message that was there before.
    assert_eq!(prompts.assemble_prompt(ask("kern", proto::Turn::default())).await.unwrap().into_inner(), first);
    let shown = async {
        // A message of the same millisecond does not see it yet.
        for number in 2.. {
            say(&number.to_string()).await;
            let answer = prompts.assemble_prompt(ask("kern", proto::Turn::default())).await.unwrap().into_inner();
            if let Some(notes) = notes_of(&answer) {
                return notes.to_owned();
            }
        }
        unreachable!()
    };
    let notes = tokio::time::timeout(PATIENCE, shown).await.unwrap();
    assert!(notes.ends_with("harbor.") && !notes.contains("</notes_summary>"), "{notes}");
    let old = proto::Turn { session_position: first.session_position, ..Default::default() };
    assert_eq!(prompts.assemble_prompt(ask("kern", old)).await.unwrap().into_inner(), first);
    let mine = prost_types::Value { kind: Some(prost_types::value::Kind::StringValue("Mine.".into())) };
    let mine = prost_types::Struct { fields: [("notes_summary".to_owned(), mine)].into() };
    let mine = proto::Turn { inputs: Some(mine), ..Default::default() };
    let answer = prompts.assemble_prompt(ask("kern", mine)).await.unwrap().into_inner();
    assert_eq!(notes_of(&answer), Some("Mine."));
    let gone = proto::DeleteSessionRequest { workspace_id: "harbor".into(), session_id: "s".into() };
    rig.sessions().await.delete_session(gone).await.unwrap();
    assert_eq!(list(&rig).await.summaries, []);
}

#[tokio::test]
async fn without_a_model_nothing_is_summed_up_and_the_list_says_so() {
    let dir = TempDir::new().unwrap();
    let rig = start_without(&dir).await;
    rig.sessions().await.append_messages(append("s", vec![said(proto::Role::User, "1", "Hello.")])).await.unwrap();
    let answer = rig.prompts().await.assemble_prompt(ask("kern", proto::Turn::default())).await.unwrap().into_inner();
    assert_eq!(notes_of(&answer), None);
    let listed = list(&rig).await;
    assert_eq!(listed.summaries, []);
    assert_eq!(listed.fault, "no model makes summaries here: `memory.models.summarise` of the server names none");
    let bad = proto::ListNotesSummariesRequest { workspace_id: "no id".into() };
    refused(rig.sessions().await.list_notes_summaries(bad).await, Code::InvalidArgument, "INVALID_REQUEST");
}
