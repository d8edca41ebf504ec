//! A text file of a workspace, cleaned for the prompt.

use std::{
    ops::Deref,
    sync::{Arc, OnceLock},
};

use super::{
    clean::{Cleaned, clean, trim},
    file_map::FileMap,
    layers, risk,
    tree::FileBytes,
};
use crate::{
    digest::sha256_hex,
    finding::{Finding, Severity},
    id::Id,
    settings::RiskPolicy,
};

/// A text file as prompts carry it: without byte order mark, with LF line ends, with neither control characters nor
/// blank lines at its ends; everything else as it is in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Relative to the workspace.
    pub path: Arc<str>,
    /// The file as findings and reports name it: its path, after `@layers/ID/` if it is a layer's.
    pub file: Arc<str>,
    /// The cleaned text; empty where the file has only white space.
    pub text: DocumentText,
    /// How many characters `text` has.
    pub chars: usize,
    /// SHA-256 of the bytes read, in hex; where layers are joined, of theirs, one a line.
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

/// The text of a document. Where several layers have the file, it is joined when it is first asked for.
#[derive(Debug, Clone)]
pub struct DocumentText(Held);

#[derive(Debug, Clone)]
enum Held {
    One(Arc<str>),
    /// The documents of the layers, none of them blank, from far to near.
    Joined(Box<[Arc<Document>]>, OnceLock<Box<str>>),
}

/// What is between the documents of two layers.
pub(crate) const JOINT: &str = "\n\n";

impl From<&str> for DocumentText {
    fn from(text: &str) -> Self {
        Self(Held::One(text.into()))
    }
}

impl Deref for DocumentText {
    type Target = str;

    fn deref(&self) -> &str {
        match &self.0 {
            Held::One(text) => text,
            Held::Joined(parts, joined) => joined.get_or_init(|| {
                let texts: Vec<&str> = parts.iter().map(|part| &*part.text).collect();
                texts.join(JOINT).into()
            }),
        }
    }
}

impl PartialEq for DocumentText {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for DocumentText {}

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
                file: Arc::clone(path),
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

    /// The documents of several layers as one, from far to near; none of them is blank, and there are two or more.
    pub(super) fn joined(path: &Arc<str>, parts: Vec<Arc<Self>>) -> Self {
        let digests: Vec<&str> = parts.iter().map(|part| &*part.sha256).collect();
        let joints = JOINT.len() * parts.len().saturating_sub(1);
        Self {
            path: Arc::clone(path),
            file: parts.last().map_or_else(|| Arc::clone(path), |nearest| Arc::clone(&nearest.file)),
            chars: parts.iter().map(|part| part.chars).sum::<usize>() + joints,
            sha256: sha256_hex(digests.join("\n").as_bytes()),
            total_bytes: parts.iter().map(|part| part.total_bytes).sum::<u64>() + joints as u64,
            partial: parts.iter().any(|part| part.partial),
            map: FileMap::new(b"", ""),
            findings: parts.iter().flat_map(|part| part.findings.iter().cloned()).collect(),
            text: DocumentText(Held::Joined(parts.into(), OnceLock::new())),
        }
    }

    /// The documents that were joined, from far to near; empty: it is one file.
    #[must_use]
    pub fn parts(&self) -> &[Arc<Self>] {
        match &self.text.0 {
            Held::One(_) => &[],
            Held::Joined(parts, _) => parts,
        }
    }

    /// The same document in a workspace that extends its own.
    pub(super) fn of_layer(&self, id: &Id) -> Self {
        Self {
            file: layers::file(id, &self.path),
            findings: self.findings.iter().map(|finding| layers::finding(id, finding)).collect(),
            ..self.clone()
        }
    }

    /// How many bytes of memory its text takes; one that is joined is shared with its layers.
    pub(super) fn weight(&self) -> usize {
        match &self.text.0 {
            Held::One(text) => text.len(),
            Held::Joined(..) => 0,
        }
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
