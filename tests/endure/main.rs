//! The service under a long run of unrelated calls, none of which it may remember, and next to hostile workspaces.
//! `cargo run --release --example endure` is the long form of the first.

#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod calls;
mod hostile;
mod run;
mod site;

/// Held by each test: all of them measure the memory of this process.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

#[tokio::test(flavor = "multi_thread")]
async fn twenty_thousand_different_calls_leak_nothing() {
    let _alone = ALONE.lock().await;
    let folder = tempfile::tempdir().unwrap();
    let report = run::run(folder.path(), 20_000, 1, &|_| {}).await;
    assert!(report.faults().is_empty(), "{:#?}\n{report:#?}", report.faults());
}
