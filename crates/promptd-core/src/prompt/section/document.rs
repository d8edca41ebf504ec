//! The workspace's files as sections show them: found by pattern, reported where cut or left out.

use std::borrow::Cow;

use super::block::TextBlock;
use crate::{
    finding::{Code, Finding, Place},
    profile::{FilePattern, Stability},
    prompt::output::{Size, Source},
    text::{
        cut::{self, Extent},
        measure,
    },
    workspace::{Document, Snapshot},
};

/// The document of a pattern, or the path that gave none. A newest file that could not be read is not replaced by an
/// older one.
pub(super) fn find<'s>(snapshot: &'s Snapshot, pattern: &FilePattern) -> Result<&'s Document, String> {
    if let FilePattern::Path(path) = pattern {
        return snapshot.documents.get(path.as_str()).ok_or_else(|| path.clone());
    }
    let document = snapshot.documents.values().rev().find(|document| pattern.matches(&document.path));
    let unusable = snapshot.unusable.keys().rev().find(|path| pattern.matches(path));
    match (document, unusable) {
        (Some(document), Some(path)) if **path > *document.path => Err(path.to_string()),
        (Some(document), _) => Ok(document),
        (None, path) => Err(path.map_or_else(|| pattern.to_string(), ToString::to_string)),
    }
}

/// The block for a file that gave no document.
pub(super) fn absent<'a>(
    id: impl Into<Cow<'a, str>>,
    stability: Stability,
    snapshot: &Snapshot,
    path: &str,
) -> TextBlock<'a> {
    match snapshot.unusable.get(path) {
        Some(finding) => {
            let source = Source { path: path.into(), sha256: "".into() };
            let reason = format!("{path}: {}.", finding.message);
            TextBlock::dropped(id, stability, reason, Size::default()).made_from(source)
        }
        None => TextBlock::omitted(id, stability, format!("The workspace has no {path}.")),
    }
}

/// Where a document's text came from.
pub(super) fn source(document: &Document) -> Source {
    Source { path: document.path.clone(), sha256: document.sha256.clone() }
}

/// How long a document is.
pub(super) fn extent(document: &Document) -> Extent {
    if document.partial {
        Extent::Partial { bytes: document.total_bytes }
    } else {
        Extent::Whole { chars: document.chars }
    }
}

/// The size of a document's contents; of a partly read one, its bytes and the characters that were read.
pub(super) fn original(document: &Document) -> Size {
    let bytes = if document.partial { document.total_bytes } else { document.text.len() as u64 };
    Size { bytes, chars: document.chars as u64, tokens: None }
}

/// The size of the part of a document that is shown.
pub(super) fn head_size(document: &Document, shown: usize) -> Size {
    let head = &document.text[..measure::offset(&document.text, shown)];
    Size::of(head)
}

/// Why a document was cut.
pub(super) fn cut_reason(document: &Document, shown: usize) -> String {
    cut::marker(&document.path, shown, extent(document)).trim_matches(['[', ']']).to_owned() + "."
}

/// The finding of a cut.
pub(super) fn truncated(document: &Document, shown: usize) -> Finding {
    let place = Place::file(&*document.path);
    Finding::new(Code::ContextFileTruncated, place, cut_reason(document, shown).trim_end_matches('.').to_owned())
}

/// The finding of a document that was left out whole.
pub(super) fn dropped(document: &Document) -> Finding {
    let message = format!("{} was left out: its limit leaves no room even for the marker of a cut", document.path);
    Finding::new(Code::ContextFileDropped, Place::file(&*document.path), message)
}
