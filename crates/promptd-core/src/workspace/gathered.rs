//! What loading gathers beside its result.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use crate::finding::Finding;

/// Findings and inputs, as they come.
#[derive(Default)]
pub(super) struct Gathered {
    findings: Vec<Finding>,
    standing: Vec<Finding>,
    /// SHA-256 of every input by name.
    pub(super) inputs: BTreeMap<Arc<str>, Arc<str>>,
}

impl Gathered {
    /// Adds a finding; `stands`: every response must carry it until it is mended.
    pub(super) fn tell(&mut self, finding: Finding, stands: bool) {
        if stands {
            self.standing.push(finding.clone());
        }
        self.findings.push(finding);
    }

    /// All findings, and the standing ones: each in order, none twice.
    pub(super) fn into_findings(self) -> (Vec<Finding>, Vec<Finding>) {
        let mut all = self.findings;
        all.sort_unstable_by(|a, b| (&a.place, Reverse(a.severity), a).cmp(&(&b.place, Reverse(b.severity), b)));
        all.dedup();
        let mut standing = self.standing;
        standing.sort_unstable_by(|a, b| (Reverse(a.severity), &a.place, a).cmp(&(Reverse(b.severity), &b.place, b)));
        standing.dedup();
        (all, standing)
    }
}
