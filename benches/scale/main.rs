//! Many workspaces, many watches, large parts, several replicas: `cargo bench --bench scale`.
//!
//! The servers are real ones, processes of their own. Each part has gates, and the run ends with 1 where one is missed.
//!
//! `-- --short` is for CI: fewer workspaces and rounds, and the parts `fleet` and `resident` only where `--part` names them.
//! `-- --record` writes `docs/scale.json`, `docs/linear.svg` and the tables of `docs/performance.md` and `docs/scaling.md`.
//! `-- --part linear` runs one part alone.

#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "a benchmark"
)]

#[path = "../common/document.rs"]
mod document;
#[path = "../load/drive.rs"]
#[expect(dead_code, reason = "what the load bench alone uses")]
mod drive;
mod fleet;
mod followers;
mod layers;
mod linear;
#[path = "../common/machine.rs"]
mod machine;
#[path = "../../tests/reload/many.rs"]
mod many;
mod pages;
#[path = "../load/plain.rs"]
mod plain;
mod plot;
#[path = "../load/process.rs"]
mod process;
mod record;
mod replicas;
#[path = "../load/requests.rs"]
#[expect(dead_code, reason = "what the load bench alone uses")]
mod requests;
mod resident;
#[path = "../common/site.rs"]
mod site;
mod watches;
mod workspaces;
#[path = "../common/zipf.rs"]
mod zipf;

use std::{process::ExitCode, time::Duration};

use clap::{Parser, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use record::Record;
use sha2::{Digest as _, Sha256};

#[derive(Parser)]
struct Args {
    /// Fewer workspaces and rounds.
    #[arg(long)]
    short: bool,
    /// Writes the figures into `docs/`.
    #[arg(long)]
    record: bool,
    /// Only these parts.
    #[arg(long, value_enum)]
    part: Vec<Part>,
    /// Cargo says so.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Workspaces,
    Fleet,
    Resident,
    Watches,
    Followers,
    Layers,
    Linear,
    Replicas,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let bar = ProgressBar::new_spinner().with_style(ProgressStyle::with_template("{spinner} {elapsed} {msg}").unwrap());
    bar.enable_steady_tick(Duration::from_millis(200));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let record = runtime.block_on(measure(&args, &bar));
    bar.finish_and_clear();
    println!("{}\n{}", record.markdown(), record.replicas_markdown());
    // A p99 is the first to suffer where other things run beside.
    let faults = record.faults(if args.short { 1.5 } else { 1.0 });
    if args.record {
        let before = Record::before();
        Record {
            workspaces: record.workspaces.or(before.workspaces),
            fleet: record.fleet.or(before.fleet),
            resident: record.resident.or(before.resident),
            watches: record.watches.or(before.watches),
            followers: record.followers.or(before.followers),
            layers: record.layers.or(before.layers),
            linear: record.linear.or(before.linear),
            replicas: record.replicas.or(before.replicas),
            ..record
        }
        .write();
    }
    for fault in &faults {
        println!("MISSED: {fault}");
    }
    ExitCode::from(u8::from(!faults.is_empty()))
}

async fn measure(args: &Args, bar: &ProgressBar) -> Record {
    // What many workspaces ask of a machine is not seen of few.
    let is_of_many = |part| matches!(part, Part::Fleet | Part::Resident);
    let runs = |part| args.part.contains(&part) || args.part.is_empty() && !(args.short && is_of_many(part));
    let pick = |long: usize, short: usize| if args.short { short } else { long };
    let mut record = Record { machine: machine::describe(), ..Record::default() };
    if runs(Part::Linear) {
        bar.set_message("large parts");
        record.linear = Some(linear::measure(pick(60, 20)));
    }
    if runs(Part::Workspaces) {
        record.workspaces = Some(workspaces::measure(pick(10_000, 2_000), pick(9, 5), bar).await);
    }
    if runs(Part::Resident) || runs(Part::Fleet) {
        let (workspaces, watched) = (pick(50_000, 2_000), pick(35_000, 1_500));
        let folder = tempfile::tempdir().unwrap();
        bar.set_message("making workspaces");
        let bytes = (0..workspaces).map(|i| many::make(&folder.path().join(workspaces::id(i)), i)).sum();
        if runs(Part::Resident) {
            record.resident = Some(resident::measure(folder.path(), workspaces, pick(9, 3), bar).await);
        }
        if runs(Part::Fleet) {
            let idle = Duration::from_secs(pick(30, 5) as u64);
            record.fleet = Some(fleet::measure(folder.path(), workspaces, bytes, watched, idle, bar).await);
        }
    }
    if runs(Part::Watches) {
        record.watches = Some(watches::measure(pick(60, 10) as u64, bar).await);
    }
    if runs(Part::Followers) {
        record.followers = Some(followers::measure(bar).await);
    }
    if runs(Part::Layers) {
        record.layers = Some(layers::measure(pick(10_000, 2_000), pick(9, 5), bar).await);
    }
    if runs(Part::Replicas) {
        record.replicas = Some(replicas::measure(pick(9, 3), bar).await);
    }
    record
}

/// The median.
fn middle(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}
