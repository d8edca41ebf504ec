//! What is taken out of a reply's text: thoughts, and actions.

use std::ops::Range;

use super::{
    findings::Findings,
    thoughts::{self, Kind},
};
use crate::finding::Code;

/// The byte ranges that are taken out, in order.
#[derive(Debug, Default)]
pub(super) struct Cuts(Vec<Range<usize>>);

/// What a `<` of a reply is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Angle {
    /// Text.
    Text,
    /// Thoughts, which end here.
    Thoughts(usize),
    /// The end of thoughts that the reply began in, so that everything before was thoughts too: a model whose prompt
    /// opens them sends only their end.
    AllBefore(usize),
}

impl Cuts {
    /// Takes out the thoughts that begin at `at`, if any do.
    pub(super) fn thoughts(&mut self, text: &str, at: usize, names: &[String], findings: &mut Findings) -> Angle {
        let Some(tag) = thoughts::tag(&text[at..], names) else { return Angle::Text };
        let end = at + tag.length;
        match tag.kind {
            Kind::Open => {
                let (length, paired) = thoughts::end(&text[at..], tag, names);
                if !paired {
                    findings.add(Code::ThoughtsUnpaired, || {
                        format!(
                            "the thoughts that begin at byte {at} have no end of their own: {length} bytes are left out of the text"
                        )
                    });
                }
                Angle::Thoughts(self.take_with_space(text, at..at + length))
            }
            Kind::Close if self.0.is_empty() => {
                *findings = Findings::default();
                findings.add(Code::ThoughtsUnpaired, || {
                    format!("the thoughts that end at byte {at} have no beginning: all before is left out of the text")
                });
                Angle::AllBefore(self.take_with_space(text, 0..end))
            }
            Kind::Close | Kind::Empty => Angle::Thoughts(self.take_with_space(text, at..end)),
        }
    }

    /// White space behind goes too where there is some, or nothing, before.
    fn take_with_space(&mut self, text: &str, range: Range<usize>) -> usize {
        let begins = self.0.last().map_or(0, |last| last.end) == range.start;
        let rest = &text[range.end..];
        let space = if begins || text[..range.start].ends_with(char::is_whitespace) {
            rest.len() - rest.trim_start().len()
        } else {
            0
        };
        self.0.push(range.start..range.end + space);
        range.end + space
    }

    /// Takes out ranges between the others.
    pub(super) fn take(&mut self, ranges: impl Iterator<Item = Range<usize>>) {
        self.0.extend(ranges);
        self.0.sort_unstable_by_key(|range| range.start);
    }

    /// What is left of a part of the text that no cut crosses the end of.
    pub(super) fn left_of(&self, text: &str, part: Range<usize>) -> String {
        let mut left = String::with_capacity(part.len());
        let mut at = part.start;
        for cut in self.0.iter().filter(|cut| cut.start >= part.start && cut.start < part.end) {
            left.push_str(&text[at..cut.start]);
            at = cut.end;
        }
        left.push_str(text.get(at..part.end).unwrap_or_default());
        left
    }

    /// What is left before and behind a part, without the code fence that the part is in.
    pub(super) fn left_around(&self, text: &str, part: &Range<usize>) -> String {
        let before = self.left_of(text, 0..part.start);
        let after = self.left_of(text, part.end..text.len());
        let around = [without_fence_open(&before).trim(), without_fence_close(&after).trim()];
        around.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }
}

/// Without a fence that opens on the last line.
pub(super) fn without_fence_open(text: &str) -> &str {
    let text = text.trim_end();
    match text.rfind("```") {
        Some(fence) if !text[fence..].contains('\n') => &text[..fence],
        _ => text,
    }
}

/// Without a fence that closes on the first line.
fn without_fence_close(text: &str) -> &str {
    let text = text.trim_start();
    text.strip_prefix("```").unwrap_or(text)
}
