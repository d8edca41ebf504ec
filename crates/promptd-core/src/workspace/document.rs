//! A text file of a workspace, cleaned for the prompt.

use std::sync::Arc;

use super::{
    clean::{Cleaned, clean, trim},
    file_map::FileMap,
    risk,
    tree::FileBytes,
};
use crate::{
    digest::sha256_hex,
    finding::{Finding, Severity},
    settings::RiskPolicy,
};

/// A text file as prompts carry it: without byte order mark, with LF line ends, with neither control characters nor
/// blank lines at its ends; everything else as it is in the file.
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
    /// Which bytes of the file the text's are.
    pub map: FileMap,
    /// What must be reported with a prompt that carries the text: changes of meaning and risks. Notes for `check` alone are not
    /// here but in the snapshot's findings.
    pub findings: Vec<Finding>,
}

/// A file read: the document, unless its risks are refused, and its findings.
pub(super) struct ReadDocument {
    pub(super) document: Option<Document>,
    pub(super) sha256: Arc<str>,
    pub(super) findings: Vec<Finding>,
}

impl Document {
    /// Reads a document from a file's bytes.
    pub(super) fn read(path: &Arc<str>, file: &FileBytes, risks: RiskPolicy) -> ReadDocument {
        let partial = file.is_partial();
        let Cleaned { text, first_line, mut findings } = clean(&file.bytes, partial, path);
        let (text, risks) = risk::scan(&text, path, risk::Scope::File { first_line }).settle(text, risks);
        findings.extend(risks);
        let sha256 = sha256_hex(&file.bytes);
        let document = text.map(|text| {
            let text = trim(&text);
            Self {
                path: Arc::clone(path),
                chars: text.chars().count(),
                map: FileMap::new(&file.bytes, text),
                text: text.into(),
                sha256: Arc::clone(&sha256),
                total_bytes: file.total,
                partial,
                findings: findings.iter().filter(|finding| finding.severity > Severity::Info).cloned().collect(),
            }
        });
        ReadDocument { document, sha256, findings }
    }

    /// Whether the file has nothing but white space. False for a file that was read in part, whose rest is not known.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.text.is_empty() && !self.partial
    }

    /// Whether the text, as a HEARTBEAT.md, has anything to check: see [`super::heartbeat`].
    #[must_use]
    pub fn has_tasks(&self) -> bool {
        super::heartbeat::has_tasks(&self.text)
    }
}
