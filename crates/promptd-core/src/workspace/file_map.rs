//! Which bytes of a file a cleaned text came from.

use std::ops::Range;

use crate::text::clamped;

/// The most runs that are kept of one file. A file that was cleaned in more places is mapped as a whole.
pub const MAX_RUNS: usize = 4_096;

/// Where the bytes of a text are in the file that it was cleaned from: runs of bytes that are the same in both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMap {
    runs: Box<[Run]>,
    /// How many bytes the file had.
    file: u32,
}

/// Bytes that are the same in the text and in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    text: u32,
    file: u32,
    len: u32,
}

/// Neighbouring bytes of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapped {
    /// In the text.
    pub text: Range<usize>,
    /// In the file.
    pub file: Range<u64>,
    /// Whether they are the same.
    pub same: bool,
}

impl FileMap {
    /// Maps a text to the bytes that it was cleaned from.
    ///
    /// From the end to the beginning, since what is taken away at the end is never what a text ends with. Every run is compared,
    /// so that it holds the same bytes whatever the cleaning did.
    #[must_use]
    pub fn new(file: &[u8], text: &str) -> Self {
        let whole = clamped(file.len());
        if let Some(at) = std::str::from_utf8(file).ok().and_then(|file| whole_text(file, text)) {
            let run = Run { text: 0, file: clamped(at), len: clamped(text.len()) };
            return Self { runs: [run].into(), file: whole };
        }
        let is_utf16 = file.starts_with(&[0xff, 0xfe]) || file.starts_with(&[0xfe, 0xff]);
        let runs = if is_utf16 { Some(Vec::new()) } else { Runs::new(text).read(file) };
        Self { runs: runs.unwrap_or_default().into(), file: whole }
    }

    /// Where the bytes of a part of the text came from, in order: every byte once.
    #[must_use]
    pub fn pieces(&self, range: Range<usize>) -> Vec<Mapped> {
        let mut pieces = Vec::new();
        let (mut at, mut file) = (range.start, 0);
        for run in &self.runs {
            let (text, len) = (run.text as usize, run.len as usize);
            let (start, end) = (range.start.max(text), range.end.min(text + len));
            if start < end {
                let begin = u64::from(run.file) + (start - text) as u64;
                if at < start {
                    pieces.push(Mapped { text: at..start, file: file..u64::from(run.file), same: false });
                }
                pieces.push(Mapped { text: start..end, file: begin..begin + (end - start) as u64, same: true });
                at = end;
            }
            if text + len <= at.max(range.start) {
                file = u64::from(run.file) + u64::from(run.len);
            }
        }
        if at < range.end {
            let next = self.runs.iter().find(|run| run.text as usize >= range.end);
            let end = next.map_or(u64::from(self.file), |run| u64::from(run.file));
            pieces.push(Mapped { text: at..range.end, file: file..end, same: false });
        }
        pieces
    }

    /// Where what the text has at a byte begins in the file.
    #[must_use]
    pub fn start(&self, at: usize) -> u64 {
        let run = self.runs.iter().find(|run| at < (run.text + run.len) as usize);
        match run {
            Some(run) => u64::from(run.file) + at.saturating_sub(run.text as usize) as u64,
            None => self.runs.last().map_or(0, |run| u64::from(run.file) + u64::from(run.len)),
        }
    }

    /// The end of the file, as far as it was read.
    #[must_use]
    pub fn end(&self) -> u64 {
        u64::from(self.file)
    }
}

/// Where a file has the text as a whole, if nothing was taken away but white space around it.
pub(super) fn whole_text(file: &str, text: &str) -> Option<usize> {
    let at = file.trim_end().len().checked_sub(text.len())?;
    (file.get(at..at + text.len())? == text).then_some(at)
}

/// The runs found so far, from the end.
struct Runs<'t> {
    /// The part of the text that is not found yet.
    rest: &'t str,
    found: Vec<Run>,
}

impl<'t> Runs<'t> {
    fn new(text: &'t str) -> Self {
        Self { rest: text, found: Vec::new() }
    }

    /// `None`: there are more than [`MAX_RUNS`].
    fn read(mut self, file: &[u8]) -> Option<Vec<Run>> {
        let mut end = file.len();
        let chunks: Vec<_> = file.utf8_chunks().collect();
        let mut before_line_feed = false;
        for chunk in chunks.iter().rev() {
            if !chunk.invalid().is_empty() {
                self.take(char::REPLACEMENT_CHARACTER);
                end -= chunk.invalid().len();
                before_line_feed = false;
            }
            for (at, c) in chunk.valid().char_indices().rev() {
                if self.rest.is_empty() || self.found.len() > MAX_RUNS {
                    break;
                }
                let after_return = c == '\n' && chunk.valid()[..at].ends_with('\r');
                match c {
                    '\r' if !before_line_feed => drop(self.take('\n')),
                    c if after_return => drop(self.take(c)),
                    c => {
                        if self.take(c) {
                            self.same(end - chunk.valid().len() + at, c.len_utf8());
                        }
                    }
                }
                before_line_feed = c == '\n';
            }
            end -= chunk.valid().len();
        }
        self.found.reverse();
        (self.found.len() <= MAX_RUNS).then_some(self.found)
    }

    /// Whether the text ends with the character; takes it away.
    fn take(&mut self, c: char) -> bool {
        let Some(rest) = self.rest.strip_suffix(c) else { return false };
        self.rest = rest;
        true
    }

    /// The bytes at the end of what was taken are the same as those of the file at `file`.
    fn same(&mut self, file: usize, len: usize) {
        let (text, file, len) = (clamped(self.rest.len()), clamped(file), clamped(len));
        match self.found.last_mut().filter(|run| run.text == text + len && run.file == file + len) {
            Some(run) => *run = Run { text, file, len: run.len + len },
            None => self.found.push(Run { text, file, len }),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::workspace::clean::clean;

    /// The pieces of the whole text: `file bytes` where they are the same, `start..end` where not.
    fn shown(file: &[u8]) -> String {
        let text = clean(file, false, "f").text;
        let piece = |piece: Mapped| {
            if piece.same {
                format!("{:?}@{}", &text[piece.text], piece.file.start)
            } else {
                format!("{:?}<{:?}", &text[piece.text], piece.file)
            }
        };
        FileMap::new(file, &text).pieces(0..text.len()).into_iter().map(piece).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn finds_the_bytes_of_the_file() {
        for (file, pieces) in [
            (&b"plain\n"[..], "\"plain\"@0"),
            (b"\n \n  indented\nend\n\n", "\"  indented\\nend\"@3"),
            (b"\xef\xbb\xbf# Rules", "\"# Rules\"@3"),
            (b"a\r\nb\rc", "\"a\"@0 \"\\n\"<1..3 \"b\"@3 \"\\n\"<4..5 \"c\"@5"),
            (b"a\r\n\r\nb", "\"a\"@0 \"\\n\\n\"<1..5 \"b\"@5"),
            (b"a\r\r\n\nb", "\"a\"@0 \"\\n\\n\"<1..4 \"\\nb\"@4"),
            (b"say \x93hi\x94!", "\"say \"@0 \"\u{fffd}\"<4..5 \"hi\"@5 \"\u{fffd}\"<7..8 \"!\"@8"),
            (b"a\0b\x1b[31mc", "\"a\"@0 \"b\"@2 \"[31mc\"@4"),
            (b"\xff\xfea\0b\0", "\"ab\"<0..6"),
            (b"", ""),
        ] {
            assert_eq!(shown(file), pieces, "{file:?}");
        }
    }

    #[test]
    fn a_file_that_is_changed_everywhere_is_mapped_as_a_whole() {
        let file = "a\0".repeat(MAX_RUNS + 1);
        let text = clean(file.as_bytes(), false, "f").text;
        let pieces = FileMap::new(file.as_bytes(), &text).pieces(0..text.len());
        assert_eq!(pieces, [Mapped { text: 0..text.len(), file: 0..file.len() as u64, same: false }]);
    }

    proptest! {
        #[test]
        fn every_byte_is_mapped_and_what_is_the_same_is(
            bytes: Vec<u8>, text in "(\u{feff}|\r|\n| |\t|\0|\u{85}|\u{fffd}|é|x|\u{2028}){0,16}", part in (0_usize..20, 0_usize..20),
        ) {
            for file in [bytes, text.clone().into_bytes(), text.encode_utf16().flat_map(u16::to_le_bytes).collect()] {
                let text = clean(&file, false, "f").text;
                let map = FileMap::new(&file, &text);
                let part = part.0.min(text.len())..part.1.min(text.len());
                for range in [0..text.len(), part].into_iter().filter(|r| r.start <= r.end) {
                    let (mut at, mut last) = (range.start, 0);
                    for piece in map.pieces(range.clone()) {
                        let (start, end) = (usize::try_from(piece.file.start).unwrap(), usize::try_from(piece.file.end).unwrap());
                        prop_assert_eq!(piece.text.start, at);
                        prop_assert!(start >= last && start <= end && end <= file.len());
                        if piece.same {
                            prop_assert_eq!(&text.as_bytes()[piece.text.clone()], &file[start..end]);
                        }
                        (at, last) = (piece.text.end, end);
                    }
                    prop_assert_eq!(at, range.end);
                }
            }
        }
    }
}
