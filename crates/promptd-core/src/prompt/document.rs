//! The workspace's files as sections and inputs show them: cut, measured, and reported where cut or left out.

use super::{
    output::{How, Size, Source},
    trace::{Text, Trace, files},
};
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

/// The text of a document that is shown, with its trace. What a marker says was left out is its source.
pub(crate) fn traced(document: &Document, held: &Cut<'_>) -> Text {
    let origin = files::origin(source(document));
    match held {
        Cut::Whole(text) => Text::traced((*text).to_owned(), files::part(&document.map, 0..text.len(), &origin)),
        Cut::Part(excerpt) => {
            // A file that was read in part goes on behind its text.
            let end = if document.partial { document.total_bytes } else { document.map.end() };
            let (mut trace, mut from) = (Trace::default(), 0);
            for kept in &excerpt.kept {
                let left_out = document.map.start(from)..document.map.start(kept.source.start);
                trace.extend(Trace::of(kept.at - trace.len(), &origin, left_out, How::Marker));
                trace.extend(files::part(&document.map, kept.source.clone(), &origin).cut());
                from = kept.source.end;
            }
            let left_out = document.map.start(from)..end.max(document.map.start(from));
            trace.extend(Trace::of(excerpt.text.len() - trace.len(), &origin, left_out, How::Marker));
            Text::traced(excerpt.text.clone(), trace)
        }
        Cut::Dropped => Text::traced(String::new(), Trace::default()),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        text::cut::Keep,
        workspace::{MemoryTree, testing},
    };

    #[test]
    fn a_cut_document_is_its_kept_parts_and_the_marker_stands_for_the_rest() {
        let file = format!("{}\r\n{}\n", "a".repeat(100), "z".repeat(100));
        let snapshot = testing::load_tree(&MemoryTree::new().file("AGENTS.md", file)).unwrap();
        let document = &snapshot.documents["AGENTS.md"];
        let spans = |keep: Keep, limit: usize| -> Vec<String> {
            let held = cut::cut(&document.text, limit, keep, &document.path, extent(document));
            let spans = traced(document, &held).trace().unwrap().spans(0);
            spans.iter().map(|span| format!("{} {:?} {:?}", span.how.as_str(), span.bytes, span.source)).collect()
        };
        assert_eq!(
            spans(Keep::Head, 300),
            ["verbatim 0..100 0..100", "cleaned 100..101 100..102", "verbatim 101..201 102..202"]
        );
        assert_eq!(spans(Keep::Head, 60), ["cut 0..16 0..16", "marker 16..60 16..203"]);
        assert_eq!(spans(Keep::Tail, 60), ["marker 0..44 0..186", "cut 44..60 186..202"]);
        assert_eq!(spans(Keep::HeadTail, 60), ["cut 0..8 0..8", "marker 8..53 8..195", "cut 53..60 195..202"]);
    }
}
