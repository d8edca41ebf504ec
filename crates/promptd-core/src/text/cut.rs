//! Cuts a document to its limit, and says so in the text.
//!
//! The head is kept, or the tail, or both. A cut falls at the line end next to its budget's where that loses at most a tenth of
//! it, else at a grapheme cluster boundary; a code fence that it divides is closed before it and opened again after it. Where
//! the text is left out there is, on a line of its own, a marker that names the document and says how much of it is shown.
//! All of it together keeps the limit.

use std::ops::Range;

use super::{
    byte_size,
    fence::{is_fence, open_fence},
    grapheme_ceiling, grapheme_floor,
    measure::{chars, exceeds, offset},
    thousands,
};

/// What became of a document under its limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cut<'a> {
    /// It fits: the text as it is.
    Whole(&'a str),
    /// A part of it fits.
    Part(Excerpt),
    /// Not even the marker fits.
    Dropped,
}

/// The part of a document that is shown, with a marker in the place of the rest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// What is kept and the marker, each on lines of its own, and lines that close a code fence before the marker or open it
    /// again behind it.
    pub text: String,
    /// What is kept of the document, in order: at most a head and a tail, neither of them empty. Every byte of `text` that is
    /// neither in here nor in the marker is a line end or a line for a code fence.
    pub kept: Vec<Kept>,
    /// The marker's byte range in `text`.
    pub marker: Range<usize>,
    /// How many characters of the document are kept.
    pub shown: usize,
    /// Of a document that was joined: what each part that is shown has of `text`, with the part's number.
    pub parts: Vec<(usize, Range<usize>)>,
}

/// A range of a document that an excerpt has byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Byte range of the document.
    pub source: Range<usize>,
    /// Byte offset in the excerpt's text.
    pub at: usize,
}

/// Which end of a document survives a cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Keep {
    /// The beginning.
    #[default]
    Head,
    /// The end.
    Tail,
    /// Half of the room each.
    HeadTail,
}

impl Keep {
    /// Each with its name in files.
    pub const NAMES: [(&'static str, Self); 3] =
        [("head", Self::Head), ("tail", Self::Tail), ("head_tail", Self::HeadTail)];
}

/// How long a document is, for its marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The text at hand is the whole document.
    Whole {
        /// Its characters.
        chars: usize,
    },
    /// The text at hand is only the head of the document: it is marked even where it fits.
    Partial {
        /// The document's size in bytes.
        bytes: u64,
    },
}

/// Cuts `text`, the document `name`, to `limit` characters; a limit of 0 drops it.
///
/// A blank text is [`Cut::Whole`] unless it is partial: it has nothing to lose. A partial text keeps its head, since the end of
/// its document is not at hand.
#[must_use]
pub fn cut<'a>(text: &'a str, limit: usize, keep: Keep, name: &str, extent: Extent) -> Cut<'a> {
    let keep = match extent {
        Extent::Partial { .. } => Keep::Head,
        Extent::Whole { .. } if !exceeds(text, limit) => return Cut::Whole(text),
        Extent::Whole { .. } => keep,
    };
    if exceeds(&marker(name, 0, extent), limit) {
        return Cut::Dropped;
    }
    // The line end between the marker and what is kept takes one; it is there twice where both ends are kept.
    let budget = limit.saturating_sub(chars(&marker(name, limit, extent)) + 1);
    let ((head, closing), (opening, tail)) = match keep {
        Keep::Head => (fenced_head(text, budget), ("", "")),
        Keep::Tail => (("", ""), fenced_tail(text, budget)),
        Keep::HeadTail => {
            let budget = budget.saturating_sub(1);
            let (head, closing) = fenced_head(text, budget.div_ceil(2));
            let used = chars(head) + if closing.is_empty() { 0 } else { chars(closing) + 1 };
            ((head, closing), fenced_tail(text, budget.saturating_sub(used)))
        }
    };
    let mut excerpt = Excerpt { shown: chars(head) + chars(tail), ..Excerpt::default() };
    excerpt.keep(head, 0);
    excerpt.line(closing);
    excerpt.marker = excerpt.line(&marker(name, excerpt.shown, extent));
    excerpt.line(opening);
    excerpt.keep(tail, text.len() - tail.len());
    Cut::Part(excerpt)
}

impl Excerpt {
    /// Adds a part of the document, which begins there at `start`.
    fn keep(&mut self, part: &str, start: usize) {
        let at = self.line(part).start;
        if !part.is_empty() {
            self.kept.push(Kept { source: start..start + part.len(), at });
        }
    }

    /// Adds a line, unless it is empty, and returns its byte range.
    fn line(&mut self, line: &str) -> Range<usize> {
        if !self.text.is_empty() && !line.is_empty() {
            self.text.push('\n');
        }
        let start = self.text.len();
        self.text.push_str(line);
        start..self.text.len()
    }
}

/// The line that says how much is shown: `[AGENTS.md cut: 3,921 of 9,000 characters shown]`.
#[must_use]
pub fn marker(name: &str, shown: usize, extent: Extent) -> String {
    let shown = thousands(shown as u64);
    match extent {
        Extent::Whole { chars } => format!("[{name} cut: {shown} of {} characters shown]", thousands(chars as u64)),
        Extent::Partial { bytes } => format!("[{name} cut: {shown} characters of {} shown]", byte_size(bytes)),
    }
}

/// The head within the budget, and the line that closes its open fence (empty: none), within the budget too.
fn fenced_head(text: &str, budget: usize) -> (&str, &str) {
    let whole = head(text, budget);
    let Some(fence) = open_fence(whole) else { return (whole, "") };
    let room = budget.saturating_sub(chars(fence.closing) + 1);
    let less = head(text, room);
    match open_fence(less) {
        None => (less, ""),
        Some(again) if again == fence => (less, fence.closing),
        // Another, longer fence is open there: end before it, where none is.
        Some(again) => (less[..again.start].trim_end_matches('\n'), ""),
    }
}

/// How often a tail is made shorter for the line that opens its fence again, before there is none: each fence that it then
/// begins in is longer than the one before.
const TAIL_ATTEMPTS: usize = 4;

/// The line that opens the fence again that the tail begins in (empty: none), and the tail, both within the budget.
fn fenced_tail(text: &str, budget: usize) -> (&str, &str) {
    let mut room = budget;
    for _ in 0..TAIL_ATTEMPTS {
        let tail = tail(text, room);
        let Some(fence) = open_fence(&text[..text.len() - tail.len()]).filter(|_| !tail.is_empty()) else {
            return ("", tail);
        };
        let opening = chars(fence.closing) + 1;
        if chars(tail) + opening <= budget {
            return (fence.closing, tail);
        }
        room = budget.saturating_sub(opening);
    }
    ("", "")
}

/// The head within the budget, ended at a line end or a grapheme cluster boundary.
fn head(text: &str, budget: usize) -> &str {
    let end = offset(text, budget);
    if end == text.len() {
        return text;
    }
    if text[end..].starts_with('\n') {
        return text[..end].trim_end_matches('\n');
    }
    match text[..end].rfind('\n') {
        Some(line_end) if chars(&text[line_end..end]) <= budget / 10 => text[..line_end].trim_end_matches('\n'),
        _ => &text[..grapheme_floor(text, end)],
    }
}

/// The tail within the budget, begun at a line's beginning or a grapheme cluster boundary, and never within the line of a code
/// fence.
fn tail(text: &str, budget: usize) -> &str {
    let start = grapheme_ceiling(text, offset(text, chars(text).saturating_sub(budget)));
    if start == 0 || text[..start].ends_with('\n') {
        return text[start..].trim_start_matches('\n');
    }
    let line = text[..start].rfind('\n').map_or(0, |end| end + 1);
    let next = text[start..].find('\n').map_or(text.len(), |end| start + end + 1);
    let (whole, rest) = (&text[line..next], &text[start..next]);
    let is_near = next < text.len() && chars(rest) <= budget / 10;
    if is_near || is_fence(whole) || is_fence(rest) { text[next..].trim_start_matches('\n') } else { &text[start..] }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn agents(text: &str, limit: usize) -> Cut<'_> {
        cut_to(text, limit, Keep::Head)
    }

    fn cut_to(text: &str, limit: usize, keep: Keep) -> Cut<'_> {
        cut(text, limit, keep, "AGENTS.md", Extent::Whole { chars: chars(text) })
    }

    fn shown(text: &str, limit: usize) -> (String, usize) {
        match agents(text, limit) {
            Cut::Part(excerpt) => (excerpt.text, excerpt.shown),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_text_that_fits_exactly_is_untouched() {
        let text = "界".repeat(4_000);
        assert_eq!(agents(&text, 4_000), Cut::Whole(&text));
        assert_eq!(agents("", 0), Cut::Whole(""));
    }

    #[test]
    fn a_long_line_is_cut_between_characters_and_marked() {
        for filler in ["a", "界", "é", "—"] {
            let text = filler.repeat(9_000);
            let (kept, shown) = shown(&text, 4_000);
            assert_eq!(shown, 3_951);
            assert_eq!(kept, format!("{}\n[AGENTS.md cut: 3,951 of 9,000 characters shown]", filler.repeat(3_951)));
            assert_eq!(chars(&kept), 4_000);
        }
    }

    #[test]
    fn a_cut_at_a_line_end_loses_at_most_a_tenth() {
        // 39 lines of 100 characters with their ends are 3,900 of the 3,951 that fit.
        let text = format!("{}\n", "x".repeat(99)).repeat(90);
        let (kept, count) = shown(&text, 4_000);
        assert_eq!(count, 3_899);
        assert!(kept.ends_with("x\n[AGENTS.md cut: 3,899 of 9,000 characters shown]"));
        // One line end at 100 is too far back.
        let text = format!("{}\n{}", "x".repeat(99), "y".repeat(9_000));
        assert_eq!(shown(&text, 4_000).1, 3_951);
        // A line that ends exactly at the budget loses nothing.
        let text = format!("{}\n{}", "x".repeat(3_951), "y".repeat(5_048));
        assert!(shown(&text, 4_000).0.starts_with(&format!("{}\n[", "x".repeat(3_951))));
    }

    #[test]
    fn clusters_stay_whole() {
        for cluster in ["👨‍👩‍👧‍👦", "e\u{301}\u{323}", "🇩🇪", "🏴󠁧󠁢󠁷󠁬󠁳󠁿", "क्षि", "می\u{200c}"]
        {
            for pad in 0..chars(cluster) {
                let text = "x".repeat(pad) + &cluster.repeat(2_000);
                let (kept, count) = shown(&text, 1_000);
                let head = &kept[..kept.find("\n[").unwrap()];
                assert_eq!(chars(head), count);
                assert_eq!(grapheme_floor(&text, head.len()), head.len(), "{cluster} after {pad}");
                assert!(count > 900, "{cluster} after {pad}: {count}");
            }
        }
    }

    #[test]
    fn an_open_fence_is_closed_within_the_limit() {
        let line = "let x = 1;\n";
        for fence in ["```", "~~~~~", "  ````"] {
            let text = format!("# A\n\n{fence}\n{}", line.repeat(500));
            let (kept, _) = shown(&text, 1_000);
            assert!(kept.contains(&format!("let x = 1;\n{fence}\n[AGENTS.md cut: ")), "{kept}");
            assert!(chars(&kept) <= 1_000);
        }
    }

    #[test]
    fn a_fence_too_long_to_close_is_left_out() {
        let text = format!("before\n{}\n{}", "`".repeat(600), "x".repeat(5_000));
        let (kept, count) = shown(&text, 1_000);
        assert_eq!((kept.starts_with("before\n[AGENTS.md cut: 6 of "), count), (true, 6));
    }

    #[test]
    fn small_limits_leave_the_marker_or_nothing() {
        let text = "x".repeat(100);
        let marker = "[AGENTS.md cut: 0 of 100 characters shown]";
        assert_eq!(agents(&text, 0), Cut::Dropped);
        assert_eq!(agents(&text, marker.len() - 1), Cut::Dropped);
        let only = Excerpt { text: marker.into(), marker: 0..marker.len(), ..Excerpt::default() };
        assert_eq!(agents(&text, marker.len()), Cut::Part(only));
        assert_eq!(shown(&text, marker.len() + 3).1, 1);
    }

    #[test]
    fn a_partial_document_is_always_marked_and_keeps_its_head() {
        let extent = Extent::Partial { bytes: 20 << 30 };
        for keep in Keep::NAMES.map(|(_, keep)| keep) {
            let Cut::Part(excerpt) = cut("short", 4_000, keep, "AGENTS.md", extent) else { panic!("unmarked") };
            let text = "short\n[AGENTS.md cut: 5 characters of 20.0 GiB shown]";
            assert_eq!((excerpt.text.as_str(), excerpt.shown), (text, 5), "{keep:?}");
        }
        let long = "x".repeat(1 << 20);
        let Cut::Part(excerpt) = cut(&long, 4_000, Keep::Tail, "AGENTS.md", extent) else { panic!("unmarked") };
        assert!(excerpt.text.ends_with("\n[AGENTS.md cut: 3,948 characters of 20.0 GiB shown]"));
    }

    #[test]
    fn the_marker_is_where_text_is_left_out() {
        let lines: Vec<String> = (0..1_000).map(|n| format!("line {n:03}")).collect();
        let text = lines.join("\n");
        for (keep, begins, ends) in [
            (Keep::Head, "line 000\nline 001\n", "\nline 016\n[AGENTS.md cut: 152 of 8,999 characters shown]"),
            (Keep::Tail, "[AGENTS.md cut: 152 of 8,999 characters shown]\nline 983\n", "\nline 998\nline 999"),
            (Keep::HeadTail, "line 000\n", "\nline 007\n[AGENTS.md cut: 151 of 8,999 characters shown]\nline 991\n"),
        ] {
            let Cut::Part(excerpt) = cut_to(&text, 200, keep) else { panic!("{keep:?}") };
            assert!(excerpt.text.starts_with(begins), "{keep:?}: {}", excerpt.text);
            assert!(excerpt.text.contains(ends), "{keep:?}: {}", excerpt.text);
            assert!(keep == Keep::Head || excerpt.text.ends_with("line 999"), "{keep:?}: {}", excerpt.text);
        }
    }

    #[test]
    fn a_fence_is_opened_again_behind_the_marker() {
        let text = format!("# A\n\n```rust\n{}```\n\nThe end.", "let x = 1;\n".repeat(500));
        let Cut::Part(tail) = cut_to(&text, 200, Keep::Tail) else { panic!("not cut") };
        assert!(tail.text.starts_with("[AGENTS.md cut: "), "{}", tail.text);
        assert!(tail.text.contains(" characters shown]\n```\n"), "{}", tail.text);
        let Cut::Part(both) = cut_to(&text, 200, Keep::HeadTail) else { panic!("not cut") };
        assert!(both.text.contains("\n```\n[AGENTS.md cut: "), "{}", both.text);
        assert!(both.text.contains(" characters shown]\n```\n"), "{}", both.text);
        assert!(both.text.ends_with("let x = 1;\n```\n\nThe end."), "{}", both.text);
    }

    #[test]
    fn a_tail_begins_in_no_line_of_a_fence() {
        let text = format!("{}\n```rust\nlet x = 1;\n```\nafter", "x".repeat(300));
        for limit in 60..130 {
            let Cut::Part(excerpt) = cut_to(&text, limit, Keep::Tail) else { panic!("not cut") };
            assert_eq!(open_fence(&excerpt.text), None, "{limit}: {}", excerpt.text);
        }
    }

    /// What is true of every excerpt.
    fn check(text: &str, limit: usize, keep: Keep, excerpt: &Excerpt, marker: &str) {
        let Excerpt { text: cut, kept, marker: line, shown, .. } = excerpt;
        assert!(chars(cut) <= limit, "over {limit}: {cut:?}");
        assert_eq!(&cut[line.clone()], marker);
        let mut copied = Vec::new();
        let mut end = 0;
        for Kept { source, at } in kept {
            assert!(source.start >= end && !source.is_empty(), "{kept:?}");
            end = source.end;
            assert_eq!(&cut[*at..*at + source.len()], &text[source.clone()]);
            copied.push(*at..*at + source.len());
        }
        assert_eq!(kept.iter().map(|kept| chars(&text[kept.source.clone()])).sum::<usize>(), *shown);
        assert!(keep == Keep::Tail || kept.iter().all(|k| k.at == 0 || k.at > line.end), "{kept:?}");
        // What is neither kept nor the marker is line ends and lines of fences.
        copied.push(line.clone());
        let others = cut.char_indices().filter(|(at, _)| !copied.iter().any(|range| range.contains(at)));
        assert!(others.into_iter().all(|(_, c)| matches!(c, '\n' | '`' | '~' | ' ')), "{cut:?}");
        // An excerpt leaves a fence open only where the document does and its end is kept.
        let is_open = open_fence(text).is_some() && kept.last().is_some_and(|last| last.source.end == text.len());
        assert!(open_fence(cut).is_none() || is_open, "{cut:?}");
    }

    proptest! {
        #[test]
        fn never_over_the_limit_and_nothing_but_the_source(
            text in "([a-z界é👩‍🚀🇩🇪\u{301}]{0,12}|`{3,5}|~{3}|[ ]{0,4}|\n){0,60}", limit in 0_usize..200, partial: bool,
            keep in prop::sample::select(Keep::NAMES.to_vec()),
        ) {
            let extent = if partial { Extent::Partial { bytes: 9 } } else { Extent::Whole { chars: chars(&text) } };
            match cut(&text, limit, keep.1, "A.md", extent) {
                Cut::Whole(whole) => prop_assert!(whole == text && chars(whole) <= limit && !partial),
                Cut::Part(excerpt) => {
                    let keep = if partial { Keep::Head } else { keep.1 };
                    check(&text, limit, keep, &excerpt, &marker("A.md", excerpt.shown, extent));
                    if keep == Keep::Head {
                        prop_assert!(excerpt.text.starts_with(&text[..offset(&text, excerpt.shown)]));
                        prop_assert_eq!(open_fence(&excerpt.text), None);
                    }
                }
                Cut::Dropped => prop_assert!(chars(&marker("A.md", 0, extent)) > limit),
            }
        }
    }
}
