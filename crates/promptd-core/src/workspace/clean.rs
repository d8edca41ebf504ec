//! From a file's bytes to the text that prompts carry.
//!
//! Changed are, and nothing else: byte order marks at the beginning, CRLF and lone CR, bytes that are not UTF-8,
//! UTF-16, control characters but tab and LF, white space at the end and blank lines at the beginning.

use crate::{
    finding::{Code, Finding, Place},
    text::clamped,
};

/// A byte order mark.
const BOM: char = '\u{feff}';

/// A cleaned text and what was changed to get it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cleaned {
    pub(super) text: String,
    /// The line of the file, 1-based, on which `text` begins.
    pub(super) first_line: u32,
    /// What the cleaning changed.
    pub(super) findings: Vec<Finding>,
}

/// Decodes and cleans a file. `partial`: the bytes are only the file's head, and may end within a character.
pub(super) fn clean(bytes: &[u8], partial: bool, path: &str) -> Cleaned {
    match std::str::from_utf8(bytes) {
        // Nearly every file.
        Ok(text) if !text.starts_with(BOM) && !may_have_controls(bytes) => {
            Cleaned { text: trim(text).to_owned(), first_line: first_line(text), findings: Vec::new() }
        }
        _ => clean_by_char(bytes, partial, path),
    }
}

fn clean_by_char(bytes: &[u8], partial: bool, path: &str) -> Cleaned {
    let mut findings = Vec::new();
    let text = decode(bytes, partial, path, &mut findings);
    let mut cleaned = clean_text(&text, path);
    findings.append(&mut cleaned.findings);
    Cleaned { findings, ..cleaned }
}

/// Cleans what is text already.
pub(super) fn clean_text(text: &str, path: &str) -> Cleaned {
    let mut findings = Vec::new();
    if text.contains('\r') {
        findings.push(Finding::new(Code::LineEndsChanged, Place::file(path), "line ends were changed to LF"));
    }
    let mut kept = String::with_capacity(text.len());
    let mut dropped = Dropped::default();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' => kept.push('\n'),
            '\t' | '\n' => kept.push(c),
            _ if c.is_control() => dropped.add(c, &kept),
            _ => kept.push(c),
        }
    }
    findings.extend(dropped.into_finding(path));
    Cleaned { text: trim(&kept).to_owned(), first_line: first_line(&kept), findings }
}

/// The line of a text on which what [`trim`] leaves of it begins.
fn first_line(text: &str) -> u32 {
    line_of(text, text.trim_end().len() - trim(text).len())
}

/// Whether UTF-8 may have control characters but tab and LF: none has another first byte than these.
fn may_have_controls(text: &[u8]) -> bool {
    const BEFORE_C1: u8 = 0xc2;
    let may_be = |byte: u8| (byte < b' ' && byte != b'\t' && byte != b'\n') || byte == 0x7f || byte == BEFORE_C1;
    // All of it, not up to the first: that is many bytes at once.
    text.iter().fold(false, |found, byte| found | may_be(*byte))
}

/// Without byte order marks and blank lines at the beginning, where the first line's indentation stays, and without
/// white space at the end.
pub(super) fn trim(text: &str) -> &str {
    let mut text = text.trim_end();
    loop {
        let rest = text.trim_start_matches(BOM);
        let blank = rest.len() - rest.trim_start().len();
        let rest = rest[..blank].rfind('\n').map_or(rest, |end| &rest[end + 1..]);
        if rest.len() == text.len() {
            return text;
        }
        text = rest;
    }
}

/// The 1-based line of the byte `offset`.
pub(super) fn line_of(text: &str, offset: usize) -> u32 {
    clamped(text.get(..offset).unwrap_or_default().matches('\n').count()).saturating_add(1)
}

/// The control characters dropped: how many, and the first with its place.
#[derive(Default)]
struct Dropped {
    count: usize,
    first: Option<(char, u32, u32)>,
}

impl Dropped {
    fn add(&mut self, c: char, before: &str) {
        self.count += 1;
        self.first.get_or_insert_with(|| {
            let line = before.rsplit('\n').next().unwrap_or_default();
            let column = clamped(line.chars().count()).saturating_add(1);
            (c, line_of(before, before.len()), column)
        });
    }

    fn into_finding(self, path: &str) -> Option<Finding> {
        let (c, line, column) = self.first?;
        let message = match self.count {
            1 => format!("the control character U+{:04X} was dropped", u32::from(c)),
            n => format!("{n} control characters were dropped, the first is U+{:04X}", u32::from(c)),
        };
        Some(Finding::new(Code::ControlCharacters, Place::at(path, line, column), message))
    }
}

fn decode(bytes: &[u8], partial: bool, path: &str, findings: &mut Vec<Finding>) -> String {
    match bytes {
        [0xff, 0xfe, rest @ ..] => decode_utf16(rest, u16::from_le_bytes, partial, path, findings),
        [0xfe, 0xff, rest @ ..] => decode_utf16(rest, u16::from_be_bytes, partial, path, findings),
        [0xef, 0xbb, 0xbf, rest @ ..] => {
            findings.push(Finding::new(Code::BomDropped, Place::file(path), "a byte order mark was dropped"));
            decode_utf8(rest, partial, path, findings)
        }
        _ => decode_utf8(bytes, partial, path, findings),
    }
}

fn decode_utf8(bytes: &[u8], partial: bool, path: &str, findings: &mut Vec<Finding>) -> String {
    let mut text = String::with_capacity(bytes.len());
    let (mut count, mut first_line) = (0_usize, 0);
    let mut chunks = bytes.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        text.push_str(chunk.valid());
        let cut_by_limit = partial && chunks.peek().is_none() && is_cut_char(chunk.invalid());
        if chunk.invalid().is_empty() || cut_by_limit {
            continue;
        }
        if count == 0 {
            first_line = first_line_number(&text);
        }
        count += 1;
        text.push(char::REPLACEMENT_CHARACTER);
    }
    if count > 0 {
        let message =
            format!("{count} {} not valid UTF-8 and became U+FFFD", if count == 1 { "place is" } else { "places are" });
        findings.push(Finding::new(Code::InvalidUtf8, Place::at(path, first_line, 0), message));
    }
    text
}

/// Whether the bytes are the beginning of a character whose end is missing, rather than plainly wrong.
fn is_cut_char(bytes: &[u8]) -> bool {
    matches!(std::str::from_utf8(bytes), Err(e) if e.valid_up_to() == 0 && e.error_len().is_none())
}

/// The line that comes next to `text`, CR and CRLF counted as line ends.
fn first_line_number(text: &str) -> u32 {
    let ends = text.matches('\n').count() + text.matches('\r').count() - text.matches("\r\n").count();
    clamped(ends).saturating_add(1)
}

fn decode_utf16(
    bytes: &[u8],
    unit: fn([u8; 2]) -> u16,
    partial: bool,
    path: &str,
    findings: &mut Vec<Finding>,
) -> String {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let mut units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
    if partial && units.last().is_some_and(|last| (0xd800..0xdc00).contains(last)) {
        units.pop();
    }
    let mut text: String = char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    if !rest.is_empty() && !partial {
        text.push(char::REPLACEMENT_CHARACTER);
    }
    findings.push(Finding::new(Code::Utf16Decoded, Place::file(path), "the file is UTF-16 and was decoded"));
    if text.contains(char::REPLACEMENT_CHARACTER) {
        let message = "parts are not valid UTF-16 and became U+FFFD";
        findings.push(Finding::new(Code::InvalidUtf8, Place::file(path), message));
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::workspace::testing::codes;

    #[test]
    fn only_what_must_change_changes() {
        let cases: [(&[u8], &str, &[&str]); 16] = [
            (b"plain *text* {{x}} \\n &amp;\n", "plain *text* {{x}} \\n &amp;", &[]),
            (b"\xef\xbb\xbf# Rules", "# Rules", &["BOM_DROPPED"]),
            ("a\u{feff}b".as_bytes(), "a\u{feff}b", &[]),
            (b"a\r\nb\rc\n\r\nd", "a\nb\nc\n\nd", &["LINE_ENDS_CHANGED"]),
            (b"say \x93hi\x94\nbye", "say \u{fffd}hi\u{fffd}\nbye", &["INVALID_UTF8"]),
            (b"\xff\xfea\0\n\0b\0", "a\nb", &["UTF16_DECODED"]),
            (b"\xfe\xff\0a\xd8\x3d\xde\0", "a\u{1f600}", &["UTF16_DECODED"]),
            (b"\xff\xfea\0b", "a\u{fffd}", &["UTF16_DECODED", "INVALID_UTF8"]),
            (b"\xff\xfe\0\xd8a\0", "\u{fffd}a", &["UTF16_DECODED", "INVALID_UTF8"]),
            (b"a\0b\x1b[31m\tc\x7f", "ab[31m\tc", &["CONTROL_CHARACTERS"]),
            ("a\u{85}b".as_bytes(), "ab", &["CONTROL_CHARACTERS"]),
            (b"\n \t\n  indented\nend\n\n \n", "  indented\nend", &[]),
            (b" \n\t\n", "", &[]),
            (b"", "", &[]),
            (b"\xf0\x9f\x98", "\u{fffd}", &["INVALID_UTF8"]),
            ("\n\u{feff}\0\u{feff}\n x".as_bytes(), " x", &["CONTROL_CHARACTERS"]),
        ];
        for (bytes, text, found) in cases {
            let cleaned = clean(bytes, false, "f");
            assert_eq!((&*cleaned.text, codes(&cleaned.findings).as_slice()), (text, found), "{bytes:?}");
        }
    }

    #[test]
    fn a_character_cut_by_the_read_limit_is_no_fault() {
        for (bytes, text) in [
            (&b"ab\xf0\x9f\x98"[..], "ab"),
            (b"ab\xe7\x95", "ab"),
            (b"\xff\xfea\0b", "a"),
            (b"\xff\xfea\0\x3d\xd8", "a"),
        ] {
            let cleaned = clean(bytes, true, "f");
            assert_eq!(cleaned.text, text);
            assert!(!codes(&cleaned.findings).contains(&"INVALID_UTF8"), "{bytes:?}");
        }
        assert_eq!(clean(b"ab\xff", true, "f").text, "ab\u{fffd}", "wrong whatever follows");
    }

    #[test]
    fn findings_name_the_place_in_the_file() {
        let place = |bytes: &[u8]| clean(bytes, false, "f").findings[0].place.to_string();
        assert_eq!(place(b"\r\n\r\rab\xff"), "f:4");
        assert_eq!(place(b"\n\nab\0c"), "f:3:3");
        assert_eq!(clean(b"\n\n \nx", false, "f").first_line, 4);
    }

    proptest! {
        #[test]
        fn cleaning_twice_is_cleaning_once(bytes: Vec<u8>, text in "(\u{feff}|\r|\n| |\t|\0|\u{85}|é|x|\u{2028}){0,12}") {
            for bytes in [bytes, text.into_bytes()] {
                for partial in [false, true] {
                    prop_assert_eq!(clean(&bytes, partial, "f"), clean_by_char(&bytes, partial, "f"));
                    let once = clean(&bytes, partial, "f").text;
                    let twice = clean(once.as_bytes(), false, "f");
                    prop_assert_eq!(&twice.text, &once);
                    prop_assert!(twice.findings.is_empty());
                }
            }
        }
    }
}
