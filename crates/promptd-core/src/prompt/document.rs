//! The workspace's files as sections and inputs show them: cut, measured, and reported where cut or left out.

use std::sync::Arc;

use super::{
    output::{How, Origin, OriginKind, Size, Source},
    trace::{Text, Trace, files},
};
use crate::{
    finding::{Code, Finding, Place},
    text::{
        cut::{self, Cut, Excerpt, Extent, Keep, Kept},
        shares::{Want, shares},
    },
    workspace::{ContextSettings, Document, JOINT},
};

/// Why a context file is left out.
pub(crate) const SKIPPED: &str = "The turn or the workspace skips the context files.";

/// A document's text, cut to `limit` characters with a marker.
pub(crate) fn cut<'d>(document: &'d Document, limit: usize, context: &ContextSettings) -> Cut<'d> {
    let keep = context.rule(&document.path).keep.unwrap_or_default();
    if !document.parts().is_empty() && (document.partial || document.chars > limit) {
        return cut_parts(document, limit, keep);
    }
    cut::cut(&document.text, limit, keep, &document.path, extent(document))
}

/// The same for one that was joined: its parts have fair shares of the limit, each with a marker of its own where it is cut.
fn cut_parts(document: &Document, limit: usize, keep: Keep) -> Cut<'static> {
    let parts = document.parts();
    let Some(room) = limit.checked_sub(JOINT.len() * (parts.len() - 1)) else { return Cut::Dropped };
    let need = |part: &Arc<Document>| if part.partial { usize::MAX } else { part.chars };
    let wants: Vec<Want> = parts.iter().map(|part| Want { need: need(part), ..Want::default() }).collect();
    let mut whole = Excerpt::default();
    let mut start = 0;
    for (index, (part, share)) in parts.iter().zip(shares(&wants, room)).enumerate() {
        let held = cut::cut(&part.text, share, keep, &part.path, extent(part));
        if held != Cut::Dropped && !whole.text.is_empty() {
            whole.text.push_str(JOINT);
        }
        let at = whole.text.len();
        let kept = match &held {
            Cut::Whole(text) => vec![Kept { source: 0..text.len(), at: 0 }],
            Cut::Part(excerpt) => excerpt.kept.clone(),
            Cut::Dropped => Vec::new(),
        };
        match held {
            Cut::Whole(text) => {
                whole.text.push_str(text);
                whole.shown += part.chars;
            }
            Cut::Part(excerpt) => {
                whole.text.push_str(&excerpt.text);
                whole.shown += excerpt.shown;
                whole.marker = at + excerpt.marker.start..at + excerpt.marker.end;
            }
            Cut::Dropped => {}
        }
        let moved = |kept: Kept| Kept { source: start + kept.source.start..start + kept.source.end, at: at + kept.at };
        whole.kept.extend(kept.into_iter().map(moved));
        if whole.text.len() > at {
            whole.parts.push((index, at..whole.text.len()));
        }
        start += part.text.len() + JOINT.len();
    }
    if whole.text.is_empty() { Cut::Dropped } else { Cut::Part(whole) }
}

/// Why a document was left out whole.
pub(crate) fn no_room(limit: usize) -> String {
    format!("Not even the marker of a cut fits into {limit} characters.")
}

/// Where its text came from, of a document of one file; of one that was joined the nearest file, which has a digest of its own.
pub(crate) fn source(document: &Document) -> Source {
    let nearest = document.parts().last().map_or(document, |nearest| nearest);
    Source::new(nearest.file.clone(), nearest.sha256.clone())
}

/// The text of a document that is shown, with its trace. What a marker says was left out is its source.
pub(crate) fn traced(document: &Document, held: &Cut<'_>) -> Text {
    let parts = document.parts();
    match held {
        Cut::Whole(text) if parts.is_empty() => Text::traced((*text).to_owned(), whole_trace(document)),
        Cut::Whole(text) => {
            let traces = parts.iter().map(|part| whole_trace(part));
            Text::traced((*text).to_owned(), joined_trace(traces))
        }
        Cut::Part(excerpt) if parts.is_empty() => {
            Text::traced(excerpt.text.clone(), cut_trace(document, &excerpt.kept, excerpt.text.len()))
        }
        Cut::Part(excerpt) => {
            let start = |index: usize| parts[..index].iter().map(|part| part.text.len() + JOINT.len()).sum::<usize>();
            let traces = excerpt.parts.iter().map(|(index, range)| {
                let (part, start) = (&parts[*index], start(*index));
                let of_part = excerpt.kept.iter().filter(|kept| range.contains(&kept.at));
                let moved = of_part.map(|kept| Kept {
                    source: kept.source.start - start..kept.source.end - start,
                    at: kept.at - range.start,
                });
                let kept: Vec<_> = moved.collect();
                match &kept[..] {
                    [all] if all.source == (0..part.text.len()) && all.source.len() == range.len() => whole_trace(part),
                    _ => cut_trace(part, &kept, range.len()),
                }
            });
            Text::traced(excerpt.text.clone(), joined_trace(traces))
        }
        Cut::Dropped => Text::traced(String::new(), Trace::default()),
    }
}

/// The trace of a file's whole text.
fn whole_trace(document: &Document) -> Trace {
    files::part(&document.map, 0..document.text.len(), &files::origin(source(document)))
}

/// The trace of what was kept of a file, in a text of `len` bytes.
fn cut_trace(document: &Document, kept: &[Kept], len: usize) -> Trace {
    let origin = files::origin(source(document));
    // A file that was read in part goes on behind its text.
    let end = if document.partial { document.total_bytes } else { document.map.end() };
    let (mut trace, mut from) = (Trace::default(), 0);
    for kept in kept {
        let left_out = document.map.start(from)..document.map.start(kept.source.start);
        trace.extend(Trace::of(kept.at - trace.len(), &origin, left_out, How::Marker));
        trace.extend(files::part(&document.map, kept.source.clone(), &origin).cut());
        from = kept.source.end;
    }
    let left_out = document.map.start(from)..end.max(document.map.start(from));
    trace.extend(Trace::of(len - trace.len(), &origin, left_out, How::Marker));
    trace
}

/// The traces of the parts of a document that was joined, with what is between them.
fn joined_trace(parts: impl Iterator<Item = Trace>) -> Trace {
    let service = Arc::new(Origin::new(OriginKind::Service, "context.append"));
    let mut whole = Trace::default();
    for (index, part) in parts.enumerate() {
        if index > 0 {
            whole.extend(Trace::of(JOINT.len(), &service, 0..0, How::Template));
        }
        whole.extend(part);
    }
    whole
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
