//! The classes of characters that the encodings distinguish.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, Hir, HirKind};

/// `Lu`, `Lt`.
pub(super) const UPPER: u8 = 1;
/// `Ll`.
pub(super) const LOWER: u8 = 1 << 1;
/// `Lm`, `Lo`: letters that have no case.
pub(super) const CASELESS: u8 = 1 << 2;
/// `M`: what joins the character before it.
pub(super) const MARK: u8 = 1 << 3;
/// `N`.
pub(super) const NUMBER: u8 = 1 << 4;
/// White space other than [`NEWLINE`].
pub(super) const SPACE: u8 = 1 << 5;
/// `\r`, `\n`.
pub(super) const NEWLINE: u8 = 1 << 6;
/// Everything else.
pub(super) const OTHER: u8 = 1 << 7;
/// Every letter.
pub(super) const LETTER: u8 = UPPER | LOWER | CASELESS;
/// All white space.
pub(super) const WHITE: u8 = SPACE | NEWLINE;

/// The class of the character at a place, and where it ends; `None`: the text ends there.
#[inline]
pub(super) fn next(text: &str, at: usize) -> Option<(u8, usize)> {
    let class = ASCII[usize::from(*text.as_bytes().get(at)?)];
    if class != 0 {
        return Some((class, at + 1));
    }
    let c = text[at..].chars().next()?;
    Some((CLASSES[c as usize], at + c.len_utf8()))
}

/// The class of the character that is one byte at a place; 0: it is of several bytes. The text's end is not a letter.
#[inline]
pub(super) fn of_byte(text: &str, at: usize) -> u8 {
    text.as_bytes().get(at).map_or(NEWLINE, |&byte| ASCII[usize::from(byte)])
}

/// By byte; 0: it is a part of a longer character.
const ASCII: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        #[expect(clippy::cast_possible_truncation, reason = "below 128")]
        let c = byte as u8;
        classes[byte] = match c {
            b'A'..=b'Z' => UPPER,
            b'a'..=b'z' => LOWER,
            b'0'..=b'9' => NUMBER,
            b'\r' | b'\n' => NEWLINE,
            b' ' | b'\t' | 0x0b | 0x0c => SPACE,
            _ => OTHER,
        };
        byte += 1;
    }
    classes
};

/// Makes the table, so that no later call waits for it.
pub(super) fn load() {
    LazyLock::force(&CLASSES);
}

/// By code point. The tables are those of the regular expressions that define the encodings.
static CLASSES: LazyLock<Box<[u8]>> = LazyLock::new(|| {
    let mut classes = vec![OTHER; char::MAX as usize + 1];
    for (pattern, class) in [
        (r"[\p{Lu}\p{Lt}]", UPPER),
        (r"\p{Ll}", LOWER),
        (r"[\p{Lm}\p{Lo}]", CASELESS),
        (r"\p{M}", MARK),
        (r"\p{N}", NUMBER),
        (r"\s", SPACE),
        (r"[\r\n]", NEWLINE),
    ] {
        let Ok(HirKind::Class(Class::Unicode(ranges))) = regex_syntax::parse(pattern).map(Hir::into_kind) else {
            unreachable!("`{pattern}` is a class of characters")
        };
        for range in ranges.ranges() {
            classes[range.start() as usize..=range.end() as usize].fill(class);
        }
    }
    classes.into()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_is_known() {
        let cases = [
            ("A", UPPER),
            ("É", UPPER),
            ("ǅ", UPPER),
            ("z", LOWER),
            ("ß", LOWER),
            ("界", CASELESS),
            ("ʰ", CASELESS),
            ("\u{301}", MARK),
            ("7", NUMBER),
            ("½", NUMBER),
            (" ", SPACE),
            ("\u{3000}", SPACE),
            ("\r", NEWLINE),
            ("\u{2028}", SPACE),
            ("_", OTHER),
            ("…", OTHER),
            ("🙂", OTHER),
        ];
        for (text, class) in cases {
            assert_eq!(next(text, 0), Some((class, text.len())), "{text:?}");
        }
        assert_eq!(next("", 0), None);
        for c in '\0'..='\x7f' {
            assert_eq!(ASCII[c as usize], CLASSES[c as usize], "{c:?}");
        }
    }
}
