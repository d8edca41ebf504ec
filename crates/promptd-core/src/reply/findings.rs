//! The findings of a reply, bounded.

use crate::finding::{Code, Finding, Place};

/// The most findings of one reply; one more counts the rest.
pub const MAX_FINDINGS: usize = 100;

#[derive(Debug, Default)]
pub(super) struct Findings {
    all: Vec<Finding>,
    more: usize,
}

impl Findings {
    /// A finding about the reply's text.
    pub(super) fn add(&mut self, code: Code, message: impl FnOnce() -> String) {
        if self.all.len() < MAX_FINDINGS {
            self.all.push(Finding::new(code, Place::field("text"), message()));
        } else {
            self.more += 1;
        }
    }

    /// An action that is none: which, where, and why.
    pub(super) fn stays(&mut self, code: Code, what: &str, at: usize, why: &str) {
        self.add(code, || format!("{what} at byte {at} stays in the text: {why}"));
    }

    /// The `payload_text` of an action: its JSON, if there is a reason why its payload cannot hold all of it.
    pub(super) fn inexact(&mut self, what: &str, at: usize, why: &[String], json: &str) -> Option<String> {
        if why.is_empty() {
            return None;
        }
        self.add(Code::ActionInexact, || {
            format!("{what} at byte {at} has an inexact payload: {}; `payload_text` is exact", why.join(", "))
        });
        Some(json.to_owned())
    }

    /// The findings of a part, after these.
    pub(super) fn append(&mut self, part: Self) {
        for finding in part.all {
            if self.all.len() < MAX_FINDINGS {
                self.all.push(finding);
            } else {
                self.more += 1;
            }
        }
        self.more += part.more;
    }

    pub(super) fn into_vec(mut self) -> Vec<Finding> {
        if self.more > 0 {
            let message = format!("{} more findings of this reply are left out", self.more);
            self.all.push(Finding::new(Code::FindingsOmitted, Place::field("text"), message));
        }
        self.all
    }
}
