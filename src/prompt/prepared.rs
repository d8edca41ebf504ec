//! What all prompts of one revision share, rendered once.

/// The parts of every profile that depend on the snapshot alone.
#[derive(Debug, Default)]
pub struct Prepared {}
