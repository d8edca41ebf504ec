//! Which workspaces a search finds.

use promptd_contract::decode::Violations;
use promptd_core::id::Id;
use promptd_source::store::State;

/// The most characters of a query.
const MAX_CHARS: usize = 256;

/// A part of a workspace's id or of its agent's name, without regard to case.
pub(super) struct Query {
    lower_case: String,
}

impl Query {
    /// Checks `query`; empty: it finds all.
    pub(super) fn check(query: &str, violations: &mut Violations) -> Self {
        if query.chars().nth(MAX_CHARS).is_some() {
            violations.add("query", format!("has more than {MAX_CHARS} characters"));
        }
        Self { lower_case: query.to_lowercase() }
    }

    /// Whether it finds the workspace.
    pub(super) fn finds(&self, id: &Id, state: &State) -> bool {
        let has = |text: &str| text.to_lowercase().contains(&self.lower_case);
        let name = match state {
            State::Ready(loaded) => loaded.snapshot.manifest.agent.name.as_str(),
            State::Cold(cold) => cold.outline.snapshot().manifest.agent.name.as_str(),
            State::Invalid(_) | State::Gone => "",
        };
        self.lower_case.is_empty() || has(id.as_str()) || has(name)
    }
}
