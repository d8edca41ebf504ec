//! Characters that a reader does not see: what can forge a line, turn text around or carry a hidden message.
//!
//! Joiners (U+200C, U+200D), direction marks (U+200E, U+200F, U+061C) and variation selectors are never among them:
//! Persian, Hindi, Hebrew and emoji need them. Nor are the tags of the three flags in general use, which are emoji.

/// Ends a line in some reader: `\n`, `\r`, vertical tab, form feed, and Unicode's own three.
#[must_use]
pub fn is_line_break(c: char) -> bool {
    matches!(c, '\n'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Embeds, overrides or isolates the direction of text, so that it reads otherwise than it is written.
#[must_use]
pub fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// A Unicode tag character: ASCII that no reader sees and every model reads.
#[must_use]
pub fn is_tag(c: char) -> bool {
    matches!(c, '\u{E0000}'..='\u{E007F}')
}

/// A zero-width space, a filler without a letter, or another invisible mark that joins nothing.
#[must_use]
pub fn is_odd_zero_width(c: char) -> bool {
    matches!(c, '\u{180E}' | '\u{200B}' | '\u{2060}'..='\u{2065}' | '\u{206A}'..='\u{206F}' | '\u{FEFF}')
        || matches!(c, '\u{115F}' | '\u{1160}' | '\u{3164}' | '\u{FFA0}')
}

/// Any of the above but line breaks.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    is_bidi_control(c) || is_tag(c) || is_odd_zero_width(c)
}

/// Whether the path of a file in a workspace may have it: paths are printed, with a line behind `:`, and are joined by `/`
/// alone.
#[must_use]
pub fn is_path_char(c: char) -> bool {
    !c.is_control() && !is_line_break(c) && !is_hidden(c) && !matches!(c, '\\' | ':' | char::REPLACEMENT_CHARACTER)
}

/// The bytes of the emoji flag of tags that `text` begins with: 🏴󠁧󠁢󠁥󠁮󠁧󠁿, 🏴󠁧󠁢󠁳󠁣󠁴󠁿 or 🏴󠁧󠁢󠁷󠁬󠁳󠁿.
#[must_use]
pub fn tag_flag(text: &str) -> Option<&str> {
    const FLAGS: [&str; 3] = [
        "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
        "\u{1F3F4}\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}",
        "\u{1F3F4}\u{E0067}\u{E0062}\u{E0077}\u{E006C}\u{E0073}\u{E007F}",
    ];
    FLAGS.iter().find(|flag| text.starts_with(**flag)).map(|flag| &text[..flag.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_scripts_and_emoji_need_is_not_hidden() {
        assert!(!"می\u{200c}خواهم क्\u{200d}ष 👩‍🚀❤\u{FE0F} \u{200F}שלום".chars().any(is_hidden));
        for c in ['\u{202E}', '\u{2066}', '\u{E0041}', '\u{200B}', '\u{FEFF}', '\u{2060}', '\u{3164}'] {
            assert!(is_hidden(c), "{c:?}");
        }
    }

    #[test]
    fn only_the_three_flags_may_have_tags() {
        assert_eq!(tag_flag("🏴󠁧󠁢󠁷󠁬󠁳󠁿!").map(str::len), Some(28));
        assert_eq!(tag_flag("\u{1F3F4}\u{E0049}\u{E0067}\u{E007F}"), None);
        assert_eq!(tag_flag("🏴"), None);
    }
}
