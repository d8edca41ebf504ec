//! What of a message is searched: all that people and models say, and the beginning of what tools do.
//!
//! The search index is not told again what it was told, only that it goes, and for that it must be told the same: what is here
//! changes with a migration alone.

use promptd_core::turn::Role;

/// The most characters of a tool's result that are searched.
const MAX_TOOL_CHARS: usize = 200;

/// The text of a message for the index. Characters of scripts without spaces between words become words of their own.
pub(super) fn spoken(role: Role, content: &str) -> String {
    let most = if role == Role::Tool { MAX_TOOL_CHARS } else { usize::MAX };
    let mut text = String::with_capacity(content.len().min(most.saturating_mul(4)));
    for c in content.chars().take(most) {
        if is_word(c) {
            text.extend([' ', c, ' ']);
        } else {
            text.push(c);
        }
    }
    text
}

/// A search for some of the words of a query; `None`: it has none. Every word is quoted, so that nothing in it is an operator.
pub(super) fn search(query: &str, most: usize) -> Option<String> {
    let mut words: Vec<String> = Vec::new();
    for word in query.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        // A run of such characters is found where they stand together.
        let word = format!("\"{}\"", spoken(Role::User, word).trim());
        if !words.contains(&word) {
            words.push(word);
        }
        if words.len() == most {
            break;
        }
    }
    (!words.is_empty()).then(|| words.join(" OR "))
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
        assert_eq!(spoken(Role::User, "Grüße, 42!"), "Grüße, 42!");
        assert_eq!(spoken(Role::Assistant, "去北京 now"), " 去  北  京  now");
        assert_eq!(spoken(Role::Tool, &"ä".repeat(300)), "ä".repeat(200));
    }

    #[test]
    fn a_query_has_words_and_no_operators() {
        for (query, expected) in [
            ("", None),
            (" \"*() -:", None),
            ("key NOT \"door\"", Some("\"key\" OR \"NOT\" OR \"door\"")),
            ("a a b", Some("\"a\" OR \"b\"")),
            ("北京", Some("\"北  京\"")),
            ("a b c d", Some("\"a\" OR \"b\" OR \"c\"")),
        ] {
            assert_eq!(search(query, 3).as_deref(), expected, "{query}");
        }
    }
}
