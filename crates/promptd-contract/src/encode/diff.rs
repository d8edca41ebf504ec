//! What differs between two prompts.

use super::findings::findings;
use crate::proto;
use promptd_core::{
    diff::{CacheDiff, Hunk, Line, LineKind, Piece, PromptDiff, SectionDiff, SectionState, TextDiff, Whole},
    prompt::Size,
};

/// What a side of a difference was assembled from.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// The snapshot's revision.
    pub revision: &'a str,
    /// The profile that was used.
    pub profile: &'a str,
}

/// The answer of `DiffPrompt`.
#[must_use]
pub fn diff_prompt_response(diff: PromptDiff, before: Side<'_>, after: Side<'_>) -> proto::DiffPromptResponse {
    proto::DiffPromptResponse {
        same: diff.is_same(),
        coarse: diff.is_coarse(),
        before: Some(side(before, diff.before)),
        after: Some(side(after, diff.after)),
        layout: text_diff(diff.layout),
        sections: diff.sections.into_iter().map(section).collect(),
        caches: diff.cache.into_iter().map(cache).collect(),
        appeared: findings(&diff.appeared),
        vanished: findings(&diff.vanished),
    }
}

fn side(side: Side<'_>, whole: Whole) -> proto::PromptSide {
    proto::PromptSide {
        revision: side.revision.to_owned(),
        digest: whole.digest.to_hex(),
        size: Some(size(whole.size)),
        profile: side.profile.to_owned(),
    }
}

fn section(section: SectionDiff) -> proto::SectionDiff {
    let change = proto::SectionChange::from(section.change()).into();
    proto::SectionDiff {
        id: section.id,
        change,
        path: section.path.unwrap_or_default(),
        before: section.before.map(state),
        after: section.after.map(state),
        text: text_diff(section.text),
    }
}

fn state(state: SectionState) -> proto::SectionState {
    let outcome = proto::Outcome::from(state.outcome).into();
    proto::SectionState { outcome, reason: state.reason, size: Some(size(state.size)) }
}

fn text_diff(diff: TextDiff) -> Option<proto::TextDiff> {
    let is_empty = diff.is_empty();
    let TextDiff { hunks, coarse, lines_left_out } = diff;
    (!is_empty).then(|| proto::TextDiff { hunks: hunks.into_iter().map(hunk).collect(), coarse, lines_left_out })
}

fn hunk(hunk: Hunk) -> proto::DiffHunk {
    let Hunk { before_line, after_line, lines } = hunk;
    proto::DiffHunk { before_line, after_line, lines: lines.into_iter().map(line).collect() }
}

fn line(line: Line) -> proto::DiffLine {
    let kind = match line.kind {
        LineKind::Same => proto::DiffLineKind::Unspecified,
        LineKind::Removed => proto::DiffLineKind::Removed,
        LineKind::Added => proto::DiffLineKind::Added,
    };
    let piece = |Piece { changed, text }| proto::DiffPiece { text, changed };
    proto::DiffLine { kind: kind.into(), pieces: line.pieces.into_iter().map(piece).collect() }
}

fn cache(cache: CacheDiff) -> proto::CacheDiff {
    proto::CacheDiff {
        format: proto::RenderFormat::from(cache.prefix.format).into(),
        common_bytes: cache.prefix.common,
        kept_bytes: cache.prefix.kept,
        before_bytes: cache.prefix.before,
        section: cache.section,
    }
}

fn size(size: Size) -> proto::Size {
    let Size { bytes, chars, tokens } = size;
    proto::Size { bytes, chars, tokens }
}
