//! Traces of texts that are read from files.

use std::{ops::Range, sync::Arc};

use super::{Text, Trace};
use crate::{
    prompt::{
        output::{How, Origin, OriginKind, Source},
        scope::Found,
    },
    workspace::{FileMap, SKILL_FILE, Skill},
};

/// A file as an origin.
pub(crate) fn origin(source: Source) -> Arc<Origin> {
    Arc::new(Origin::file(source))
}

/// A part of a text that was read from a file.
pub(crate) fn part(map: &FileMap, range: Range<usize>, origin: &Arc<Origin>) -> Trace {
    let mut trace = Trace::default();
    for piece in map.pieces(range) {
        let how = if piece.same { How::Verbatim } else { How::Cleaned };
        trace.extend(Trace::of(piece.text.len(), origin, piece.file, how));
    }
    trace
}

/// A skill's SKILL.md.
pub(crate) fn skill_source(skill: &Skill) -> Source {
    Source::new(format!("{}/{SKILL_FILE}", skill.folder), skill.sha256.clone())
}

/// A value of a skill: what its SKILL.md says is found there.
pub(crate) fn skill(skill: &Skill, field: &str) -> Found {
    let origin = origin(skill_source(skill));
    let text = match field {
        "name" | "description" => {
            let text = if field == "name" { &skill.name } else { &skill.description };
            let file = front_matter(skill.file.bytes(), field, text);
            let same = skill.file.bytes().get(file.clone()) == Some(text.as_bytes());
            let file = file.start as u64..file.end as u64;
            let how = if same { How::Verbatim } else { How::Cleaned };
            Text::traced(text.to_string(), Trace::of(text.len(), &origin, file, how))
        }
        "body" => {
            let (bytes, body) = (skill.file.bytes(), skill.file.body());
            Text::traced(body.to_owned(), part(&FileMap::new(bytes, body), 0..body.len(), &origin))
        }
        _ => return Found::worked_out(Origin::new(OriginKind::Fact, format!("skill.{field}"))),
    };
    Found::traced(&origin, text)
}

/// Where the front matter of a SKILL.md has a value: the value itself if it is there as it is, else the lines of its key. Empty: it
/// has no such key.
fn front_matter(bytes: &[u8], key: &str, value: &str) -> Range<usize> {
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').scan(0, |end, line| {
        *end += line.len();
        Some((*end - line.len(), line))
    });
    let is_key = |line: &[u8]| line.strip_prefix(key.as_bytes()).is_some_and(|rest| rest.starts_with(b":"));
    let Some((start, first)) = lines.find(|(_, line)| is_key(line)) else { return 0..0 };
    let below = |line: &[u8]| line.first().is_some_and(u8::is_ascii_whitespace);
    let end =
        lines.take_while(|(_, line)| below(line)).last().map_or(start + first.len(), |(at, line)| at + line.len());
    let after_key = start + key.len() + 1;
    let here = &bytes[after_key..end];
    match here.windows(value.len().max(1)).position(|part| part == value.as_bytes()) {
        Some(at) => after_key + at..after_key + at + value.len(),
        None => start..end,
    }
}
