//! The server under load, against a bare server in the same run: `cargo bench --bench load`.
//!
//! The bare server is tonic and nothing else: it gives a prebuilt copy of the same answer. Both are separate
//! processes, driven in turn by the same client with the same requests, which rotate through 1,000 users, texts and
//! times, so that remembering an answer is worth nothing. What counts are the ratios: they hold on a busy machine.
//!
//! `-- --short` is for CI: fewer calls, and it fails where a ratio is far behind the recorded one.
//! `-- --record` writes `docs/performance.json` and the tables of `docs/performance.md`.

#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::panic,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "a benchmark"
)]

mod bare;
mod drive;
#[path = "../common/machine.rs"]
mod machine;
mod own_texts;
mod plain;
mod process;
mod report;
mod requests;
#[path = "../common/site.rs"]
mod site;

use clap::Parser;
use drive::{Client, Protocol, Shape};
use indicatif::{ProgressBar, ProgressStyle};
use process::Served;
use promptd_contract::proto::AssemblePromptResponse;
use prost::Message as _;
use report::{Comparison, Record};
use requests::Mode;

#[derive(Parser)]
struct Args {
    /// Fewer calls, and a check against the recorded ratios.
    #[arg(long)]
    short: bool,
    /// Writes the figures into `docs/`.
    #[arg(long)]
    record: bool,
    /// Only these modes.
    #[arg(long)]
    mode: Vec<String>,
    /// Runs as the bare server, with the answer in this file.
    #[arg(long, hide = true)]
    bare: Option<std::path::PathBuf>,
    /// Cargo says so.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() {
    let args = Args::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    if let Some(answer) = &args.bare {
        return runtime.block_on(bare::serve_file(answer));
    }
    let comparisons = runtime.block_on(compare(&args));
    let record = Record::new(comparisons);
    println!("{}", record.table());
    if args.record {
        record.write();
    }
    if args.short {
        let faults = record.behind();
        assert!(faults.is_empty(), "behind the recorded ratios:\n{}", faults.join("\n"));
    }
}

/// Calls a round, rounds, by shape: long enough for a steady figure, short enough to take turns often.
fn plan(shape: Shape, short: bool) -> (usize, usize) {
    let calls = if shape.workers() == 1 { 4_000 } else { 20_000 };
    if short { (calls / 4, 11) } else { (calls, 9) }
}

async fn compare(args: &Args) -> Vec<Comparison> {
    let folder = tempfile::tempdir().unwrap();
    let workspaces = folder.path().join("workspaces");
    site::typical(&workspaces.join("typical"));
    let (coalescing, uncoalesced) = (Served::promptd(&workspaces), Served::uncoalesced(&workspaces, folder.path()));
    let modes: Vec<Mode> =
        Mode::ALL.into_iter().filter(|m| args.mode.is_empty() || args.mode.iter().any(|n| n == m.as_str())).collect();
    let bar = ProgressBar::new((modes.len() * Shape::ALL.len()) as u64);
    bar.set_style(ProgressStyle::with_template("{bar:40} {pos}/{len} {msg}").unwrap());
    let mut comparisons = Vec::new();
    for mode in modes {
        let ours = if mode == Mode::Uncoalesced { &uncoalesced } else { &coalescing };
        let requests = requests::rotating(&ours.address, mode).await;
        let whole = requests::rotating(&ours.address, Mode::Plain).await;
        let mut prebuilt =
            requests::answer(&ours.address, if mode == Mode::Held { &whole[0] } else { &requests[0] }).await;
        if mode == Mode::Flat {
            let rendered = "x".repeat(prebuilt.encoded_len());
            prebuilt = AssemblePromptResponse { rendered, ..AssemblePromptResponse::default() };
        }
        let bare = Served::bare(&prebuilt, folder.path());
        let own_texts = match mode {
            Mode::Tokens => Some(own_texts::measure(&ours.address, &requests).await),
            Mode::Plain | Mode::Held | Mode::Uncoalesced | Mode::Flat | Mode::Json => None,
        };
        for shape in Shape::ALL {
            bar.set_message(format!("{} {shape}", mode.as_str()));
            let (calls, rounds) = plan(shape, args.short);
            let [by, bare_by] = match mode {
                Mode::Plain | Mode::Tokens | Mode::Held | Mode::Uncoalesced => [Protocol::Grpc; 2],
                Mode::Flat => [Protocol::GrpcPlain; 2],
                Mode::Json => [Protocol::ConnectJson, Protocol::Grpc],
            };
            let clients =
                [Client::connect(&ours.address, by, shape).await, Client::connect(&bare.address, bare_by, shape).await];
            let servers = [ours, &bare];
            for index in [0, 1] {
                clients[index].run(&requests, calls / 2).await;
            }
            let mut rounds_of = [Vec::new(), Vec::new()];
            for round in 0..rounds {
                // Who goes first changes, so that a drift of the machine favours neither.
                for index in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
                    let before = servers[index].cpu();
                    let run = clients[index].run(&requests, calls).await;
                    rounds_of[index].push(run.with_cpu(servers[index].cpu().saturating_sub(before)));
                }
            }
            comparisons.push(Comparison::new(mode, shape, &rounds_of, own_texts));
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    comparisons
}
