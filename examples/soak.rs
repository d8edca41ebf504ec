//! Random saves of every kind over many workspaces, checked: stale, mixed, half, and how long each took.
//!
//! `cargo run --release --example soak` is the gate; `-- --workspaces 10000` is the gate for scale. It ends with 1
//! where a gate is missed.

#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a program for developers"
)]

#[path = "../tests/reload/many.rs"]
mod many;
#[path = "../tests/reload/saves.rs"]
mod saves;
#[path = "../tests/reload/scale.rs"]
mod scale;
#[path = "../tests/reload/service.rs"]
mod service;
#[path = "../tests/reload/site.rs"]
mod site;
#[path = "../tests/reload/soak.rs"]
mod soak;

use std::{path::PathBuf, process::ExitCode, time::Instant};

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use soak::{Plan, Report, quantile};

#[derive(Parser)]
struct Args {
    /// How many saves.
    #[arg(long, default_value_t = 2_500)]
    saves: usize,
    /// Over how many workspaces; from 1,000 on it is scale that is measured, not the ways to save.
    #[arg(long, default_value_t = 30)]
    workspaces: usize,
    /// Which saves: the same seed gives the same ones.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Lets one call of the file system in so many fail.
    #[arg(long, value_name = "N")]
    fail_one_in: Option<u64>,
    /// How many bytes of text stay loaded; all by default.
    #[arg(long, value_name = "SIZE", value_parser = promptd::config::bytes)]
    resident: Option<usize>,
    /// Where the workspaces are made; a temporary folder by default.
    #[arg(long)]
    folder: Option<PathBuf>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let folder = match &args.folder {
        Some(folder) => tempfile::tempdir_in(folder),
        None => tempfile::tempdir(),
    }
    .unwrap();
    let faults = if args.workspaces < 1_000 {
        let Args { saves, workspaces, seed, fail_one_in, resident, .. } = args;
        let plan = Plan { saves, workspaces, seed, fail_one_in, resident };
        let bar = bar(args.saves);
        let began = Instant::now();
        let report = soak::run(folder.path(), &plan, &|| bar.inc(1));
        bar.finish_and_clear();
        println!("{} saves over {} workspaces in {:.1?}", report.saves, args.workspaces, began.elapsed());
        print(&report);
        // Where calls fail, a save is served once they no longer do.
        let slowness = if fail_one_in.is_none() { report.slowness() } else { Vec::new() };
        [report.faults(), slowness].concat()
    } else {
        let figures = scale::measure(folder.path(), args.workspaces, &bar);
        println!("{figures}");
        figures.faults()
    };
    for fault in &faults {
        println!("MISSED: {fault}");
    }
    if faults.is_empty() {
        println!("all gates held");
    }
    ExitCode::from(u8::from(!faults.is_empty()))
}

/// Shown on a terminal alone.
fn bar(length: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} {msg} {eta}").unwrap();
    ProgressBar::new(length as u64).with_style(style)
}

fn print(report: &Report) {
    println!("stale       {}", report.stale.len());
    println!("mixed       {}", report.mixed);
    println!("half        {}", report.half.len());
    println!("failed calls {}", report.failed_calls);
    println!("never loaded {}", report.never_loaded);
    println!("evictions   {}", report.evictions);
    println!("reads       {}", report.reads);
    println!("revisions   {}", report.published);
    println!("sweep hits  {}", report.sweep_hits);
    for (what, lags) in [("lag", &report.lags), ("..data swap", &report.swap_lags), ("removals", &report.removal_lags)]
    {
        let [p50, p99, max] = [0.5, 0.99, 1.0].map(|q| quantile(lags, q));
        println!("{what:<11} p50 {p50:.1?}  p99 {p99:.1?}  max {max:.1?}  ({} saves)", lags.len());
    }
    println!("slowest of each kind:");
    for (name, lag) in &report.slowest {
        println!("  {lag:>9.1?}  {name}");
    }
}
