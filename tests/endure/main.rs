//! The service under a long row of calls that have nothing in common, none of which it may remember, and beside
//! workspaces that mean harm. `cargo run --release --example endure` is the long form of the first.

#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod calls;
mod hostile;
mod run;
mod site;

/// Held by each test: all measure the memory of this one process.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

#[tokio::test(flavor = "multi_thread")]
async fn twenty_thousand_different_calls_leave_nothing_behind() {
    let _alone = ALONE.lock().await;
    let folder = tempfile::tempdir().unwrap();
    let report = run::run(folder.path(), 20_000, 1, &|_| {}).await;
    assert!(report.faults().is_empty(), "{:#?}\n{report:#?}", report.faults());
}
