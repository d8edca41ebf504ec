//! How long a message takes until it is on the disk, and how many a second are stored, by one writer and by many.

use std::{
    fmt::Write as _,
    fs::File,
    io::Write as _,
    time::{Duration, Instant},
};

use indicatif::ProgressBar;

use crate::{
    Part, milliseconds,
    stored::{Speaker, Stored, append},
};

/// How many write at once, each to a session of its own.
const WRITERS: [usize; 3] = [1, 8, 64];
/// The most that one writer waits, in milliseconds, 99 times of 100.
const MAX_P99_MS: f64 = 10.0;
/// The fewest messages a second of the most writers.
const MIN_PER_SECOND: f64 = 3_000.0;
/// How often the disk itself is measured.
const SYNCS: usize = 200;

struct Row {
    writers: usize,
    per_second: f64,
    /// Milliseconds.
    p50: f64,
    p99: f64,
}

/// Each number of writers for so many seconds, on a store that is new.
pub async fn measure(seconds: usize, slack: f64, bar: &ProgressBar) -> Part {
    let stored = Stored::start().await;
    let sync = sync();
    let mut rows = Vec::new();
    for writers in WRITERS {
        bar.set_message(format!("{writers} writing"));
        rows.push(row(&stored, writers, Duration::from_secs(seconds as u64)).await);
    }
    Part { markdown: markdown(&rows, sync), faults: faults(&rows, slack) }
}

async fn row(stored: &Stored, writers: usize, time: Duration) -> Row {
    let began = Instant::now();
    let all: Vec<_> = (0..writers)
        .map(|writer| {
            let mut client = stored.client.clone();
            let session = format!("{writers}-{writer}");
            tokio::spawn(async move {
                let (mut speaker, mut times) = (Speaker::new(), Vec::new());
                while began.elapsed() < time {
                    let request = append(&session, vec![speaker.message(times.len())]);
                    let began = Instant::now();
                    client.append_messages(request).await.unwrap();
                    times.push(began.elapsed());
                }
                times
            })
        })
        .collect();
    let mut times = Vec::new();
    for writer in all {
        times.extend(writer.await.unwrap());
    }
    let per_second = times.len() as f64 / began.elapsed().as_secs_f64();
    Row { writers, per_second, p50: milliseconds(0.5, &times), p99: milliseconds(0.99, &times) }
}

/// What a sync of the disk takes, in milliseconds: the median, and 99 of 100.
fn sync() -> [f64; 2] {
    let folder = tempfile::tempdir().unwrap();
    let mut file = File::create(folder.path().join("ruler")).unwrap();
    let times: Vec<_> = (0..SYNCS)
        .map(|_| {
            file.write_all(&[0; 4096]).unwrap();
            let began = Instant::now();
            file.sync_data().unwrap();
            began.elapsed()
        })
        .collect();
    [0.5, 0.99].map(|q| milliseconds(q, &times))
}

fn faults(rows: &[Row], slack: f64) -> Vec<String> {
    let (one, many) = (&rows[0], &rows[rows.len() - 1]);
    [
        (one.p99 > MAX_P99_MS * slack, format!("an append takes {:.1} ms, over {MAX_P99_MS}", one.p99)),
        (
            many.per_second < MIN_PER_SECOND / slack,
            format!("{} writers store {:.0} messages a second, under {MIN_PER_SECOND}", many.writers, many.per_second),
        ),
    ]
    .into_iter()
    .filter_map(|(missed, what)| missed.then_some(what))
    .collect()
}

fn markdown(rows: &[Row], [median, most]: [f64; 2]) -> String {
    let mut text = format!(
        "### Appends\n\nOne message a call, each writer with a session of its own. A sync of this disk alone takes {median:.1} ms, 99 of 100 \
         at most {most:.1} ms.\n\n\
         | writers | messages/s | p50 ms | p99 ms |\n|--:|--:|--:|--:|\n"
    );
    for Row { writers, per_second, p50, p99 } in rows {
        let _ = writeln!(text, "| {writers} | {per_second:.0} | {p50:.1} | {p99:.1} |");
    }
    text
}
