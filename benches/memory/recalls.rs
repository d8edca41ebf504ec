//! How long it takes to find messages by the words of a question.

use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

use promptd_contract::proto::RecallRequest;

use crate::{
    LONG, Part, milliseconds,
    stored::{Stored, WORKSPACE},
};

/// How many words a question has.
const WORDS: usize = 8;
/// The most that one takes over the messages of the long session, in milliseconds, 99 times of 100.
const MAX_P99_MS: f64 = 60.0;

pub struct Row {
    messages: usize,
    /// Milliseconds.
    p50: f64,
    p99: f64,
}

/// So many questions, in the words of a user.
pub async fn measure(stored: &mut Stored, rounds: usize) -> Row {
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..rounds {
        let query = stored.speaker.words(WORDS);
        let request = RecallRequest { workspace_id: WORKSPACE.into(), query, ..RecallRequest::default() };
        let began = Instant::now();
        let found = stored.client.recall(request).await.unwrap().into_inner();
        times.push(began.elapsed());
        assert_eq!(found.messages.len(), 5);
    }
    Row { messages: stored.messages, p50: milliseconds(0.5, &times), p99: milliseconds(0.99, &times) }
}

pub fn part(rows: &[Row], slack: f64) -> Part {
    let mut markdown = format!(
        "### Recall\n\nThe five best of all messages for {WORDS} words, drawn as those of the messages are.\n\n\
         | messages | p50 ms | p99 ms |\n|--:|--:|--:|\n"
    );
    for Row { messages, p50, p99 } in rows {
        let _ = writeln!(markdown, "| {messages} | {p50:.1} | {p99:.1} |");
    }
    let slow = rows.iter().filter(|row| row.messages == LONG && row.p99 > MAX_P99_MS * slack);
    let faults = slow.map(|row| format!("a recall over {LONG} messages takes {:.0} ms, over {MAX_P99_MS}", row.p99));
    Part { faults: faults.collect(), markdown }
}
