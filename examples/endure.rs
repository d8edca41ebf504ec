//! A million calls with random ids, users and texts, edits among them: memory must stay flat.
//!
//! `cargo run --release --example endure -- --calls 1000000`. It ends with 1 where something grew.

#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used, reason = "a program for developers")]

#[path = "../tests/endure/calls.rs"]
mod calls;
#[path = "../tests/endure/run.rs"]
mod run;
#[path = "../tests/endure/site.rs"]
mod site;

use std::{process::ExitCode, time::Instant};

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};

#[derive(Parser)]
struct Args {
    /// How many calls.
    #[arg(long, default_value_t = 1_000_000)]
    calls: usize,
    /// Which calls: the same seed gives the same ones.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let folder = tempfile::tempdir().unwrap();
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} {msg} {eta}").unwrap();
    let bar = ProgressBar::new(args.calls as u64).with_style(style);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let began = Instant::now();
    let told = |point: &run::Point| {
        bar.set_position(point.calls as u64);
        bar.set_message(format!("{} MiB", point.resident >> 20));
    };
    let report = runtime.block_on(run::run(folder.path(), args.calls, args.seed, &told));
    bar.finish_and_clear();

    let made = report.points[report.points.len() - 1].calls;
    println!("{made} calls in {:.1?}", began.elapsed());
    for (code, count) in &report.codes {
        println!("{count:>9}  {code}");
    }
    println!("    calls  MiB  series");
    for point in report.points.iter().step_by(report.points.len().div_ceil(20)) {
        println!("{:>9}  {:>3}  {:>6}", point.calls, point.resident >> 20, point.series);
    }
    let faults = report.faults();
    for fault in &faults {
        println!("MISSED: {fault}");
    }
    if faults.is_empty() {
        println!("memory and metrics stayed flat");
    }
    ExitCode::from(u8::from(!faults.is_empty()))
}
