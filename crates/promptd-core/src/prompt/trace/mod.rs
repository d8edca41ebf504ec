//! Where the bytes of a text came from, kept beside it while a section is rendered with spans.

mod align;
pub(crate) mod files;
mod text;

use std::{ops::Range, sync::Arc};

use self::align::{Part, align};
use super::output::{How, Origin, Span};
use crate::text::clamped;

pub(crate) use text::Text;

/// Where the bytes of a text came from: pieces in order, every byte in exactly one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Trace(Vec<Piece>);

/// Neighbouring bytes that came from one place in one way.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    len: usize,
    origin: Arc<Origin>,
    source: Range<u64>,
    how: How,
}

impl Trace {
    /// All bytes from one place.
    pub(crate) fn of(len: usize, origin: &Arc<Origin>, source: Range<u64>, how: How) -> Self {
        let mut trace = Self::default();
        trace.push(Piece { len, origin: Arc::clone(origin), source, how });
        trace
    }

    /// A whole text, as it is at its origin.
    pub(crate) fn verbatim(text: &str, origin: &Arc<Origin>) -> Self {
        Self::of(text.len(), origin, 0..text.len() as u64, How::Verbatim)
    }

    /// Bytes that something wrote, of which it has no text.
    pub(crate) fn written(len: usize, origin: &Arc<Origin>) -> Self {
        Self::of(len, origin, 0..0, How::Template)
    }

    /// How many bytes it is about.
    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(|piece| piece.len).sum()
    }

    fn push(&mut self, piece: Piece) {
        if piece.len == 0 {
            return;
        }
        match self.0.last_mut().filter(|last| last.continues(&piece)) {
            Some(last) => {
                last.len += piece.len;
                last.source.end = piece.source.end;
            }
            None => self.0.push(piece),
        }
    }

    /// What follows this text.
    pub(crate) fn extend(&mut self, next: Self) {
        next.0.into_iter().for_each(|piece| self.push(piece));
    }

    /// A part of the text, by its bytes.
    pub(crate) fn slice(&self, range: Range<usize>) -> Self {
        let mut slice = Self::default();
        for (at, piece) in self.placed() {
            let (start, end) = (range.start.max(at.start), range.end.min(at.end));
            if start < end {
                slice.push(piece.part(start - at.start..end - at.start));
            }
        }
        slice
    }

    /// The same, as of a text of which a limit kept a part out.
    pub(crate) fn cut(mut self) -> Self {
        for piece in self.0.iter_mut().filter(|piece| piece.how == How::Verbatim) {
            piece.how = How::Cut;
        }
        self
    }

    /// Of `after`, which was made from `before`, the text that this is about.
    pub(crate) fn through(&self, before: &str, after: &str, how: How) -> Self {
        let mut made = Self::default();
        for part in align(before, after) {
            match part {
                Part::Same(range) => made.extend(self.slice(range)),
                Part::Changed { from, len } => made.extend(self.changed(from, len, how)),
            }
        }
        made
    }

    /// `len` bytes that were made from a part of the text; an empty one is a place where something was added.
    fn changed(&self, from: Range<usize>, len: usize, how: How) -> Self {
        let touches = |at: &Range<usize>| {
            if from.is_empty() {
                at.start <= from.start && from.start <= at.end
            } else {
                at.start < from.end && from.start < at.end
            }
        };
        let mut pieces = self.placed().filter(|(at, _)| touches(at));
        let Some((at, first)) = pieces.next() else { return Self::default() };
        let place = |at: &Range<usize>, piece: &Piece| {
            piece.place(from.start.max(at.start) - at.start..from.end.min(at.end) - at.start)
        };
        let mut source = place(&at, first);
        for (at, piece) in pieces.filter(|(_, piece)| piece.origin == first.origin) {
            source.end = source.end.max(place(&at, piece).end);
        }
        Self::of(len, &first.origin, source, how)
    }

    /// Every piece with its place in the text.
    fn placed(&self) -> impl Iterator<Item = (Range<usize>, &Piece)> {
        self.0.iter().scan(0, |end, piece| {
            let start = *end;
            *end += piece.len;
            Some((start..*end, piece))
        })
    }

    /// As spans of a text in which this one begins at byte `start`.
    pub(crate) fn spans(&self, start: u32) -> Box<[Span]> {
        let span = |(at, piece): (Range<usize>, &Piece)| Span {
            bytes: start.saturating_add(clamped(at.start))..start.saturating_add(clamped(at.end)),
            origin: Arc::clone(&piece.origin),
            source: piece.source.clone(),
            how: piece.how,
        };
        self.placed().map(span).collect()
    }
}

impl Piece {
    /// Whether another one is the rest of this.
    fn continues(&self, next: &Self) -> bool {
        self.how == next.how && self.source.end == next.source.start && self.origin == next.origin
    }

    fn part(&self, within: Range<usize>) -> Self {
        Self { len: within.len(), source: self.place(within), ..self.clone() }
    }

    /// Where a part of it came from: exactly, if its bytes are those of the source.
    fn place(&self, within: Range<usize>) -> Range<u64> {
        if self.how.is_same() {
            self.source.start + within.start as u64..self.source.start + within.end as u64
        } else {
            self.source.clone()
        }
    }
}
