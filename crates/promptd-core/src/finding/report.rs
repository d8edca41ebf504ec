//! Findings as a report shows them: with a file that can be opened, and its text for an excerpt.

use std::sync::Arc;

use super::{Finding, Severity};

/// A finding with what a report needs besides. Every renderer takes a list of these.
#[derive(Debug, Clone)]
pub struct Reported {
    /// The finding.
    pub finding: Finding,
    /// What it was found in: a workspace's id or a config's name; empty: nothing in particular.
    pub subject: String,
    /// The file as the reader of the report can open it; `None`: not in a file.
    pub file: Option<String>,
    /// The file's text, for an excerpt.
    pub source: Option<Arc<str>>,
}

/// How many findings there are of each severity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Errors.
    pub errors: usize,
    /// Warnings.
    pub warnings: usize,
    /// Notes.
    pub infos: usize,
}

impl Counts {
    /// Counts them.
    pub fn of<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Self {
        findings.into_iter().fold(Self::default(), |mut counts, finding| {
            match finding.severity {
                Severity::Error => counts.errors += 1,
                Severity::Warning => counts.warnings += 1,
                Severity::Info => counts.infos += 1,
            }
            counts
        })
    }
}

impl Reported {
    /// Line and column, each only where known.
    pub(super) fn position(&self) -> (Option<u32>, Option<u32>) {
        let known = |number: u32| Some(number).filter(|number| *number > 0);
        match self.finding.place {
            super::Place::File { line, column, .. } => (known(line), known(column)),
            _ => (None, None),
        }
    }
}
