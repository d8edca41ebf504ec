//! Stored conversations: `cargo bench --features memory --bench memory`.
//!
//! The server is a real one, a process of its own, with its store on the disk. Each part has gates, and the run ends with 1 where one
//! is missed.
//!
//! `-- --short` stores fewer messages and measures fewer rounds. `-- --record` writes the tables of `docs/performance.md`.

#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "a benchmark"
)]

mod appends;
#[path = "../common/document.rs"]
mod document;
#[path = "../load/drive.rs"]
#[expect(dead_code, reason = "what the other benches use")]
mod drive;
mod forks;
mod growth;
#[path = "../common/machine.rs"]
mod machine;
#[path = "../load/plain.rs"]
mod plain;
#[path = "../load/process.rs"]
mod process;
mod prompts;
mod recalls;
#[path = "../load/requests.rs"]
#[expect(dead_code, reason = "what the other benches use")]
mod requests;
#[path = "../common/site.rs"]
mod site;
mod stored;
#[path = "../common/zipf.rs"]
#[expect(dead_code, reason = "what the scale bench alone uses")]
mod zipf;

use std::{process::ExitCode, time::Duration};

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};

use stored::Stored;

/// How many messages the long session has, which prompts are made of.
const LONG: usize = 100_000;
/// How many messages there are at the end.
const ALL: usize = 500_000;

const PERFORMANCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/performance.md");

#[derive(Parser)]
struct Args {
    /// Fewer messages and rounds.
    #[arg(long)]
    short: bool,
    /// Writes the figures into `docs/performance.md`.
    #[arg(long)]
    record: bool,
    /// Cargo says so.
    #[arg(long, hide = true)]
    bench: bool,
}

/// What one part found.
struct Part {
    /// Its table.
    markdown: String,
    /// The gates that were missed.
    faults: Vec<String>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let bar = ProgressBar::new_spinner().with_style(ProgressStyle::with_template("{spinner} {elapsed} {msg}").unwrap());
    bar.enable_steady_tick(Duration::from_millis(200));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let parts = runtime.block_on(measure(args.short, &bar));
    bar.finish_and_clear();
    let tables: Vec<_> = parts.iter().map(|part| &*part.markdown).collect();
    let text = format!("{}\n\n{}", machine::describe(), tables.join("\n"));
    println!("{text}");
    if args.record {
        document::replace(PERFORMANCE, "memory", &text);
    }
    let faults: Vec<_> = parts.iter().flat_map(|part| &part.faults).collect();
    for fault in &faults {
        println!("MISSED: {fault}");
    }
    ExitCode::from(u8::from(!faults.is_empty()))
}

async fn measure(short: bool, bar: &ProgressBar) -> Vec<Part> {
    let pick = |long: usize, few: usize| if short { few } else { long };
    // What waits for the disk or shares a core is the first to suffer where other things run beside.
    let slack = if short { 1.5 } else { 1.0 };
    let mut parts = vec![appends::measure(pick(10, 2), slack, bar).await];
    let mut stored = Stored::start().await;
    bar.set_message("storing a long session");
    stored.fill("long", LONG).await;
    stored.settle().await;
    bar.set_message("assembling prompts");
    parts.push(prompts::measure(&stored, pick(9, 5), slack).await);
    bar.set_message("searching");
    let rounds = pick(1_000, 200);
    let first = recalls::measure(&mut stored, rounds).await;
    if short {
        parts.push(recalls::part(&[first], slack));
        parts.push(growth::part(&[growth::measure(&stored).await], slack));
        bar.set_message("copying the long session");
        parts.push(forks::measure(&mut stored, slack).await);
        return parts;
    }
    let before = growth::measure(&stored).await;
    for session in 0.. {
        if stored.messages >= ALL {
            break;
        }
        bar.set_message(format!("storing {} of {ALL} messages", stored.messages));
        stored.fill(&format!("s{session}"), stored::PAGE).await;
    }
    bar.set_message("the same again");
    stored.settle().await;
    prompts::measure(&stored, 1, slack).await;
    let second = recalls::measure(&mut stored, rounds).await;
    parts.push(recalls::part(&[first, second], slack));
    parts.push(growth::part(&[before, growth::measure(&stored).await], slack));
    bar.set_message("copying the long session");
    parts.push(forks::measure(&mut stored, slack).await);
    parts
}

/// Milliseconds at a quantile from 0 to 1.
fn milliseconds(q: f64, times: &[Duration]) -> f64 {
    drive::quantile(q, times.iter().map(|time| time.as_secs_f64() * 1e3).collect())
}
