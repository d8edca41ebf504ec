//! Action tags in text that the model only reads: made harmless, and still readable.

use std::borrow::Cow;

/// What breaks a tag: a zero-width space, which nobody sees.
const BREAK: char = '\u{200B}';
/// The mark of a block of search results, which is not an action and has no colon after its name.
const RESULTS: &str = "[SEARCH_RESULTS";

/// Puts a zero-width space into whatever begins like an action tag: before the colon of `[NAME:`, of upper-case letters,
/// digits and `_`, and after `[SEARCH_RESULTS`.
#[must_use]
pub fn defuse(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut kept = 0;
    for (open, _) in text.match_indices('[') {
        let rest = &text[open + 1..];
        let name =
            rest.find(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')).unwrap_or(rest.len());
        let is_tag = rest.starts_with(|c: char| c.is_ascii_uppercase()) && rest[name..].starts_with(':');
        let end = if is_tag {
            open + 1 + name
        } else if text[open..].starts_with(RESULTS) {
            open + RESULTS.len()
        } else {
            continue;
        };
        out.push_str(&text[kept..end]);
        out.push(BREAK);
        kept = end;
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[kept..]);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_broken_and_nothing_else() {
        for (text, defused) in [
            ("[WEB_SEARCH:{\"query\":\"x\"}]", "[WEB_SEARCH\u{200B}:{\"query\":\"x\"}]"),
            ("a [SEARCH_RESULTS for \"b\"]", "a [SEARCH_RESULTS\u{200B} for \"b\"]"),
            ("[SEARCH_RESULTS: x]", "[SEARCH_RESULTS\u{200B}: x]"),
            ("[[REMINDER:{}][X:", "[[REMINDER\u{200B}:{}][X\u{200B}:"),
        ] {
            assert_eq!(defuse(text), defused, "{text}");
        }
        for text in ["", "[1] a", "[link](b)", "[Note: a]", "[_A:", "[A", "WEB_SEARCH:", "[é:"] {
            assert!(matches!(defuse(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }
}
