//! What a transport makes of a shared message, kept beside it.

use std::{any::Any, sync::OnceLock};

/// A place for one value that is made of a message once a revision, such as its encoded form. Assembly never looks into
/// it, so that the core needs no transport's types.
#[derive(Debug, Default)]
pub struct Memo(OnceLock<Box<dyn Any + Send + Sync>>);

impl Memo {
    /// The value, made now if there is none; `None`: there is one of another type.
    pub fn get_or_init<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Option<&T> {
        self.0.get_or_init(|| Box::new(make())).downcast_ref()
    }
}
