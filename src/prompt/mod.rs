//! Assembly: a pure function of snapshot, profile and turn.

mod answer;
mod error;
mod labels;
mod prepared;
mod turn;

pub use answer::{CachePlan, Carried, Digest, Message, Outcome, Prompt, Section, Size, Source, Stability};
pub use error::TurnError;
pub use labels::RUNTIME_LABELS;
pub use prepared::Prepared;
pub use turn::{
    Agent, Channel, Conversation, ResponseFormat, Role, Segment, Snippet, Spoken, Stage, ToolCall, Turn, User,
};

use crate::{profile::Profile, workspace::Snapshot};

/// Assembles the prompt for one turn.
pub fn assemble<'a>(snapshot: &'a Snapshot, profile: &'a Profile, turn: &'a Turn) -> Result<Prompt<'a>, TurnError> {
    let _ = (snapshot, profile, turn);
    Err(TurnError::Invalid { field: "turn".into(), message: "not yet".into() })
}
