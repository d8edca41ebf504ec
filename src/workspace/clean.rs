//! From a file's bytes to the text that prompts carry.
//!
//! Changed are, and nothing else: byte order marks at the beginning, CRLF and lone CR, bytes that are not UTF-8,
//! UTF-16, control characters but tab and LF, white space at the end and blank lines at the beginning.

use crate::finding::{Code, Finding, Place};

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
    let start = kept.len() - trim_start(&kept).len();
    let first_line = line_of(&kept, start);
    kept.truncate(kept.trim_end().len());
    let text = kept.split_off(start.min(kept.len()));
    Cleaned { text, first_line, findings }
}

/// Without byte order marks and blank lines at the beginning; the first line's indentation stays.
fn trim_start(mut text: &str) -> &str {
    loop {
        let rest = text.trim_start_matches('\u{feff}');
        let blank = rest.len() - rest.trim_start().len();
        let rest = rest[..blank].rfind('\n').map_or(rest, |end| &rest[end + 1..]);
        if rest.len() == text.len() {
            return text;
        }
        text = rest;
    }
}

/// The 1-based line that the byte `offset` stands on.
pub(super) fn line_of(text: &str, offset: usize) -> u32 {
    let before = text.as_bytes().get(..offset).unwrap_or_default();
    u32::try_from(before.iter().filter(|b| **b == b'\n').count()).unwrap_or(u32::MAX).saturating_add(1)
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
            let column = u32::try_from(line.chars().count()).unwrap_or(u32::MAX).saturating_add(1);
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
    u32::try_from(ends).unwrap_or(u32::MAX).saturating_add(1)
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
