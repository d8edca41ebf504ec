//! What messages take of the disk, and of the server's memory.

use std::fmt::Write as _;

use crate::{Part, stored::Stored};

/// How many times the bytes of their texts messages take of the disk.
const MAX_ON_DISK: f64 = 2.5;
/// How many bytes of memory a server takes more after five times the messages: the vectors that it holds are then as many as it may
/// (`memory.held_vectors`), 23 MB more, and its store's other caches have bounds too.
const MAX_GROWTH: u64 = 45_000_000;

/// How many bytes a vector's numbers are.
const VECTOR: u64 = 384;

pub struct Row {
    messages: usize,
    /// Bytes of their texts.
    text: u64,
    /// Bytes, with those of vectors.
    disk: u64,
    /// Bytes of vectors' numbers.
    vectors: u64,
    memory: u64,
}

pub async fn measure(stored: &Stored) -> Row {
    Row {
        messages: stored.messages,
        text: stored.bytes,
        disk: stored.on_disk(),
        vectors: stored.vectors().await * VECTOR,
        memory: stored.server.resident(),
    }
}

impl Row {
    fn ratio(&self) -> f64 {
        self.disk.saturating_sub(self.vectors) as f64 / self.text as f64
    }
}

pub fn part(rows: &[Row], slack: f64) -> Part {
    let mut markdown = String::from(
        "### What is stored\n\nAfter the calls above. The ratio is that of the disk without the numbers of vectors to the text.\n\n\
         | messages | text MB | on disk MB | numbers of vectors MB | ratio | memory MB |\n|--:|--:|--:|--:|--:|--:|\n",
    );
    for row @ Row { messages, text, disk, vectors, memory } in rows {
        let _ = writeln!(
            markdown,
            "| {messages} | {} | {} | {} | **{:.2}** | {} |",
            text / 1_000_000,
            disk / 1_000_000,
            vectors / 1_000_000,
            row.ratio(),
            memory / 1_000_000
        );
    }
    let (first, last) = (&rows[0], &rows[rows.len() - 1]);
    let growth = last.memory.saturating_sub(first.memory);
    let faults = [
        (
            last.ratio() > MAX_ON_DISK * slack,
            format!("the disk has {:.2} times the text, over {MAX_ON_DISK}", last.ratio()),
        ),
        (
            growth as f64 > MAX_GROWTH as f64 * slack,
            format!("the server takes {} MB more after {} messages", growth / 1_000_000, last.messages),
        ),
    ];
    Part { markdown, faults: faults.into_iter().filter_map(|(missed, what)| missed.then_some(what)).collect() }
}
