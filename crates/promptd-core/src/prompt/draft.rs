//! A message put together: its sections' texts joined, each with its place.

use std::{borrow::Cow, ops::Range};

use super::{Front, Section, Size, answer::measure, digest, piece::Piece};
use crate::{
    digest::Digest,
    profile::{MessageSpec, Stability},
    text::clamped,
};

/// A message made of its sections.
pub struct Draft {
    /// Its text; empty: no message.
    pub content: String,
    /// The text's size.
    pub size: Size,
    /// The least stable of the sections with text.
    pub stability: Stability,
    /// The message's digest.
    pub digest: Digest,
    /// The stable sections that it begins with.
    pub front: Front,
}

/// Joins the sections of a message that will stand at `index`, and adds their reports to `reports`.
pub fn build<'a>(
    spec: &MessageSpec,
    sections: Vec<Cow<'a, [Piece<'a>]>>,
    index: u32,
    reports: &mut Vec<Section<'a>>,
) -> Draft {
    let length = sections.iter().flat_map(|pieces| pieces.iter()).map(|piece| piece.text().len() + 2).sum();
    let mut joined = Joined::with_capacity(length);
    for (pieces, section) in sections.into_iter().zip(&spec.sections) {
        let separator = section.separator.as_deref().unwrap_or(&spec.separator);
        let mut place = |piece: &Piece<'_>| joined.add(piece, separator).map(|range| (index, range));
        match pieces {
            Cow::Borrowed(pieces) => reports.extend(pieces.iter().map(|piece| piece.report.at(place(piece)))),
            Cow::Owned(pieces) => {
                reports.extend(pieces.into_iter().map(|piece| Section { place: place(&piece), ..piece.report }));
            }
        }
    }
    joined.into_draft(spec)
}

/// The sections joined so far.
struct Joined {
    content: String,
    chars: u64,
    stability: Stability,
    chunks: Vec<Digest>,
    /// How many bytes and chunks the stable front has.
    front: (u64, usize),
}

impl Joined {
    fn with_capacity(bytes: usize) -> Self {
        let content = String::with_capacity(bytes);
        Self { content, chars: 0, stability: Stability::Stable, chunks: Vec::with_capacity(8), front: (0, 0) }
    }

    /// Adds a piece, after its separator where it is not the first; gives its place. `None`: it has no text.
    fn add(&mut self, piece: &Piece<'_>, separator: &str) -> Option<Range<u32>> {
        if piece.text().is_empty() {
            return None;
        }
        let separator = if self.content.is_empty() { "" } else { piece.separator(separator) };
        self.content.push_str(separator);
        let start = self.content.len();
        self.content.push_str(piece.text());
        self.chars += measure(separator).chars + piece.chars();
        self.chunks.push(piece.chunk(separator));
        self.stability = self.stability.max(piece.report.stability);
        if self.stability == Stability::Stable {
            self.front = (self.content.len() as u64, self.chunks.len());
        }
        Some(clamped(start)..clamped(self.content.len()))
    }

    fn into_draft(mut self, spec: &MessageSpec) -> Draft {
        let digest = digest::message(spec.role, &spec.name, &self.chunks);
        self.chunks.truncate(self.front.1);
        Draft {
            size: Size { bytes: self.content.len() as u64, chars: self.chars, tokens: None },
            content: self.content,
            stability: self.stability,
            digest,
            front: Front { bytes: self.front.0, chunks: self.chunks },
        }
    }
}
