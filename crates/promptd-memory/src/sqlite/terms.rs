//! What of a message is searched, as terms: all that people and models say, and the beginning of what tools do.
//!
//! The search index is not told again what it was told, only that it goes, and for that it must be told the same: what is here
//! changes with a migration alone.

use std::mem;

use promptd_core::turn::Role;
use unicode_normalization::UnicodeNormalization as _;

/// The most characters of a tool's result that are searched.
const MAX_TOOL_CHARS: usize = 200;
/// The most characters of a term: what follows in a longer one is searched no more.
const MAX_TERM_CHARS: usize = 64;

/// What of a message's text is searched.
pub(super) fn spoken(role: Role, content: &str) -> &str {
    let end = if role == Role::Tool { content.char_indices().nth(MAX_TOOL_CHARS) } else { None };
    end.map_or(content, |(end, _)| &content[..end])
}

/// The terms of a text: its words, in lower case and without accents; and in scripts without spaces between words each character,
/// and each two next to each other.
pub(super) fn terms(text: &str) -> Vec<String> {
    let (mut terms, mut word, mut before) = (Vec::new(), String::new(), None);
    for c in folded(text).chars() {
        let (is_alone, is_part) = (is_word(c), c.is_alphanumeric());
        if (is_alone || !is_part) && !word.is_empty() {
            terms.push(cut(mem::take(&mut word)));
        }
        if is_alone {
            terms.extend(before.map(|before| String::from_iter([before, c])));
            terms.push(c.into());
        } else if is_part {
            word.push(c);
        }
        before = is_alone.then_some(c);
    }
    if !word.is_empty() {
        terms.push(cut(word));
    }
    terms
}

/// The terms that a query is looked for by, each once, at most so many: of characters next to each other the pairs alone.
pub(super) fn of_query(query: &str, most: usize) -> Vec<String> {
    let terms = terms(query);
    let is_single = |term: &str| term.chars().count() == 1 && term.starts_with(is_word);
    let mut chosen: Vec<String> = Vec::new();
    for (at, term) in terms.iter().enumerate() {
        let is_in_pair =
            |pair: Option<&String>| pair.is_some_and(|pair| !is_single(pair) && pair.contains(term.as_str()));
        let neighbours = [at.checked_sub(1).and_then(|at| terms.get(at)), terms.get(at + 1)];
        let is_paired = is_single(term) && neighbours.into_iter().any(is_in_pair);
        if !is_paired && !chosen.contains(term) && chosen.len() < most {
            chosen.push(term.clone());
        }
    }
    chosen
}

/// In lower case and without accents.
fn folded(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let is_accent = |c: &char| ('\u{300}'..='\u{36f}').contains(c);
    text.nfd().filter(|c| !is_accent(c)).nfc().collect::<String>().to_lowercase()
}

fn cut(mut word: String) -> String {
    if let Some((end, _)) = word.char_indices().nth(MAX_TERM_CHARS) {
        word.truncate(end);
    }
    word
}

/// Han, kana, and the scripts of South-East Asia.
fn is_word(c: char) -> bool {
    matches!(c,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
        | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_searched_stays_as_it_is() {
        for (text, expected) in [
            ("Grüße, CAFÉ 42!", vec!["gruße", "cafe", "42"]),
            ("去北京 now", vec!["去", "去北", "北", "北京", "京", "now"]),
            ("ok去ok", vec!["ok", "去", "ok"]),
            ("x_y\0z · \u{301}", vec!["x", "y", "z"]),
            ("한국어", vec!["한국어"]),
            ("", vec![]),
        ] {
            assert_eq!(terms(text), expected, "{text}");
        }
        assert_eq!(terms(&"ä".repeat(300)), ["a".repeat(64)]);
        assert_eq!(spoken(Role::Tool, &"ä".repeat(300)), "ä".repeat(200));
        assert_eq!(spoken(Role::User, &"ä".repeat(300)), "ä".repeat(300));
    }

    #[test]
    fn a_query_is_looked_for_by_a_few_terms() {
        for (query, expected) in [
            ("", vec![]),
            (" \"*() -:", vec![]),
            ("key NOT \"door\"", vec!["key", "not", "door"]),
            ("a a b", vec!["a", "b"]),
            ("北京", vec!["北京"]),
            ("北 北京人", vec!["北", "北京", "京人"]),
            ("a b c d", vec!["a", "b", "c"]),
        ] {
            assert_eq!(of_query(query, 3), expected, "{query}");
        }
    }
}
