//! Trees of summaries over a real store, with a model that answers, fails, and is interrupted.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use promptd_core::{
    history::Thresholds,
    id::Id,
    turn::{ConversationMessage, Role},
};
use promptd_memory::{
    Options, PageOfSegments, Recall, SegmentState, SessionKey, Source, SqliteStore, Store, StoredSegment,
};
use promptd_memory_pipeline::{
    Division, Embedder, Embedding, Fault, Later, Pipeline, Prompts, Request, Said, Summaries, Summariser,
};
use tempfile::TempDir;

/// Requests that are what they sum up.
struct Plain;

impl Prompts for Plain {
    fn request<'a>(&'a self, _: &'a Id, source: Source, target: u32) -> Later<'a, Result<Request, String>> {
        let text: Vec<String> = match source {
            Source::Messages(messages) => messages.into_iter().map(|stored| stored.message.content).collect(),
            Source::Segments(children) => children.into_iter().map(|child| child.summary).collect(),
        };
        let messages = vec![(Role::User, text.join("\n"))];
        Box::pin(async move { Ok(Request { messages, max_tokens: target }) })
    }
}

/// A model that says the first word of each line; of its first requests it fails so many.
struct FirstWords {
    failures: usize,
    asked: AtomicUsize,
}

impl Summariser for FirstWords {
    fn say(&self, request: Request) -> Later<'_, Result<Said, Fault>> {
        let fails = self.asked.fetch_add(1, Ordering::SeqCst) < self.failures;
        let words: Vec<_> = request.messages[0].1.lines().filter_map(|line| line.split(' ').next()).collect();
        let text = words.join(" ");
        Box::pin(async move {
            // So that answers come in another order than they are asked for.
            tokio::time::sleep(Duration::from_millis(text.len() as u64 % 7)).await;
            if fails {
                Err(Fault::OfAnswer("the model's answer is empty".into()))
            } else {
                Ok(Said { text, tokens: 9 })
            }
        })
    }
}

fn key() -> SessionKey {
    SessionKey { workspace: Id::parse("w").unwrap(), session: Id::parse("s").unwrap() }
}

fn open(dir: &Path) -> Arc<dyn Store> {
    Arc::new(SqliteStore::open(&Options::new(dir.to_owned())).unwrap())
}

fn pipeline(store: &Arc<dyn Store>, failures: usize) -> Pipeline {
    pipeline_of(store, Arc::new(FirstWords { failures, asked: AtomicUsize::new(0) }))
}

fn pipeline_of(store: &Arc<dyn Store>, model: Arc<dyn Summariser>) -> Pipeline {
    pipeline_with(store, model, Arc::new(Plain))
}

fn pipeline_with(store: &Arc<dyn Store>, model: Arc<dyn Summariser>, prompts: Arc<dyn Prompts>) -> Pipeline {
    let thresholds = Thresholds {
        min_new_messages: 4,
        min_new_tokens: 40,
        min_segment_messages: 3,
        min_segment_tokens: 20,
        rollup_size: 3,
        ..Thresholds::default()
    };
    let summaries = Summaries { model, prompts, concurrency: 3, tokens_per_hour: None };
    let division = Division { thresholds, embedding: Arc::new(Embedding::of_words()) };
    Pipeline::new(Arc::clone(store), division, Some(summaries))
}

fn messages(range: std::ops::Range<usize>) -> Vec<ConversationMessage> {
    let message = |number: usize| ConversationMessage {
        id: format!("m{number}"),
        ..ConversationMessage::new(
            if number.is_multiple_of(2) { Role::User } else { Role::Assistant },
            &format!(
                "w{number} {}",
                ["the harbour opens", "bread and flour", "a train leaves"][number / 9 % 3].repeat(2)
            ),
        )
    };
    range.map(message).collect()
}

async fn segments(store: &Arc<dyn Store>) -> Vec<StoredSegment> {
    let page = PageOfSegments { after: None, limit: 10_000, max_bytes: 1 << 24 };
    store.segments(&key(), page).await.unwrap().segments
}

/// Waits until nothing is left to do.
async fn settled(store: &Arc<dyn Store>) -> Vec<StoredSegment> {
    let waiting = async {
        loop {
            // Nothing was left to plan before they were read, so they are all.
            let is_planned = store.due(1).await.unwrap().is_empty();
            let segments = segments(store).await;
            let is_waiting = segments.iter().any(|segment| segment.state == SegmentState::Waiting);
            if is_planned && !is_waiting && store.due(1).await.unwrap().is_empty() {
                return segments;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.unwrap()
}

/// A segment's level, messages and summary, and its parent's messages.
type Shape = (u32, std::ops::Range<u64>, String, Option<std::ops::Range<u64>>);

/// What does not depend on the order that the summaries came in.
fn shape(segments: &[StoredSegment]) -> Vec<Shape> {
    let range = |id: u64| segments.iter().find(|segment| segment.id == id).map(|segment| segment.messages.clone());
    let one = |segment: &StoredSegment| {
        (segment.level, segment.messages.clone(), segment.summary.clone(), segment.parent.and_then(range))
    };
    segments.iter().map(one).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tree_is_the_same_whenever_it_is_made() {
    let home = TempDir::new().unwrap();
    let store = open(&home.path().join("once"));
    store.append(&key(), messages(0..120), None).await.unwrap();
    let working = pipeline(&store, 0).start();
    let once = settled(&store).await;
    drop(working);
    assert!(once.iter().any(|segment| segment.level == 2), "{:?}", shape(&once));
    let mut reached = 0;
    for leaf in once.iter().filter(|segment| segment.level == 0) {
        assert_eq!(leaf.messages.start, reached);
        reached = leaf.messages.end;
    }
    assert!((100..=120).contains(&reached), "{reached}");

    // Message by message, with a model that fails now and then, and a pipeline that is interrupted at any moment.
    let store = open(&home.path().join("little by little"));
    for number in 0..40 {
        let working = pipeline(&store, 1).start();
        for number in number * 3..number * 3 + 3 {
            store.append(&key(), messages(number..number + 1), None).await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(fastrand::u64(0..30))).await;
        drop(working);
    }
    let working = pipeline(&store, 0).start();
    assert_eq!(shape(&settled(&store).await), shape(&once));
    drop(working);
    drop(store);
    let checked = promptd_memory::check(&home.path().join("little by little")).unwrap();
    assert_eq!(checked.faults, [""; 0]);
}

/// A model that panics where it is asked first.
struct Panicking(AtomicUsize);

impl Summariser for Panicking {
    fn say(&self, _: Request) -> Later<'_, Result<Said, Fault>> {
        let is_first = self.0.fetch_add(1, Ordering::SeqCst) == 0;
        Box::pin(async move {
            assert!(!is_first, "as it should");
            Ok(Said { text: "w".into(), tokens: 1 })
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_segment_whose_model_panics_is_asked_for_again() {
    let home = TempDir::new().unwrap();
    let store = open(home.path());
    store.append(&key(), messages(0..30), None).await.unwrap();
    let model = Arc::new(Panicking(AtomicUsize::new(0)));
    let working = pipeline_of(&store, model.clone()).start();
    let made = settled(&store).await;
    drop(working);
    assert!(!made.is_empty() && made.iter().all(|segment| segment.state == SegmentState::Summarised), "{made:?}");
    assert!(model.0.load(Ordering::SeqCst) > made.len());
}

/// Requests that no workspace of the name `locked` makes.
struct Unlocked;

impl Prompts for Unlocked {
    fn request<'a>(&'a self, workspace: &'a Id, source: Source, target: u32) -> Later<'a, Result<Request, String>> {
        match workspace.as_str() {
            "locked" => Box::pin(async { Err("it locks `inputs`".into()) }),
            _ => Plain.request(workspace, source, target),
        }
    }
}

/// The work of others does not wait for what cannot be read, or has no prompt.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_that_cannot_be_summed_up_hold_up_no_other() {
    let home = TempDir::new().unwrap();
    let store = open(home.path());
    let session = |workspace: &str, session: &str| SessionKey {
        workspace: Id::parse(workspace).unwrap(),
        session: Id::parse(session).unwrap(),
    };
    let damaged = session("w", "damaged");
    store.append(&damaged, messages(0..30), None).await.unwrap();
    for number in 0..5 {
        store.append(&session("locked", &format!("s{number}")), messages(0..30), None).await.unwrap();
    }
    store.append(&key(), messages(0..30), None).await.unwrap();
    let database = rusqlite::Connection::open(home.path().join("conversations.db")).unwrap();
    database
        .execute("UPDATE messages SET role = 9 WHERE session = (SELECT key FROM sessions WHERE id = 'damaged')", [])
        .unwrap();
    let working =
        pipeline_with(&store, Arc::new(FirstWords { failures: 0, asked: AtomicUsize::new(0) }), Arc::new(Unlocked))
            .start();
    let made = async {
        loop {
            let made = segments(&store).await;
            if !made.is_empty() && made.iter().all(|segment| segment.state == SegmentState::Summarised) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), made).await.unwrap();
    while store.waiting(10, 1 << 20).await.unwrap().messages.iter().any(|message| !message.text.is_empty()) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    drop(working);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_model_segments_wait() {
    let home = TempDir::new().unwrap();
    let store = open(home.path());
    let division = Division { thresholds: Thresholds::default(), embedding: Arc::new(Embedding::of_words()) };
    let working = Pipeline::new(Arc::clone(&store), division, None).start();
    store.append(&key(), messages(0..30), None).await.unwrap();
    while segments(&store).await.is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    drop(working);
    assert!(segments(&store).await.iter().all(|segment| segment.state == SegmentState::Waiting));
}

/// Vectors that say of which of two topics a message and most of those around it are; its server fails at first.
struct Topics(AtomicUsize);

impl Embedder for Topics {
    fn embed(&self, texts: Vec<String>) -> Later<'_, Result<Vec<Vec<f32>>, Fault>> {
        let fault = match self.0.fetch_add(1, Ordering::SeqCst) {
            0 => Some(Fault::OfServer { message: "it hangs".into(), pause: None }),
            1 => Some(Fault::OfAnswer("it is garbage".into())),
            _ => None,
        };
        let count = |text: &str, word| f32::from(u8::try_from(text.matches(word).count()).unwrap());
        let vector = |text: &String| {
            if count(text, "one-topic") > count(text, "other-topic") { vec![1.0, 0.0] } else { vec![0.0, 1.0] }
        };
        let vectors = texts.iter().map(vector).collect();
        Box::pin(async move { fault.map_or(Ok(vectors), Err) })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn vectors_say_where_a_topic_shifts() {
    let home = TempDir::new().unwrap();
    let store = open(home.path());
    let thresholds =
        Thresholds { min_segment_messages: 2, min_segment_tokens: 1, min_messages: 20, ..Thresholds::default() };
    let embedding = Embedding::of_model("topics".into(), Arc::new(Topics(AtomicUsize::new(0))), None);
    let division = Division { thresholds, embedding: Arc::new(embedding) };
    let working = Pipeline::new(Arc::clone(&store), division, None).start();
    // To the words all messages are alike, except for one.
    let topic = |number| if (8..15).contains(&number) { "other-topic" } else { "one-topic" };
    let said = messages(0..21).into_iter().enumerate();
    let said =
        said.map(|(number, message)| ConversationMessage { content: format!("word {}", topic(number)), ..message });
    store.append(&key(), said.collect(), None).await.unwrap();
    let waiting = async {
        while segments(&store).await.is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.unwrap();
    drop(working);
    let starts: Vec<_> = segments(&store).await.iter().map(|segment| segment.messages.start).collect();
    assert_eq!(starts, [0, 8, 15]);
}

/// A model that takes no text with `refused` in it, and fails altogether at first.
struct Choosy(AtomicUsize);

impl Embedder for Choosy {
    fn embed(&self, texts: Vec<String>) -> Later<'_, Result<Vec<Vec<f32>>, Fault>> {
        let is_first = self.0.fetch_add(1, Ordering::SeqCst) == 0;
        Box::pin(async move {
            if is_first {
                return Err(Fault::OfServer { message: "it hangs".into(), pause: None });
            }
            if texts.iter().any(|text| text.contains("refused")) {
                return Err(Fault::OfAnswer("it answers 400".into()));
            }
            Ok(texts.iter().map(|text| vec![f32::from(u8::from(text.contains("north"))), 1.0]).collect())
        })
    }
}

#[tokio::test(start_paused = true)]
async fn each_message_gets_a_vector_but_for_those_that_the_model_does_not_take() {
    let home = TempDir::new().unwrap();
    let store = open(home.path());
    let embedding = Arc::new(Embedding::of_model("choosy".into(), Arc::new(Choosy(AtomicUsize::new(0))), None));
    let division = Division { thresholds: Thresholds::default(), embedding: Arc::clone(&embedding) };
    let working = Pipeline::new(Arc::clone(&store), division, None).start();
    let said = ["go north", "refused", "", "go east"].into_iter().enumerate();
    let said = said.map(|(number, text)| ConversationMessage {
        id: format!("m{number}"),
        ..ConversationMessage::new(Role::User, text)
    });
    store.append(&key(), said.collect(), None).await.unwrap();
    let workspace = Id::parse("w").unwrap();
    while store.stats(&workspace).await.unwrap().vectors < 4 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    drop(working);
    let vector = embedding.query("north", Some(-1.0)).await.unwrap();
    let recall = Recall { vector: Some(vector), limit: 9, max_bytes: 1 << 20, ..Recall::default() };
    let found = store.recall(&workspace, recall).await.unwrap();
    let ids: Vec<_> = found.iter().map(|found| found.message.message.id.as_str()).collect();
    assert_eq!(ids, ["m0", "m3"]);
}
