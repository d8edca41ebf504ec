//! `promptd render --explain --at` and `--find`: who said a part of the prompt.

use std::{fmt::Write as _, ops::Range, str::FromStr};

use promptd_core::{
    prompt::{Holder, Origin, OriginKind, Prompt, SectionReport, Span},
    render::text_messages,
    text::{shorten, thousands},
    workspace::MANIFEST,
};
use promptd_source::{FileSet, read_files};

use super::{
    Failure, counted,
    load::{Offline, WorkspaceArgument},
};

/// How many characters of a text are shown.
const SHOWN: usize = 100;
/// How many places of a text that is looked for are shown; the rest is counted.
const MAX_PLACES: usize = 20;
/// What joins the messages of the text format.
const BETWEEN: &str = "\n\n";

/// A place in the text that `promptd render` prints, 1-based.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct At {
    line: usize,
    /// In characters; absent: the whole line.
    column: Option<usize>,
}

impl FromStr for At {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse().ok().filter(|number| *number > 0);
        let (line, column) = text.split_once(':').map_or((text, None), |(line, column)| (line, Some(column)));
        let fault = || "must be LINE or LINE:COLUMN, both counted from 1, such as 12 or 12:5".to_owned();
        let column = column.map(|column| number(column).ok_or_else(fault)).transpose()?;
        Ok(Self { line: number(line).ok_or_else(fault)?, column })
    }
}

/// Who said what is at a place of the prompt's text.
pub(super) fn at(at: At, prompt: &Prompt<'_>, files: &Files<'_>) -> Result<String, Failure> {
    let text = Said::new(prompt);
    let lines: Vec<&str> = text.text.split('\n').collect();
    let Some(line) = lines.get(at.line - 1) else {
        let lines = lines.len() as u64;
        return Err(Failure::input(format!(
            "error: --at: the prompt has {} and no line {}; give one from 1 to {}",
            counted(lines, "line"),
            at.line,
            thousands(lines)
        )));
    };
    let start = lines[..at.line - 1].iter().map(|line| line.len() + 1).sum::<usize>();
    let range = match at.column {
        None => start..start + line.len(),
        Some(column) => {
            let Some((at_byte, c)) = line.char_indices().nth(column - 1) else {
                let columns = line.chars().count();
                let hint = if columns == 0 {
                    "is empty".to_owned()
                } else {
                    format!("has {}", counted(columns as u64, "character"))
                };
                return Err(Failure::input(format!(
                    "error: --at: line {} {hint} and no column {column}; leave the column out for the whole line",
                    at.line
                )));
            };
            start + at_byte..start + at_byte + c.len_utf8()
        }
    };
    Ok(text.tell(range, files))
}

/// Who said a text, wherever the prompt has it.
pub(super) fn find(wanted: &str, prompt: &Prompt<'_>, files: &Files<'_>) -> Result<String, Failure> {
    let text = Said::new(prompt);
    let mut places = text.text.match_indices(wanted).filter(|_| !wanted.is_empty());
    let mut out: String =
        places.by_ref().take(MAX_PLACES).map(|(at, found)| text.tell(at..at + found.len(), files)).collect();
    if out.is_empty() {
        return Err(Failure::input(
            "error: --find: the prompt does not have this text; it is compared exactly, with the text that `promptd render` \
             prints without --find, in which the conversation is not",
        ));
    }
    let more = places.count();
    if more > 0 {
        let _ = writeln!(out, "and {} more places", thousands(more as u64));
    }
    Ok(out)
}

/// The files of a workspace, for lines and columns.
pub(super) struct Files<'f> {
    pub(super) offline: &'f Offline,
    pub(super) argument: &'f WorkspaceArgument,
}

impl Files<'_> {
    /// A place in a file, as other messages name it: `harbor/AGENTS.md:3:1`.
    fn place(&self, path: &str, byte: u64) -> String {
        let (shown, file) = self.offline.file(self.argument, path);
        let contents = read_files(&FileSet::Paths(vec![file]));
        let bytes = contents.into_values().next().and_then(Result::ok);
        let before = bytes.as_deref().and_then(|bytes| bytes.get(..usize::try_from(byte).ok()?));
        let Some(before) = before else { return shown };
        let before = before.strip_prefix(b"\xef\xbb\xbf").unwrap_or(before);
        let before = String::from_utf8_lossy(before).replace("\r\n", "\n").replace('\r', "\n");
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("{shown}:{line}:{column}")
    }
}

/// The text that `promptd render` prints, and who said which bytes of it.
struct Said<'p> {
    text: String,
    /// In order, every byte once.
    parts: Vec<(Range<usize>, By<'p>)>,
}

/// Who said a part.
enum By<'p> {
    /// A section.
    Section(&'p SectionReport<'p>, &'p Span),
    /// The profile, between sections and messages.
    Separator,
    /// The caller's conversation, by the index of the message.
    Conversation(u32),
}

impl<'p> Said<'p> {
    fn new(prompt: &'p Prompt<'p>) -> Self {
        let mut said = Self { text: String::new(), parts: Vec::new() };
        for (index, message) in text_messages(prompt) {
            if !said.text.is_empty() {
                said.add(BETWEEN, By::Separator);
            }
            let content = &message.content;
            if let Some(origin) = message.origin {
                said.add(content, By::Conversation(origin.index));
                continue;
            }
            let mut end = 0;
            let is_here = |section: &&SectionReport<'_>| {
                section.position.as_ref().is_some_and(|position| position.holder == Holder::Message(index))
            };
            for section in prompt.sections.iter().filter(is_here) {
                for span in &section.spans {
                    let bytes = span.bytes.start as usize..span.bytes.end as usize;
                    said.add(&content[end..bytes.start], By::Separator);
                    end = bytes.end;
                    said.add(&content[bytes], By::Section(section, span));
                }
            }
            said.add(&content[end..], By::Separator);
        }
        said
    }

    fn add(&mut self, text: &str, by: By<'p>) {
        if !text.is_empty() {
            let start = self.text.len();
            self.text.push_str(text);
            self.parts.push((start..self.text.len(), by));
        }
    }

    /// A line for each part of a range: its place, what said it, and its text.
    fn tell(&self, range: Range<usize>, files: &Files<'_>) -> String {
        let mut out = String::new();
        for (part, by) in &self.parts {
            let (start, end) = (range.start.max(part.start), range.end.min(part.end));
            // An empty line is what ends it.
            let is_in = start < end || (range.is_empty() && part.contains(&range.start));
            if !is_in {
                continue;
            }
            let before = &self.text[..start];
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            let text = self.text[start..end.max(start)].chars().flat_map(char::escape_debug).collect::<String>();
            let text = shorten(&text, SHOWN).into_owned();
            let who = match by {
                By::Section(section, span) => {
                    let how = span.how.as_str();
                    format!("{}  {how}  {}", section.id, origin(span, start - part.start, files))
                }
                By::Separator => "the separator between sections, of the profile".to_owned(),
                By::Conversation(index) => {
                    format!("conversation  verbatim  turn.conversation.messages[{index}].content")
                }
            };
            let _ = writeln!(out, "{line}:{column}  {who}  \"{text}\"");
        }
        out
    }
}

/// What said the byte `within` a span.
fn origin(span: &Span, within: usize, files: &Files<'_>) -> String {
    let Origin { kind, name, profile, .. } = &*span.origin;
    let byte = span.source.start + if span.how.is_same() { within as u64 } else { 0 };
    let at = if span.source.is_empty() { String::new() } else { format!(", byte {}", thousands(byte)) };
    match kind {
        OriginKind::File => files.place(name, byte),
        OriginKind::Turn => format!("{name}{at}"),
        OriginKind::Input => format!("turn.{name}{at}"),
        OriginKind::Setting => {
            let file = span.origin.file.as_ref().map_or(MANIFEST, |file| &file.path);
            format!("{} `{name}`{at}", files.offline.file(files.argument, file).0)
        }
        OriginKind::Profile => format!("profile {profile} `{name}`"),
        OriginKind::Fact => format!("fact {name}"),
        OriginKind::Service => format!("promptd {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_from_one() {
        assert_eq!("12".parse(), Ok(At { line: 12, column: None }));
        assert_eq!("12:5".parse(), Ok(At { line: 12, column: Some(5) }));
        for wrong in ["", "0", "1:0", "1:", ":1", "x", "1:2:3", "-1"] {
            assert!(wrong.parse::<At>().is_err(), "{wrong}");
        }
    }
}
