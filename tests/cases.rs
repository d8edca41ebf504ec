//! Every folder of `tests/cases/` is a workspace with turns and what is expected of them.
//!
//! `tests/cases/README.md` explains the layout. `INSTA_UPDATE=always cargo test --test cases` writes the
//! snapshots anew; read the difference before you commit it.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::cast_possible_truncation, reason = "tests")]

use std::{fmt::Write as _, path::Path};

use promptd_core::{finding::Finding, prompt, workspace::Snapshot};

#[path = "cases/support/mod.rs"]
mod support;

#[test]
fn every_turn_gives_the_prompt_that_is_expected() {
    insta::glob!("cases/*/*.turn.yaml", |turn| {
        let folder = turn.parent().unwrap();
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(folder);
        settings.set_prepend_module_to_snapshot(false);
        settings.set_snapshot_suffix("");
        settings.set_omit_expression(true);
        settings.remove_input_file();
        let name = turn.file_name().unwrap().to_string_lossy().replace(".turn.yaml", "");
        settings.bind(|| insta::assert_snapshot!(name, expected(folder, turn)));
    });
}

#[test]
fn every_small_case_holds() {
    let (mut count, mut faults) = (0, String::new());
    insta::glob!("cases/*/*.expect.yaml", |path| match support::expect::run(path) {
        Ok(held) => count += held,
        Err(told) => write!(faults, "{}\n{told}", path.display()).unwrap(),
    });
    assert!(faults.is_empty(), "{faults}");
    assert!(count > 0);
}

#[test]
fn every_reply_is_read_as_expected() {
    let (mut count, mut faults) = (0, String::new());
    insta::glob!("cases/*/*.reply.yaml", |path| match support::reply::run(path) {
        Ok(held) => count += held,
        Err(told) => write!(faults, "{}\n{told}", path.display()).unwrap(),
    });
    assert!(faults.is_empty(), "{faults}");
    assert!(count > 0);
}

/// What a reader of the case wants to see: the messages with the bytes they have, the sections, the findings.
fn expected(folder: &Path, turn: &Path) -> String {
    let case = support::Case::read(turn);
    let workspace = support::Workspace::lay_out(folder);
    let snapshot = match workspace.load(&case) {
        Ok(snapshot) => snapshot,
        Err(findings) => return format!("the workspace is invalid\n{}", findings_text(&findings)),
    };
    let profile = case.profile.clone().unwrap_or_else(|| snapshot.manifest.profile.to_string());
    let Some(profile) = snapshot.profiles.get(&profile).cloned() else {
        return format!("there is no profile {profile}\n");
    };
    let turn = match case.turn() {
        Ok(turn) => turn,
        Err(violations) => return format!("the turn is invalid\n{violations}"),
    };
    match prompt::assemble(&snapshot, &profile, &turn) {
        Ok(prompt) => prompt_text(&snapshot, &prompt),
        Err(error) => format!("refused: {error}\n"),
    }
}

fn prompt_text(snapshot: &Snapshot, prompt: &prompt::Prompt<'_>) -> String {
    support::check_invariants(snapshot, prompt);
    let mut text = String::new();
    let messages = prompt.messages.iter().map(|message| (message.role.as_str(), message));
    for (role, message) in messages.chain(prompt.cards.iter().map(|card| ("card", card))) {
        let ephemeral = if message.ephemeral { ", ephemeral" } else { "" };
        let name = if message.name.is_empty() { "(conversation)" } else { message.name };
        writeln!(text, "=== {role} {name}{ephemeral}, {} characters", message.size.chars).unwrap();
        writeln!(text, "{}", support::visible(&message.content)).unwrap();
    }
    writeln!(text, "=== sections").unwrap();
    for section in &prompt.sections {
        let position = section.position.as_ref().map_or("-".to_owned(), |position| {
            let holder = match position.holder {
                prompt::Holder::Message(index) => index.to_string(),
                prompt::Holder::Card(index) => format!("card {index}"),
            };
            format!("{holder}:{}..{}", position.bytes.start, position.bytes.end)
        });
        let file = section.source.as_ref().map_or(String::new(), |source| format!(" from {}", source.path));
        writeln!(
            text,
            "{:?} {} {position} {}/{} {:?}{file} {}",
            section.outcome,
            section.id,
            section.included.chars,
            section.original.chars,
            section.stability,
            section.reason
        )
        .unwrap();
    }
    writeln!(
        text,
        "=== stable front: {} messages, {} bytes",
        prompt.cache_plan.stable_messages, prompt.cache_plan.stable_bytes
    )
    .unwrap();
    let findings: Vec<Finding> = prompt.findings.iter().map(|finding| finding.clone().into_owned()).collect();
    if !findings.is_empty() {
        text.push_str("=== findings\n");
        text.push_str(&findings_text(&findings));
    }
    text
}

fn findings_text(findings: &[Finding]) -> String {
    findings.iter().fold(String::new(), |mut text, f| {
        let _ = writeln!(text, "{} {} {} {}", f.severity.as_str(), f.code.as_str(), f.place, f.message);
        text
    })
}
