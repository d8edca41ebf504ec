//! What the service reports about its inputs: one type, several renderers.
//!
//! A finding names what is wrong, where it is and, through its [`Code`], what to do. Loading and assembling
//! give findings beside their result instead of failing, so that one bad part never costs another.

mod bounded;
mod code;
mod excerpt;
pub mod github;
pub mod human;
pub mod json;
mod report;
pub mod sarif;

#[cfg(test)]
mod renderers_tests;

#[cfg(test)]
pub(crate) use bounded::MAX_FINDINGS_A_FILE;
pub(crate) use bounded::bounded;
pub use code::{Code, markdown};
pub use excerpt::escape;
pub use report::{Counts, Reported};

use std::fmt;

/// One thing worth reporting: a loss, a fault, a risk.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What kind it is; stable.
    pub code: Code,
    /// Where it is.
    pub place: Place,
    /// One sentence for a person; never an absolute server path or a file's contents.
    pub message: String,
}

impl Finding {
    /// A finding of the code's usual severity.
    pub fn new(code: Code, place: Place, message: impl Into<String>) -> Self {
        Self { severity: code.severity(), code, place, message: message.into() }
    }

    /// Whether this is an error.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Good to know; nothing is lost.
    Info,
    /// Something was left out or looks wrong; the rest works.
    Warning,
    /// A part does not work until it is fixed.
    Error,
}

impl fmt::Display for Finding {
    /// `PLACE: MESSAGE`, or the message where the finding has no place.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Unplaced => f.write_str(&self.message),
            place => write!(f, "{place}: {}", self.message),
        }
    }
}

impl Severity {
    /// Lower-case name, as reports print it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// The path of `key` below `path`: at most 64 of its characters, nothing that could hide or break a line.
#[must_use]
pub fn member(path: &str, key: &str) -> String {
    let shown = key.chars().take(64).flat_map(char::escape_debug);
    path.chars().chain(['.']).chain(shown).collect()
}

/// The place of a finding.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// No particular place.
    #[default]
    Unplaced,
    /// In a file.
    File {
        /// Relative to the workspace; `@shared/…` for shared skills; relative to its own file for a config.
        path: String,
        /// 1-based; 0 where the whole file is meant.
        line: u32,
        /// 1-based, in characters; 0 where the whole line is meant.
        column: u32,
    },
    /// In the request: a path such as `turn.knowledge[3]`.
    Field(String),
}

impl Place {
    /// A whole file.
    pub fn file(path: impl Into<String>) -> Self {
        Self::File { path: path.into(), line: 0, column: 0 }
    }

    /// A position in a file; both are 1-based.
    pub fn at(path: impl Into<String>, line: u32, column: u32) -> Self {
        Self::File { path: path.into(), line, column }
    }

    /// The place without its position in the file.
    pub(crate) fn whole_file(&self) -> Self {
        match self {
            Self::File { path, .. } => Self::file(path.as_str()),
            other => other.clone(),
        }
    }

    /// A field of the request.
    pub fn field(path: impl Into<String>) -> Self {
        Self::Field(path.into())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unplaced => Ok(()),
            Self::Field(path) | Self::File { path, line: 0, .. } => f.write_str(path),
            Self::File { path, line, column: 0 } => write!(f, "{path}:{line}"),
            Self::File { path, line, column } => write!(f, "{path}:{line}:{column}"),
        }
    }
}
