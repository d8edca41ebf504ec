//! What the log says of a workspace's new state.

use std::collections::BTreeSet;

use promptd_core::{
    finding::{Counts, Finding, Severity},
    id::Id,
    prompt::{forecast, may_lose},
};

use crate::{
    LOG_TARGET,
    store::{State, changed_paths},
};

/// One line for a revision, and one for each finding that was not there before.
pub(crate) fn log_change(id: &Id, before: Option<&State>, now: &State) {
    if let State::Ready(new) = now {
        let changed = match before {
            Some(State::Ready(old)) => changed_paths(&old.snapshot, &new.snapshot),
            _ => Vec::new(),
        };
        let forecast = if may_lose(&new.snapshot) { forecast(&new.snapshot) } else { Vec::new() };
        let Counts { errors, warnings, .. } = Counts::of(new.snapshot.findings.iter().chain(&forecast));
        tracing::info!(target: LOG_TARGET, workspace = %id, revision = %new.snapshot.revision, ?changed, errors, warnings, "workspace loaded");
        // What will be cut is logged for every revision, whatever was logged for the one before.
        for finding in &forecast {
            log_finding(id, finding);
        }
    }
    let old: BTreeSet<&Finding> = before.into_iter().flat_map(State::findings).collect();
    for finding in now.findings().iter().filter(|finding| !old.contains(finding)) {
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
