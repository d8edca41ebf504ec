//! The service under a long row of calls that have nothing in common: it must not remember any of them.
//! `cargo run --release --example endure` is the long form.

#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod calls;
mod run;
mod site;

#[tokio::test(flavor = "multi_thread")]
async fn twenty_thousand_different_calls_leave_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let report = run::run(folder.path(), 20_000, 1, &|_| {}).await;
    assert!(report.faults().is_empty(), "{:#?}\n{report:#?}", report.faults());
}
