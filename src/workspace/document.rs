//! A text file of a workspace, cleaned for the prompt.

use std::sync::Arc;

use crate::finding::Finding;

/// A text file as prompts carry it: without byte order mark, with LF line ends, with neither control characters nor
/// blank lines at its ends; everything else as it stands in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Relative to the workspace.
    pub path: Arc<str>,
    /// The cleaned text; empty where the file has only white space.
    pub text: Arc<str>,
    /// How many characters `text` has.
    pub chars: usize,
    /// SHA-256 of the bytes read, in hex.
    pub sha256: Arc<str>,
    /// The file's real size in bytes, also where it is beyond the read limit.
    pub total_bytes: u64,
    /// Whether the file is longer than the read limit, so that `text` is only its head.
    pub partial: bool,
    /// What a prompt that carries the text must tell: changes of meaning and risks. Notes for `check` alone are not
    /// here but in the snapshot's findings.
    pub findings: Vec<Finding>,
}
