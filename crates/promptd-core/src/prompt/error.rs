//! Why a turn cannot be assembled: always the caller's to mend.

use std::fmt;

/// A turn that cannot be assembled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnError {
    /// A field's value is wrong. INVALID_ARGUMENT.
    Invalid {
        /// The field's path, such as `turn.inputs.window`.
        field: String,
        /// What is wrong and what would be right: one sentence.
        message: String,
    },
    /// The operator locked a field that the turn sets. PERMISSION_DENIED.
    Locked {
        /// The field's path.
        field: &'static str,
    },
}

impl TurnError {
    /// A field's value is wrong.
    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid { field: field.into(), message: message.into() }
    }
}

impl fmt::Display for TurnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid { field, message } => write!(f, "{field}: {message}"),
            Self::Locked { field } => write!(f, "{field}: locked by the workspace"),
        }
    }
}

impl std::error::Error for TurnError {}
