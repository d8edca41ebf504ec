//! What is wrong with a request, all of it at once.

use std::fmt;

/// A field whose value is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The field's path, such as `turn.knowledge[3]`; empty: the whole request.
    pub field: String,
    /// What is wrong and what would be right: one sentence.
    pub message: String,
}

/// The most violations that one request's check collects; what follows them would be noise.
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

    /// Whether a list keeps its bound; if not, says so.
    pub fn within(&mut self, field: &str, count: usize, bound: usize) -> bool {
        if count > bound {
            self.add(field, format!("has {count} items; at most {bound} are taken"));
        }
        count <= bound
    }

    /// `value` where nothing was wrong.
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
