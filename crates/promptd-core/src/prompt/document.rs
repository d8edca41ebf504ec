//! The workspace's files as sections and inputs show them: cut, measured, and reported where cut or left out.

use super::output::{Size, Source};
use crate::{
    finding::{Code, Finding, Place},
    text::cut::{self, Cut, Excerpt, Extent},
    workspace::{ContextSettings, Document},
};

/// Why a context file is left out.
pub(crate) const SKIPPED: &str = "The turn or the workspace skips the context files.";

/// A document's text, cut to `limit` characters with a marker.
pub(crate) fn cut<'d>(document: &'d Document, limit: usize, context: &ContextSettings) -> Cut<'d> {
    let keep = context.rule(&document.path).keep;
    cut::cut(&document.text, limit, keep, &document.path, extent(document))
}

/// Why a document was left out whole.
pub(crate) fn no_room(limit: usize) -> String {
    format!("Not even the marker of a cut fits into {limit} characters.")
}

/// Where a document's text came from.
pub(crate) fn source(document: &Document) -> Source {
    Source { path: document.path.clone(), sha256: document.sha256.clone() }
}

/// How long a document is.
fn extent(document: &Document) -> Extent {
    if document.partial {
        Extent::Partial { bytes: document.total_bytes }
    } else {
        Extent::Whole { chars: document.chars }
    }
}

/// The size of a document's contents; of a partly read one, its bytes and the characters that were read.
pub(crate) fn original(document: &Document) -> Size {
    let bytes = if document.partial { document.total_bytes } else { document.text.len() as u64 };
    Size { bytes, chars: document.chars as u64, tokens: None }
}

/// The size of the part of a document that is shown.
pub(crate) fn shown_size(excerpt: &Excerpt) -> Size {
    let bytes = excerpt.kept.iter().map(|kept| kept.source.len() as u64).sum();
    Size { bytes, chars: excerpt.shown as u64, tokens: None }
}

/// Why a document was cut.
pub(crate) fn cut_reason(document: &Document, shown: usize) -> String {
    cut::marker(&document.path, shown, extent(document)).trim_matches(['[', ']']).to_owned() + "."
}

/// The finding of a cut.
pub(crate) fn truncated(document: &Document, shown: usize) -> Finding {
    let place = Place::file(&*document.path);
    Finding::new(Code::ContextFileTruncated, place, cut_reason(document, shown).trim_end_matches('.').to_owned())
}

/// The finding of a document that was left out whole.
pub(crate) fn dropped(document: &Document) -> Finding {
    let message = format!("{} was left out: its limit leaves no room even for the marker of a cut", document.path);
    Finding::new(Code::ContextFileDropped, Place::file(&*document.path), message)
}
