//! How long a text is, in the units that limits are given in.

/// How many Unicode scalar values the text has: what this project calls characters.
#[must_use]
pub fn chars(text: &str) -> usize {
    text.chars().count()
}

/// How many UTF-16 code units the text has: what Kotlin, Java and JavaScript call its length.
#[must_use]
pub fn utf16(text: &str) -> usize {
    // A scalar value takes two units exactly where UTF-8 takes four bytes, and only those have a lead byte this high.
    chars(text) + text.bytes().filter(|&b| b >= 0xF0).count()
}

/// Whether the text has more than `limit` characters; looks at no more of it than that takes.
#[must_use]
pub fn exceeds(text: &str, limit: usize) -> bool {
    // A character has one to four bytes.
    text.len() > limit && (text.len() / 4 > limit || text.char_indices().nth(limit).is_some())
}

/// The byte offset after the first `count` characters, or the text's end.
#[must_use]
pub fn offset(text: &str, count: usize) -> usize {
    if text.len() <= count {
        return text.len();
    }
    text.char_indices().nth(count).map_or(text.len(), |(offset, _)| offset)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn counts_each_unit() {
        for (text, in_chars, in_utf16) in [("", 0, 0), ("abc", 3, 3), ("固é", 2, 2), ("👩‍🚀", 3, 5), ("\u{10FFFF}", 1, 2)]
        {
            assert_eq!((chars(text), utf16(text)), (in_chars, in_utf16), "{text}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_standard_library(text in "\\PC{0,40}", limit in 0_usize..50) {
            prop_assert_eq!(utf16(&text), text.encode_utf16().count());
            prop_assert_eq!(exceeds(&text, limit), text.chars().count() > limit);
            prop_assert_eq!(chars(&text[..offset(&text, limit)]), limit.min(chars(&text)));
        }
    }
}
