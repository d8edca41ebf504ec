//! A text and its trace.

use std::ops::Range;

use super::Trace;

/// A text that is being written, with its trace where spans are asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Text {
    string: String,
    /// Boxed: a text without it is all that most calls have.
    trace: Option<Box<Trace>>,
}

impl Text {
    /// No text yet.
    pub(crate) fn new(traced: bool, capacity: usize) -> Self {
        Self { string: String::with_capacity(capacity), trace: traced.then(Box::default) }
    }

    /// A whole text and its trace.
    pub(crate) fn traced(string: String, trace: Trace) -> Self {
        debug_assert_eq!(string.len(), trace.len(), "{string:?}");
        Self { string, trace: Some(Box::new(trace)) }
    }

    /// The text.
    pub(crate) fn as_str(&self) -> &str {
        &self.string
    }

    /// The text without its trace.
    pub(crate) fn into_string(self) -> String {
        self.string
    }

    /// Where its bytes came from; `None`: nobody asked.
    pub(crate) fn trace(&self) -> Option<&Trace> {
        self.trace.as_deref()
    }

    /// Adds a text; `from` says where it came from.
    #[inline]
    pub(crate) fn push(&mut self, text: &str, from: impl FnOnce() -> Trace) {
        self.string.push_str(text);
        if let Some(trace) = &mut self.trace {
            trace.extend(from());
        }
    }

    /// Lets something write what comes next; `from` says where what was written came from.
    pub(crate) fn write<E>(
        &mut self,
        write: impl FnOnce(&mut String) -> Result<(), E>,
        from: impl FnOnce(&str) -> Trace,
    ) -> Result<(), E> {
        let start = self.string.len();
        write(&mut self.string)?;
        if let Some(trace) = &mut self.trace {
            trace.extend(from(&self.string[start..]));
        }
        Ok(())
    }

    /// A part of it, by its bytes.
    #[must_use]
    pub(crate) fn slice(&self, bytes: Range<usize>) -> Self {
        let trace = self.trace.as_ref().map(|trace| Box::new(trace.slice(bytes.clone())));
        Self { string: self.string[bytes].to_owned(), trace }
    }

    /// Adds another text.
    pub(crate) fn append(&mut self, other: &Self) {
        self.push(&other.string, || other.trace.as_deref().cloned().unwrap_or_default());
    }

    /// Keeps only the first bytes.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.string.truncate(len);
        if let Some(trace) = &mut self.trace {
            **trace = trace.slice(0..len);
        }
    }
}

impl From<String> for Text {
    fn from(string: String) -> Self {
        Self { string, trace: None }
    }
}
