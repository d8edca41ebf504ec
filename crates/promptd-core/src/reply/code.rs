//! Code spans and fences of Markdown, in which nothing is an action.

use rustc_hash::FxHashMap;

/// How far before a fence its line may begin: `> `, list marks and indents.
const MAX_PREFIX_BYTES: usize = 32;

/// Finds code in a text that is read from its beginning to its end.
#[derive(Debug, Default)]
pub(super) struct CodeReader {
    /// Where the paragraph ends whose marks `last` has.
    paragraph: usize,
    /// For each length of a run of backticks, where the paragraph's last one begins.
    last: FxHashMap<usize, usize>,
}

/// What a mark of code begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    /// A fence, with the place of its info string and of its contents, and where the text goes on.
    Fence { info: (usize, usize), contents: (usize, usize), end: usize, closed: bool },
    /// A span, or marks that begin nothing, up to here.
    Span(usize),
}

impl CodeReader {
    /// What the run of backticks or tildes at `at` begins.
    pub(super) fn read(&mut self, text: &str, at: usize) -> Code {
        let mark = text.as_bytes()[at];
        let run = run(text, at, mark);
        if run >= 3
            && begins_line(text, at)
            && let Some(fence) = fence(text, at, run)
        {
            return fence;
        }
        if mark == b'~' {
            return Code::Span(at + run);
        }
        if at >= self.paragraph {
            self.enter_paragraph(text, at);
        }
        if self.last.get(&run).is_none_or(|&last| last <= at) {
            return Code::Span(at + run);
        }
        let mut next = at + run;
        while let Some(found) = text[next..].find('`') {
            next += found;
            let length = self::run(text, next, b'`');
            next += length;
            if length == run {
                break;
            }
        }
        Code::Span(next)
    }

    fn enter_paragraph(&mut self, text: &str, at: usize) {
        self.paragraph = paragraph_end(text, at);
        self.last.clear();
        let mut next = at;
        while let Some(found) = text[next..self.paragraph].find('`') {
            next += found;
            let length = run(text, next, b'`').min(self.paragraph - next);
            self.last.insert(length, next);
            next += length;
        }
    }
}

fn run(text: &str, at: usize, mark: u8) -> usize {
    text.as_bytes()[at..].iter().take_while(|b| **b == mark).count()
}

fn begins_line(text: &str, at: usize) -> bool {
    let before = &text.as_bytes()[at.saturating_sub(MAX_PREFIX_BYTES)..at];
    let of_prefix =
        |b: &&u8| matches!(**b, b' ' | b'\t' | b'>' | b'-' | b'*' | b'+' | b'.' | b')') || b.is_ascii_digit();
    let prefix = before.iter().rev().take_while(of_prefix).count();
    if prefix == before.len() { at <= MAX_PREFIX_BYTES } else { before[before.len() - prefix - 1] == b'\n' }
}

/// The fence whose marks are at `at`; none where its info string has a backtick, which makes it a span.
fn fence(text: &str, at: usize, run: usize) -> Option<Code> {
    let mark = text.as_bytes()[at];
    let line_end = |from: usize| text[from..].find('\n').map_or(text.len(), |found| from + found);
    let info = (at + run, line_end(at + run));
    if mark == b'`' && text[info.0..info.1].contains('`') {
        return None;
    }
    let begin = (info.1 + 1).min(text.len());
    let mut line = begin;
    while line < text.len() {
        let end = line_end(line);
        let marks = text[line..end].trim_matches([' ', '\t', '>', '\r']);
        if marks.len() >= run && marks.bytes().all(|b| b == mark) {
            return Some(Code::Fence { info, contents: (begin, line), end, closed: true });
        }
        line = end + 1;
    }
    Some(Code::Fence { info, contents: (begin, text.len()), end: text.len(), closed: false })
}

/// Where the next blank line begins.
fn paragraph_end(text: &str, from: usize) -> usize {
    let mut at = from;
    while let Some(found) = text[at..].find('\n') {
        at += found + 1;
        let line = text[at..].find('\n').map_or(text.len(), |end| at + end);
        if text[at..line].trim().is_empty() {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_end_with_their_own_marks_in_their_paragraph() {
        for (text, span) in [
            ("`a` b", "`a`"),
            ("`` a ` b `` c", "`` a ` b ``"),
            ("`a\n`b", "`a\n`"),
            ("`a\n\n`b", "`"),
            ("`a `` b", "`"),
            ("~~a~~", "~~"),
            ("```a``` b", "```a```"),
        ] {
            assert_eq!(CodeReader::default().read(text, 0), Code::Span(span.len()), "{text}");
        }
    }

    #[test]
    fn fences_end_with_their_own_marks() {
        for (text, info, contents, rest) in [
            ("```\na\n```\nb", "", "a\n", "\nb"),
            ("```json\na\n````", "json", "a\n", ""),
            ("~~~~ x\n```\n~~~\n~~~~", " x", "```\n~~~\n", ""),
            ("> - ```\n> a\n> ```\nb", "", "> a\n", "\nb"),
            ("  1. ```\na\n```b\n", "", "a\n```b\n", ""),
            ("```", "", "", ""),
        ] {
            let at = text.find(['`', '~']).unwrap();
            let Code::Fence { info: i, contents: c, end, .. } = CodeReader::default().read(text, at) else {
                panic!("{text}")
            };
            assert_eq!((&text[i.0..i.1], &text[c.0..c.1], &text[end..]), (info, contents, rest), "{text}");
        }
        assert_eq!(CodeReader::default().read("say ```\nx\n```", 4), Code::Span(13));
    }
}
