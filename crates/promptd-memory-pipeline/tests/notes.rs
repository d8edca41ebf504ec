//! Summaries of notes over a real store: made once, made again where the notes are others, and given up.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use promptd_core::{
    history::Thresholds,
    id::Id,
    turn::{ConversationMessage, Role},
};
use promptd_memory::{Options, SessionKey, Source, SqliteStore, Store};
use promptd_memory_pipeline::{
    Division, Embedding, Fault, Later, Notebook, NotesQueue, NotesRequest, Pipeline, Prompts, Request, Said, Summaries,
    Summariser, Working,
};
use tempfile::TempDir;

/// Notes that say a text; empty: there are none.
struct Text(Mutex<Result<String, String>>);

impl Notebook for Text {
    fn request<'a>(&'a self, _: &'a Id) -> Later<'a, Result<Option<NotesRequest>, String>> {
        let text = self.0.lock().unwrap().clone();
        Box::pin(async move {
            let text = text?;
            let request = Request { messages: vec![(Role::User, text.clone())], max_tokens: 9 };
            let [first, last] = ["notes/2026-03-01.md", "notes/2026-03-02.md"].map(str::to_owned);
            let made = NotesRequest { first, last, source: text.clone(), chars: text.len(), request };
            Ok(Some(made).filter(|_| !text.is_empty()))
        })
    }
}

/// A model that does what it is told, in order, and then repeats what it is asked.
#[derive(Default)]
struct Told {
    next: Mutex<VecDeque<Does>>,
    asked: Mutex<Vec<String>>,
}

enum Does {
    Fails(Fault),
    Panics,
}

impl Summariser for Told {
    fn say(&self, request: Request) -> Later<'_, Result<Said, Fault>> {
        let text = request.messages[0].1.clone();
        self.asked.lock().unwrap().push(text.clone());
        let next = self.next.lock().unwrap().pop_front();
        Box::pin(async move {
            match next {
                Some(Does::Fails(fault)) => Err(fault),
                Some(Does::Panics) => panic!("as it is told"),
                None => Ok(Said { text, tokens: 3 }),
            }
        })
    }
}

/// Asked for nothing: there are no segments.
struct Nothing;

impl Prompts for Nothing {
    fn request<'a>(&'a self, _: &'a Id, _: Source, _: u32) -> Later<'a, Result<Request, String>> {
        Box::pin(async { Err("nothing".into()) })
    }
}

struct Rig {
    store: Arc<dyn Store>,
    model: Arc<Told>,
    notes: Arc<Text>,
    queue: NotesQueue,
    _working: Working,
    _home: TempDir,
}

fn workspace() -> Id {
    Id::parse("w").unwrap()
}

impl Rig {
    async fn start(told: impl IntoIterator<Item = Does>) -> Self {
        let home = TempDir::new().unwrap();
        let store = SqliteStore::open(&Options::new(home.path().to_owned())).unwrap();
        let store: Arc<dyn Store> = Arc::new(store);
        let key = SessionKey { workspace: workspace(), session: workspace() };
        let message = ConversationMessage { id: "1".into(), ..ConversationMessage::new(Role::User, "Hello.") };
        store.append(&key, vec![message], None).await.unwrap();
        let model = Arc::new(Told { next: Mutex::new(told.into_iter().collect()), ..Told::default() });
        let notes = Arc::new(Text(Mutex::new(Ok("first".into()))));
        let division = Division { thresholds: Thresholds::default(), embedding: Arc::new(Embedding::of_words()) };
        let summaries = Summaries {
            model: Arc::clone(&model) as _,
            prompts: Arc::new(Nothing),
            concurrency: 1,
            tokens_per_hour: None,
        };
        let mut pipeline = Pipeline::new(Arc::clone(&store), division, Some(summaries));
        let queue = pipeline.sum_up_notes(Arc::clone(&notes) as _).unwrap();
        Self { store, model, notes, queue, _working: pipeline.start(), _home: home }
    }

    fn note(&self, text: Result<&str, &str>) {
        *self.notes.0.lock().unwrap() = text.map(str::to_owned).map_err(str::to_owned);
    }

    async fn made(&self) -> Vec<String> {
        let found = self.store.notes_summaries(&workspace(), 100).await.unwrap();
        found.into_iter().map(|stored| stored.summary.text).collect()
    }

    fn asked(&self) -> usize {
        self.model.asked.lock().unwrap().len()
    }

    /// Asks again every 20 seconds, so often or until something is so; whether it is. The clock is the runtime's, which goes on
    /// whenever all wait, also for the store: each time something is read from it, so that what was asked for has its turn.
    async fn until(&self, most: usize, is_so: impl AsyncFn() -> bool) -> bool {
        for _ in 0..most {
            if is_so().await {
                return true;
            }
            self.queue.ask(&workspace());
            self.made().await;
            tokio::time::sleep(Duration::from_secs(20)).await;
        }
        is_so().await
    }

    async fn until_made(&self, expected: &[&str]) {
        self.until(2_000, async || self.made().await == expected).await;
        assert_eq!(self.made().await, expected);
    }

    /// Asks often enough for anything that would happen.
    async fn rest(&self) {
        self.until(100, async || false).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_notes_are_summed_up_once_and_others_again() {
    let rig = Rig::start([]).await;
    rig.until_made(&["first"]).await;
    rig.rest().await;
    assert_eq!((rig.made().await.len(), rig.asked()), (1, 1));
    rig.note(Ok("second"));
    rig.until_made(&["second", "first"]).await;
    rig.note(Ok(""));
    rig.rest().await;
    assert_eq!(rig.asked(), 2);
    assert_eq!(rig.queue.fault(&workspace()), None);
}

#[tokio::test(start_paused = true)]
async fn notes_that_cannot_be_summed_up_are_given_up_until_they_change() {
    let wrong = || Does::Fails(Fault::OfAnswer("it is wrong".into()));
    let told = [Does::Panics].into_iter().chain((0..20).map(|_| wrong()));
    let rig = Rig::start(told).await;
    assert!(rig.until(2_000, async || rig.asked() == 8).await);
    rig.rest().await;
    assert_eq!((rig.asked(), rig.made().await.len()), (8, 0));
    assert_eq!(rig.queue.fault(&workspace()).as_deref(), Some("it is wrong"));
    rig.model.next.lock().unwrap().clear();
    rig.note(Ok("better"));
    rig.until_made(&["better"]).await;
    assert!(rig.until(2_000, async || rig.queue.fault(&workspace()).is_none()).await);
    rig.note(Err("it is not there"));
    assert!(rig.until(2_000, async || rig.queue.fault(&workspace()).is_some()).await);
    assert_eq!(rig.queue.fault(&workspace()).as_deref(), Some("it is not there"));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_away_is_waited_for_however_long() {
    let away = || Does::Fails(Fault::OfServer { message: "it hangs".into(), pause: None });
    let rig = Rig::start((0..12).map(|_| away())).await;
    rig.until_made(&["first"]).await;
    assert_eq!(rig.asked(), 13);
}
