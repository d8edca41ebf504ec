//! What every store must do with the vectors of messages, and with searches by them.

use promptd_core::{
    time::Moment,
    turn::{ConversationMessage, Role},
};

use super::{append, id, key, said, users};
use crate::{InContext, QueryVector, Recall, Recalled, SessionKey, Store};

const MODEL: &str = "points";

/// A message that points somewhere: its vector is what its text begins with, in degrees.
fn points(message: &str, degrees: u16) -> ConversationMessage {
    said(Role::User, message, &format!("{degrees} degrees"))
}

fn vector(degrees: f32) -> Vec<f32> {
    let radians = degrees.to_radians();
    vec![radians.cos(), radians.sin()]
}

/// The vector of a text that begins with a number; none for others.
fn of_text(text: &str) -> Vec<f32> {
    text.split(' ').next().and_then(|degrees| degrees.parse().ok()).map(vector).unwrap_or_default()
}

/// Makes the vectors of all that wait, a few at a time; gives the texts.
pub(crate) fn vectorise(store: &dyn Store) -> Vec<String> {
    let mut texts = Vec::new();
    loop {
        let waiting = store.waiting(3, 1 << 20).wait().unwrap();
        if waiting.is_nothing() {
            return texts;
        }
        assert!(waiting.messages.len() <= 3);
        texts.extend(waiting.messages.iter().map(|message| message.text.clone()));
        let vectors = waiting.messages.iter().map(|message| of_text(&message.text)).collect();
        store.add_vectors(waiting.vectorised(vectors)).wait().unwrap();
    }
}

fn near(degrees: f32, min_similarity: f32) -> Recall {
    let vector = Some(QueryVector { model: MODEL.into(), numbers: vector(degrees), min_similarity });
    Recall { vector, limit: 10, max_bytes: 1 << 20, ..Recall::default() }
}

fn find(store: &dyn Store, recall: Recall) -> Vec<Recalled> {
    store.recall(&id("w"), recall).wait().unwrap()
}

fn ids(found: &[Recalled]) -> Vec<&str> {
    found.iter().map(|found| &*found.message.message.id).collect()
}

fn counts(store: &dyn Store) -> (u64, u64, String) {
    let stats = store.stats(&id("w")).wait().unwrap();
    (stats.vectors, stats.vectors_waiting, stats.model)
}

pub(super) fn one_each(store: &dyn Store) {
    append(store, "s", users(0..4));
    assert!(store.waiting(10, 1 << 20).wait().unwrap().is_nothing(), "no model is in use");
    store.use_model(MODEL).wait().unwrap();
    append(store, "t", vec![said(Role::Tool, "tool", &"long ".repeat(100)), said(Role::Assistant, "empty", "")]);
    assert_eq!(counts(store), (0, 6, MODEL.into()));
    let stale = store.waiting(2, 1 << 20).wait().unwrap();
    let texts = vectorise(store);
    assert_eq!(texts[..4], ["text of m0", "text of m1", "text of m2", "text of m3"]);
    assert_eq!((texts[4].len(), &*texts[5]), (200, ""));
    assert_eq!(counts(store), (6, 0, MODEL.into()));
    // Again, since its answer was lost.
    store.add_vectors(stale.vectorised(vec![vec![1.0, 0.0]; 2])).wait().unwrap();
    store.use_model(MODEL).wait().unwrap();
    append(store, "s", users(4..5));
    assert_eq!(vectorise(store), ["text of m4"]);
    assert!(store.waiting(10, 1 << 20).wait().unwrap().is_nothing());
    // Another model.
    append(store, "s", users(5..6));
    let old = store.waiting(10, 1 << 20).wait().unwrap();
    store.use_model("other").wait().unwrap();
    assert_eq!(counts(store), (0, 8, "other".into()));
    store.add_vectors(old.vectorised(vec![vec![1.0, 0.0]])).wait().unwrap();
    assert_eq!(counts(store), (0, 8, "other".into()), "those of the old model come too late");
    assert_eq!(store.waiting(10, 12).wait().unwrap().messages.len(), 2, "of about so many bytes");
    assert_eq!(vectorise(store).len(), 8);
    assert!(find(store, near(0.0, 0.0)).is_empty(), "vectors of another model are not compared");
}

pub(super) fn nearest(store: &dyn Store) {
    store.use_model(MODEL).wait().unwrap();
    let at = |seconds, message| ConversationMessage { time: Some(Moment::new(seconds, 0).unwrap()), ..message };
    append(store, "s", vec![at(100, points("0", 0)), at(200, points("30", 30)), at(300, points("90", 90))]);
    append(store, "t", vec![at(400, points("10", 10)), at(500, said(Role::User, "words", "compass"))]);
    let theirs = SessionKey { workspace: id("v"), session: id("s") };
    store.append(&theirs, vec![points("theirs", 5)], None).wait().unwrap();
    assert!(find(store, near(5.0, -1.0)).is_empty(), "none has a vector yet");
    vectorise(store);
    let all = find(store, near(8.0, 0.0));
    assert_eq!(ids(&all), ["10", "0", "30", "90"]);
    assert!(all.iter().zip([0.999, 0.99, 0.927, 0.139]).all(|(found, expected)| {
        found.similarity.is_some_and(|similarity: f32| (similarity - expected).abs() < 0.01)
    }));
    assert_eq!(ids(&find(store, near(8.0, 0.95))), ["10", "0"]);
    let time = |seconds| Some(Moment::new(seconds, 0).unwrap());
    assert_eq!(ids(&find(store, Recall { since: time(200), until: time(400), ..near(8.0, 0.0) })), ["30", "90"]);
    let in_s = || Recall { session: Some(id("s")), ..near(8.0, 0.0) };
    assert_eq!(ids(&find(store, in_s())), ["0", "30", "90"]);
    assert_eq!(ids(&find(store, Recall { before: Some(2), ..in_s() })), ["0", "30"]);
    assert_eq!(ids(&find(store, Recall { limit: 1, ..near(8.0, 0.0) })), ["10"]);
    let in_context =
        |from, positions: &[u64]| Some(InContext { session: id("s"), from, positions: positions.to_vec() });
    let without = |from, positions| Recall { in_context: in_context(from, positions), ..near(8.0, 0.0) };
    assert_eq!(ids(&find(store, without(Some(1), &[]))), ["10", "0"]);
    assert_eq!(ids(&find(store, without(None, &[0, 2]))), ["10", "30"]);
    // What is found both ways comes before what is nearest, and what has words alone is found too.
    let both = Recall { query: "30 compass".into(), ..near(8.0, 0.9) };
    assert_eq!(ids(&find(store, both)), ["30", "10", "words", "0"]);
    let both = Recall { query: "30 compass".into(), in_context: in_context(Some(1), &[]), ..near(8.0, 0.9) };
    assert_eq!(ids(&find(store, both)), ["10", "words", "0"]);
}

pub(super) fn positions(store: &dyn Store) {
    store.use_model(MODEL).wait().unwrap();
    append(store, "s", vec![points("0", 0), points("10", 10)]);
    vectorise(store);
    append(store, "s", vec![points("20", 20)]);
    vectorise(store);
    append(store, "s", vec![points("30", 30)]);
    let at = |at| {
        let recall = Recall { session: Some(id("s")), before: Some(at), at: Some(at), ..near(40.0, 0.0) };
        ids(&find(store, recall)).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    // What was made at a position is seen from the next one on, and so it stays.
    let seen = [vec![], vec!["10", "0"], vec!["20", "10", "0"]];
    assert_eq!([2, 3, 4].map(at), seen.clone().map(|seen| seen.into_iter().map(str::to_owned).collect::<Vec<_>>()));
    vectorise(store);
    append(store, "s", vec![points("40", 40)]);
    assert_eq!([2, 3, 4].map(at), seen.map(|seen| seen.into_iter().map(str::to_owned).collect::<Vec<_>>()));
}

pub(super) fn removals(store: &dyn Store) {
    store.use_model(MODEL).wait().unwrap();
    append(store, "s", vec![points("0", 0), points("10", 10), points("20", 20)]);
    append(store, "t", vec![points("t", 90)]);
    vectorise(store);
    append(store, "s", vec![points("30", 30)]);
    let gone = store.waiting(10, 1 << 20).wait().unwrap();
    store.fork(&key("s"), Some(2), &id("part")).wait().unwrap();
    store.fork(&key("s"), None, &id("whole")).wait().unwrap();
    assert_eq!(counts(store), (9, 2, MODEL.into()), "the message without a vector is in two sessions");
    store.truncate(&key("s"), 1, None).wait().unwrap();
    append(store, "s", vec![points("180", 180)]);
    store.add_vectors(gone.vectorised(vec![vector(30.0)])).wait().unwrap();
    let mut made = vectorise(store);
    made.sort();
    assert_eq!(made, ["180 degrees", "30 degrees"]);
    let of = |session: &str| {
        let found = find(store, Recall { session: Some(id(session)), ..near(0.0, -1.0) });
        ids(&found).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(of("s"), ["0", "180"]);
    assert_eq!(of("part"), ["0", "10"]);
    assert_eq!(of("whole"), ["0", "10", "20", "30"]);
    for session in ["whole", "part", "s"] {
        store.delete(&key(session)).wait().unwrap();
    }
    assert_eq!(ids(&find(store, near(0.0, -1.0))), ["t"]);
    assert_eq!(counts(store), (1, 0, MODEL.into()));
}

pub(super) fn own_workspace(store: &dyn Store) {
    append(
        store,
        "s",
        vec![said(Role::User, "0", "anchor"), said(Role::User, "1", "buoy"), said(Role::User, "2", "buoy")],
    );
    let found = || {
        let recall = Recall { query: "anchor buoy".into(), limit: 10, max_bytes: 1 << 20, ..Recall::default() };
        find(store, recall)
    };
    let before = found();
    assert_eq!(ids(&before), ["0", "1", "2"], "the rarer word first");
    let theirs = SessionKey { workspace: id("v"), session: id("s") };
    let others = (0..100).map(|number| said(Role::User, &format!("m{number}"), "anchor and much besides"));
    store.append(&theirs, others.collect(), None).wait().unwrap();
    assert_eq!(found(), before, "whatever others say");
}
