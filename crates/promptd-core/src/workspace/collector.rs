//! What loading collects beside its result.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use crate::finding::Finding;

/// Findings and input hashes, in the order in which loading comes upon them.
#[derive(Default)]
pub(super) struct Collector {
    findings: Vec<Finding>,
    active: Vec<Finding>,
    /// SHA-256 of every input by name.
    pub(super) inputs: BTreeMap<Arc<str>, Arc<str>>,
}

/// Who reads a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    /// Operators alone: `promptd check` and GetWorkspace.
    Operators,
    /// Callers too: every response carries it until it is fixed.
    Callers,
}

impl Audience {
    /// Callers too if `concerned`.
    pub(super) fn callers_if(concerned: bool) -> Self {
        if concerned { Self::Callers } else { Self::Operators }
    }
}

impl Collector {
    /// Adds a finding.
    pub(super) fn report(&mut self, finding: Finding, audience: Audience) {
        if audience == Audience::Callers {
            self.active.push(finding.clone());
        }
        self.findings.push(finding);
    }

    /// All findings, and the active ones: each in order, without duplicates.
    pub(super) fn into_findings(self) -> (Vec<Finding>, Vec<Finding>) {
        let mut all = self.findings;
        all.sort_unstable_by(|a, b| (&a.place, Reverse(a.severity), a).cmp(&(&b.place, Reverse(b.severity), b)));
        all.dedup();
        let mut active = self.active;
        active.sort_unstable_by(|a, b| (Reverse(a.severity), &a.place, a).cmp(&(Reverse(b.severity), &b.place, b)));
        active.dedup();
        (all, active)
    }
}
