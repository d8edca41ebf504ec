//! A bound on how many findings a file may have.

use std::{cmp::Reverse, collections::BTreeMap};

use super::{Code, Finding, Place};

/// How many findings of one file are kept, the most severe ones; the rest is counted.
pub(crate) const MAX_FINDINGS_A_FILE: usize = 100;

/// The findings, of each file at most [`MAX_FINDINGS_A_FILE`] and one that counts the rest; none twice.
pub(crate) fn bounded(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_unstable_by(|a, b| (Reverse(a.severity), a).cmp(&(Reverse(b.severity), b)));
    findings.dedup();
    let mut counts: BTreeMap<Place, usize> = BTreeMap::new();
    findings.retain(|finding| {
        if finding.code == Code::FindingsOmitted {
            return true;
        }
        let count = counts.entry(finding.place.whole_file()).or_default();
        *count += 1;
        *count <= MAX_FINDINGS_A_FILE
    });
    for (place, count) in counts.into_iter().filter(|(_, count)| *count > MAX_FINDINGS_A_FILE) {
        let message = format!("{} more findings of this file", count - MAX_FINDINGS_A_FILE);
        findings.push(Finding::new(Code::FindingsOmitted, place, message));
    }
    findings
}
