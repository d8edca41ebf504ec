//! Cutting a tool result that is longer than the profile carries.

use crate::{
    text::{measure::utf16, thousands},
    turn::{ConversationMessage, Role},
};

/// The head of a tool result, and the note that says so.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shortened {
    /// Head and note.
    pub text: String,
    /// Where the head ends.
    pub head: usize,
    /// Why, for a person.
    pub reason: String,
}

/// The head of a message that is a tool's result and too long; `None`: it is carried whole.
pub(super) fn shortened(message: &ConversationMessage, limit: u64) -> Option<Shortened> {
    if message.role == Role::Tool { shorten(&message.content, limit) } else { None }
}

/// The first `limit` UTF-16 units of a longer text, with a note; `None`: the text fits, or `limit` is 0, which means no limit.
/// A character that would be halved is left out.
fn shorten(text: &str, limit: u64) -> Option<Shortened> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    // No text has more UTF-16 units than bytes.
    if limit == 0 || text.len() <= limit {
        return None;
    }
    let whole = utf16(text);
    if whole <= limit {
        return None;
    }
    let mut units = 0;
    let head = text.char_indices().find(|(_, c)| {
        units += c.len_utf16();
        units > limit
    });
    let head = head.map_or(text.len(), |(at, _)| at);
    let note = format!("\n\n[truncated from {whole} to {limit} chars — use recall tool to search full content]");
    let reason = format!(
        "The first {} of {} UTF-16 units of the tool's result are carried.",
        thousands(limit as u64),
        thousands(whole as u64)
    );
    Some(Shortened { text: format!("{}{note}", &text[..head]), head, reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_longer_is_cut() {
        for (text, limit) in [("abcd", 4), ("", 1), ("abcd", 0), ("ab😀", 4), ("abcd", u64::MAX)] {
            assert_eq!(shorten(text, limit), None, "{text} {limit}");
        }
    }

    #[test]
    fn the_head_is_counted_in_utf16_units_and_halves_no_character() {
        for (text, limit, head, whole) in [
            ("abcde", 4, "abcd", 5),
            ("é固xyz", 2, "é固", 5),
            ("a😀b", 2, "a", 4),
            ("a😀b", 3, "a😀", 4),
            ("😀", 1, "", 2),
        ] {
            let cut = shorten(text, limit).unwrap();
            assert_eq!(&cut.text[..cut.head], head, "{text} {limit}");
            let note =
                format!("\n\n[truncated from {whole} to {limit} chars — use recall tool to search full content]");
            assert_eq!(&cut.text[cut.head..], note);
        }
    }
}
