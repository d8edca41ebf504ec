//! From the contract's messages to checked types: raw input becomes a [`Turn`](promptd_core::turn::Turn) once, here.
//!
//! The service and the command line's `--turn` share it, so that both report a mistake in the same way. Every mistake of a
//! request is reported at once, with the path of its field.

mod admin;
mod conversation;
mod diff;
mod history;
mod request;
mod session;
mod size;
mod turn;
mod values;

pub use admin::{
    PublishBounds, PublishRequest, WorkspaceToPublish, file_digests, is_some_of, proposal_name, publish_reason,
    publish_request, revision_name,
};
pub use diff::{After, DiffRequest, diff_request};
pub use history::{PlanRequest, plan_request};
pub use request::{AssembleRequest, SessionOfTurn, assemble_request};
pub use session::{AppendRequest, MAX_APPENDED, RecallContext, RecallRequest, append_request, recall_request};
pub use size::count_values;
pub use turn::{inputs, turn};

use std::fmt;

use crate::proto;
use promptd_core::{
    globs::{NameGlobs, SkillFilter},
    id::Id,
};

/// Bounds on one request's lists. A list over its bound is `INVALID_ARGUMENT` and names the bound; its bytes are
/// bounded by the server's message limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The most `turn.knowledge` snippets.
    pub max_knowledge: usize,
    /// The most `turn.variables`.
    pub max_variables: usize,
    /// The most `turn.inputs`.
    pub max_inputs: usize,
    /// The most `turn.conversation.messages`.
    pub max_messages: usize,
    /// The most `turn.conversation.segments`.
    pub max_segments: usize,
    /// The most tool calls of one message.
    pub max_tool_calls: usize,
    /// The most `turn.context_files`.
    pub max_context_files: usize,
    /// The most `if_none_match` digests.
    pub max_digests: usize,
    /// The most items of all lists and objects together.
    pub max_values: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_knowledge: 1_000,
            max_variables: 256,
            max_inputs: 256,
            max_messages: 10_000,
            max_segments: 10_000,
            max_tool_calls: 1_000,
            max_context_files: 1_000,
            max_digests: 16_384,
            max_values: 100_000,
        }
    }
}

/// A field whose value is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The field's path, such as `turn.knowledge[3]`; empty: the whole request.
    pub field: String,
    /// What is wrong and what would be right: one sentence.
    pub message: String,
}

/// The most violations that are collected for one request.
pub const MAX_VIOLATIONS: usize = 100;

/// The violations found so far.
#[derive(Debug, Default)]
pub struct Violations(Vec<Violation>);

impl Violations {
    /// Adds one.
    pub fn add(&mut self, field: impl Into<String>, message: impl Into<String>) {
        if self.0.len() < MAX_VIOLATIONS {
            self.0.push(Violation { field: field.into(), message: message.into() });
        }
    }

    /// Whether a list keeps its bound; if not, adds a violation.
    pub fn within(&mut self, field: &str, count: usize, bound: usize) -> bool {
        if count > bound {
            self.add(field, format!("has {count} items; at most {bound} are allowed"));
        }
        count <= bound
    }

    /// `value`, or the violations where there are any.
    pub fn into_result<T>(self, value: T) -> Result<T, Vec<Violation>> {
        if self.0.is_empty() { Ok(value) } else { Err(self.0) }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field.is_empty() {
            return f.write_str(&self.message);
        }
        write!(f, "{}: {}", self.field, self.message)
    }
}

/// Checks a required id.
pub fn id(raw: &str, field: &str, violations: &mut Violations) -> Option<Id> {
    Id::parse(raw).map_err(|e| violations.add(field, e.to_string())).ok()
}

/// Checks an id that may be empty.
pub fn optional_id(raw: &str, field: &str, violations: &mut Violations) -> Option<Id> {
    if raw.is_empty() { None } else { id(raw, field, violations) }
}

/// Checks a skill filter; `path` is its field, such as `turn.skill_filter`.
pub fn skill_filter(raw: Option<proto::SkillFilter>, path: &str, violations: &mut Violations) -> Option<SkillFilter> {
    let raw = raw?;
    let mut globs = |list: Option<proto::NameGlobs>, name: &str| {
        let list = list?;
        NameGlobs::compile(&list.globs)
            .map_err(|e| {
                let place = e.one.as_ref().map(|(index, _)| format!("[{index}]")).unwrap_or_default();
                violations.add(format!("{path}.{name}.globs{place}"), e.to_string());
            })
            .ok()
    };
    let (allow, block) = (globs(raw.allowlist, "allowlist"), globs(raw.blocklist, "blocklist"));
    Some(SkillFilter { allow, block: block.unwrap_or_default() })
}

/// The enum value of `number`; an unknown one is a violation, never a default.
pub fn choice<E: TryFrom<i32>>(number: i32, path: impl FnOnce() -> String, violations: &mut Violations) -> Option<E> {
    let known = E::try_from(number).ok();
    if known.is_none() {
        violations.add(path(), format!("{number} is not a known value"));
    }
    known
}

#[cfg(test)]
mod every_field;
