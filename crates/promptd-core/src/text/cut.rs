//! Cuts a document to its limit, and says so in the text.
//!
//! The head is kept. The cut falls at the last line end inside the budget where that loses at most a tenth of it, else
//! at a grapheme cluster boundary; a code fence left open is closed; then, on a line of its own, follows a marker that
//! names the document and says how much of it is shown. All of it together keeps the limit.

use super::{
    byte_size,
    fence::open_fence,
    grapheme_floor,
    measure::{chars, exceeds, offset},
    thousands,
};

/// What became of a document under its limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cut<'a> {
    /// It fits: the text as it is.
    Whole(&'a str),
    /// A part of it fits.
    Head {
        /// The head, the fence's closing line where one was left open, and the marker.
        text: String,
        /// How many characters of the original `text` begins with.
        shown: usize,
    },
    /// Not even the marker fits.
    Dropped,
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
/// A blank text is [`Cut::Whole`] unless it is partial: it has nothing to lose.
#[must_use]
pub fn cut<'a>(text: &'a str, limit: usize, name: &str, extent: Extent) -> Cut<'a> {
    cut_with(text, limit, matches!(extent, Extent::Partial { .. }), |shown| marker(name, shown, extent))
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

/// Like [`cut`], with a marker of the caller's own, made from the number of characters shown; it must not get longer
/// where fewer are shown. `always` marks a text that fits, too.
#[must_use]
pub fn cut_with(text: &str, limit: usize, always: bool, marker: impl Fn(usize) -> String) -> Cut<'_> {
    if !always && !exceeds(text, limit) {
        return Cut::Whole(text);
    }
    if exceeds(&marker(0), limit) {
        return Cut::Dropped;
    }
    // The head's line end takes one.
    let budget = limit.saturating_sub(chars(&marker(limit)) + 1);
    let (head, closing) = fenced_head(text, budget);
    let shown = chars(head);
    let mut kept = String::with_capacity(head.len() + 128);
    for line in [head, closing].into_iter().filter(|line| !line.is_empty()) {
        kept.push_str(line);
        kept.push('\n');
    }
    kept.push_str(&marker(shown));
    Cut::Head { text: kept, shown }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn agents(text: &str, limit: usize) -> Cut<'_> {
        cut(text, limit, "AGENTS.md", Extent::Whole { chars: chars(text) })
    }

    fn shown(text: &str, limit: usize) -> (String, usize) {
        match agents(text, limit) {
            Cut::Head { text, shown } => (text, shown),
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
        assert_eq!(agents(&text, marker.len()), Cut::Head { text: marker.into(), shown: 0 });
        assert_eq!(shown(&text, marker.len() + 3).1, 1);
    }

    #[test]
    fn a_partial_document_is_always_marked() {
        let extent = Extent::Partial { bytes: 20 << 30 };
        let Cut::Head { text, shown } = cut("short", 4_000, "AGENTS.md", extent) else { panic!("unmarked") };
        assert_eq!((text.as_str(), shown), ("short\n[AGENTS.md cut: 5 characters of 20.0 GiB shown]", 5));
        let long = "x".repeat(1 << 20);
        let Cut::Head { text, .. } = cut(&long, 4_000, "AGENTS.md", extent) else { panic!("unmarked") };
        assert!(text.ends_with("\n[AGENTS.md cut: 3,948 characters of 20.0 GiB shown]"), "{}", &text[3_900..]);
    }

    proptest! {
        #[test]
        fn never_over_the_limit_and_always_a_prefix(
            text in "([a-z界é👩‍🚀🇩🇪\u{301}]{0,12}|`{3,5}|~{3}|[ ]{0,4}|\n){0,60}", limit in 0_usize..200, partial: bool,
        ) {
            let extent = if partial { Extent::Partial { bytes: 9 } } else { Extent::Whole { chars: chars(&text) } };
            match cut(&text, limit, "A.md", extent) {
                Cut::Whole(whole) => prop_assert!(whole == text && chars(whole) <= limit && !partial),
                Cut::Head { text: kept, shown } => {
                    prop_assert!(chars(&kept) <= limit);
                    prop_assert!(kept.starts_with(&text[..offset(&text, shown)]));
                    prop_assert!(kept.ends_with(&marker("A.md", shown, extent)));
                    prop_assert_eq!(open_fence(&kept), None);
                }
                Cut::Dropped => prop_assert!(chars(&marker("A.md", 0, extent)) > limit),
            }
        }
    }
}
