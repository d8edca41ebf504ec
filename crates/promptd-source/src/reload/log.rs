//! What the log says of a workspace's new state.

use std::{collections::BTreeSet, sync::Arc};

use promptd_core::{
    finding::{Counts, Finding, Place, Severity},
    id::Id,
    workspace::in_layer,
};

use crate::{
    LOG_TARGET,
    store::{Candidate, State, changed_paths},
};

/// One line for a revision, and one for each finding that was not there before.
pub(crate) fn log_change(id: &Id, before: Option<&State>, now: &State) {
    // To make room it may have been unloaded already.
    if let Some(new) = now.snapshot() {
        let changed = match (before, now) {
            (Some(State::Ready(old)), State::Ready(new)) => changed_paths(&old.snapshot, &new.snapshot),
            _ => Vec::new(),
        };
        let Counts { errors, warnings, .. } = Counts::of(now.findings().iter().chain(now.forecast()));
        tracing::info!(target: LOG_TARGET, workspace = %id, revision = %new.revision, ?changed, errors, warnings, "workspace loaded");
        // What will be cut is logged for every revision, whatever was logged for the one before.
        for finding in now.forecast() {
            log_finding(id, finding);
        }
    }
    log_canary(id, before, now);
    log_new_findings(id, before, now, State::findings);
}

/// One line for a canary that begins, and one for its end.
fn log_canary(id: &Id, before: Option<&State>, now: &State) {
    let (before, now) = (before.and_then(State::candidate), now.candidate());
    match now {
        Some(Candidate { canary, loaded }) if before != now => {
            let (share, by, revision) = (canary.share(), canary.by().name(), &loaded.snapshot.revision);
            tracing::info!(target: LOG_TARGET, workspace = %id, %revision, %share, by, "some turns get the candidate of a canary");
        }
        None if before.is_some() => {
            tracing::info!(target: LOG_TARGET, workspace = %id, "no turn gets the candidate of a canary any more");
        }
        _ => {}
    }
}

/// One line for all workspaces that a layer has changed, and one for each finding that was not there before.
pub(crate) fn log_heirs<'c>(changes: impl Iterator<Item = (&'c Id, Option<&'c State>, Arc<State>)>) {
    let mut heirs = 0;
    for (id, before, now) in changes {
        heirs += 1;
        log_new_findings(id, before, &now, State::findings);
        log_new_findings(id, before, &now, State::forecast);
    }
    if heirs > 0 {
        tracing::info!(target: LOG_TARGET, heirs, "workspaces have the new version of their layers");
    }
}

/// What is said of a layer's file is in the lines of the layer.
fn log_new_findings(id: &Id, before: Option<&State>, now: &State, of: impl Fn(&State) -> &[Finding]) {
    let of_layer = |finding: &Finding| matches!(&finding.place, Place::File { path, .. } if in_layer(path).is_some());
    let old: BTreeSet<&Finding> = before.into_iter().flat_map(&of).collect();
    for finding in of(now).iter().filter(|finding| !old.contains(finding) && !of_layer(finding)) {
        log_finding(id, finding);
    }
}

fn log_finding(id: &Id, finding: &Finding) {
    let Finding { severity, code, place, message } = finding;
    let code = code.as_str();
    match severity {
        Severity::Error => tracing::error!(target: LOG_TARGET, workspace = %id, code, %place, "{message}"),
        Severity::Warning => tracing::warn!(target: LOG_TARGET, workspace = %id, code, %place, "{message}"),
        Severity::Info => tracing::debug!(target: LOG_TARGET, workspace = %id, code, %place, "{message}"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::Timestamp;
    use promptd_core::{
        finding::{Code, Place},
        profile::ProfileSet,
        workspace::Snapshot,
    };

    use super::*;
    use crate::{
        store::{
            Loaded,
            testing::{id, loaded},
        },
        testing::logged,
    };

    fn ready(files: &[(&str, &str)], findings: Vec<Finding>) -> State {
        let mut snapshot = Snapshot::clone(&loaded(files).snapshot);
        snapshot.findings = findings;
        snapshot.profiles = Arc::new(ProfileSet::built_in());
        State::Ready(Arc::new(Loaded {
            snapshot: snapshot.into(),
            at: Timestamp::UNIX_EPOCH,
            origin: None,
            candidate: None,
        }))
    }

    #[test]
    fn a_revision_is_a_line_and_each_finding_that_was_not_there_before() {
        let finding = |severity, message: &str| Finding {
            severity,
            ..Finding::new(Code::FileUnreadable, Place::file("AGENTS.md"), message)
        };
        let [error, warning, info] =
            [(Severity::Error, "An error."), (Severity::Warning, "A warning."), (Severity::Info, "A note.")]
                .map(|(severity, message)| finding(severity, message));
        let said = |level: &str, message: &str| {
            format!("{level} {message} workspace=ws code=\"FILE_UNREADABLE\" place=AGENTS.md")
        };
        let line = |state: &State, rest: &str| match state {
            State::Ready(loaded) => {
                format!("INFO workspace loaded workspace=ws revision={} {rest}", loaded.snapshot.revision)
            }
            other => panic!("{other:?}"),
        };
        let of = |text: &str, findings: &[&Finding]| {
            ready(&[("AGENTS.md", text)], findings.iter().copied().cloned().collect())
        };
        let invalid = |findings: &[&Finding]| State::Invalid(findings.iter().copied().cloned().collect());

        let first = of("one", &[&error, &warning, &info]);
        let all = [said("ERROR", "An error."), said("WARN", "A warning."), said("DEBUG", "A note.")];
        let new = line(&first, "changed=[] errors=1 warnings=1");
        assert_eq!(logged(|| log_change(&id(), None, &first)), [std::slice::from_ref(&new), &all].concat());
        assert_eq!(
            logged(|| log_change(&id(), Some(&invalid(&[])), &first)),
            [std::slice::from_ref(&new), &all].concat()
        );
        assert_eq!(logged(|| log_change(&id(), Some(&invalid(&[&error, &info])), &first)), [new, all[1].clone()]);

        let second = of("two", &[&error, &warning]);
        let changed = line(&second, "changed=[\"AGENTS.md\"] errors=1 warnings=1");
        assert_eq!(logged(|| log_change(&id(), Some(&first), &second)), [changed]);
        assert_eq!(logged(|| log_change(&id(), None, &invalid(&[&error]))), [all[0].clone()]);
    }

    #[test]
    fn what_will_be_cut_is_said_of_every_revision() {
        let cut = [("workspace.yaml", "context: {max_chars_per_file: 200}\n"), ("AGENTS.md", &"Rules. ".repeat(100))];
        let state = ready(&cut, vec![]);
        for before in [None, Some(&state)] {
            let lines = logged(|| log_change(&id(), before, &state));
            assert!(lines.len() == 2 && lines[0].contains("warnings=1"), "{lines:?}");
            assert!(lines[1].starts_with("WARN ") && lines[1].contains("AGENTS.md"), "{lines:?}");
        }
    }
}
