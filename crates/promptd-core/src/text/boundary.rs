//! Where a text may be cut: never inside what a reader takes for one character.

use std::borrow::Cow;

use unicode_segmentation::GraphemeCursor;

use super::measure;

/// Marks where [`shorten`] took text away.
pub(super) const ELLIPSIS: char = '…';

/// The last grapheme cluster boundary at or before byte `offset`, which must be on a character boundary.
///
/// Looks only near the offset, however long the text is.
#[must_use]
pub fn grapheme_floor(text: &str, offset: usize) -> usize {
    let mut cursor = GraphemeCursor::new(offset, text.len(), true);
    // With the whole text as its chunk the cursor never lacks context, so neither call can fail.
    if cursor.is_boundary(text, 0).unwrap_or(true) {
        return offset;
    }
    cursor.prev_boundary(text, 0).ok().flatten().unwrap_or(0)
}

/// The first grapheme cluster boundary at or after byte `offset`, which must be on a character boundary.
#[must_use]
pub fn grapheme_ceiling(text: &str, offset: usize) -> usize {
    let mut cursor = GraphemeCursor::new(offset, text.len(), true);
    if cursor.is_boundary(text, 0).unwrap_or(true) {
        return offset;
    }
    cursor.next_boundary(text, 0).ok().flatten().unwrap_or(text.len())
}

/// The text, or where it has more than `limit` characters, its head up to a grapheme cluster boundary and `…`,
/// together at most `limit` characters. A limit of 0 leaves nothing.
#[must_use]
pub fn shorten(text: &str, limit: usize) -> Cow<'_, str> {
    if !measure::exceeds(text, limit) {
        return Cow::Borrowed(text);
    }
    if limit == 0 {
        return Cow::Borrowed("");
    }
    let head = &text[..grapheme_floor(text, measure::offset(text, limit - 1))];
    let mut short = String::with_capacity(head.len() + ELLIPSIS.len_utf8());
    short.push_str(head.trim_end());
    short.push(ELLIPSIS);
    Cow::Owned(short)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn shortens_between_clusters() {
        let family = "👨‍👩‍👧‍👦"; // seven characters, one cluster
        for (text, limit, short) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("abcd", 1, "…"),
            ("abcd", 0, ""),
            ("", 0, ""),
            ("ab cd", 4, "ab…"),
            ("界界界", 2, "界…"),
            ("ae\u{301}e\u{301}", 4, "ae\u{301}…"),
            ("🇩🇪🇫🇷", 3, "🇩🇪…"),
            ("🇩🇪🇫🇷x", 4, "🇩🇪…"),
            (&format!("a{family}b"), 8, "a…"),
            (&format!("a{family}bc"), 9, &format!("a{family}…")),
            ("می\u{200c}خواهم", 3, "م…"),
        ] {
            assert_eq!(shorten(text, limit), short, "{text} to {limit}");
        }
    }

    #[test]
    fn a_cluster_of_countless_marks_is_cut_at_once() {
        let text = format!("ab{}", "\u{301}".repeat(100_000));
        assert_eq!(shorten(&text, 50_000), "a…");
        let flags = "🇩🇪".repeat(50_000);
        assert_eq!(measure::chars(&shorten(&flags, 50_001)), 50_001);
    }

    proptest! {
        #[test]
        fn never_over_the_limit(text in "\\PC{0,40}", limit in 0_usize..50) {
            let short = shorten(&text, limit);
            prop_assert!(measure::chars(&short) <= limit);
            prop_assert!(text.starts_with(short.trim_end_matches(ELLIPSIS)) || short == text);
        }
    }
}
