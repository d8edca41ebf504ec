//! Screens: a `kai-ui` block of a reply.

mod repair;
mod tree;

use std::ops::Range;

use serde_json::{Map, Value, json};

use super::{
    Action,
    exact::{self, Notes},
    findings::Findings,
};
use crate::{finding::Code, kai_ui::BLOCK};

/// Where a screen is in a reply.
#[derive(Debug)]
pub(super) struct Block {
    /// The whole block, fence and all.
    pub range: Range<usize>,
    /// Its JSON.
    pub contents: Range<usize>,
    /// Whether its fence closes.
    pub closed: bool,
}

/// Whether the fence at `at` with that info string is a screen, and where the block begins: a plain line `kai-ui` before a
/// fence of none or of `json` counts too.
pub(super) fn begins(text: &str, at: usize, info: &str) -> Option<usize> {
    match info.trim() {
        BLOCK => Some(at),
        "" | "json" => {
            let before = text[..at].trim_end_matches([' ', '\t']).strip_suffix('\n')?.trim_end();
            let above = before.strip_suffix(BLOCK)?;
            (above.is_empty() || above.ends_with('\n')).then_some(above.len())
        }
        _ => None,
    }
}

/// The screen of a block; where it has none it stays in the text.
pub(super) fn read(text: &str, block: Block, findings: &mut Findings) -> Option<Action> {
    let what = format!("`{BLOCK}`");
    let at = block.range.start;
    let contents = text[block.contents].trim();
    let notes = Notes::default();
    let Screen { root, state } = match parsed(contents, block.closed, &notes) {
        Ok(screen) => screen,
        Err(why) => {
            findings.stays(Code::ActionMalformed, &what, at, &why);
            return None;
        }
    };
    let mut left_out = Findings::default();
    let mut note = |why: String| left_out.add(Code::ComponentUnknown, || format!("{what} at byte {at}: {why}"));
    let Some(payload) = tree::checked(root, &mut note) else {
        findings.stays(Code::ActionInvalid, &what, at, "its root is not a component of the catalogue");
        findings.append(left_out);
        return None;
    };
    match state {
        State::Sound => {}
        State::Repaired => {
            findings.add(Code::ActionRepaired, || format!("{what} at byte {at} is not valid JSON, and was repaired"));
        }
        State::Cut => findings.add(Code::ActionCut, || {
            format!("{what} at byte {at} ends before its brackets close: the rest of the screen is missing")
        }),
    }
    findings.append(left_out);
    let payload_text = findings.inexact(&what, at, &notes.into_vec(), contents);
    Some(Action { tag: BLOCK.to_owned(), payload, payload_text, range: block.range })
}

struct Screen {
    root: Map<String, Value>,
    state: State,
}

enum State {
    Sound,
    Repaired,
    Cut,
}

/// The JSON as it is; else as an object a line, which make a column; else repaired.
fn parsed(text: &str, closed: bool, notes: &Notes) -> Result<Screen, String> {
    let error = match exact::object(text, notes) {
        Ok(root) => return Ok(Screen { root, state: State::Sound }),
        Err(error) => error,
    };
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    if lines().nth(1).is_some() && lines().all(|line| line.starts_with('{')) {
        let children: Vec<Value> =
            lines().filter_map(|line| exact::object(line, notes).ok()).map(Value::Object).collect();
        if !children.is_empty() {
            let root = Map::from_iter([("type".to_owned(), json!("column")), ("children".to_owned(), children.into())]);
            return Ok(Screen { root, state: State::Repaired });
        }
    }
    if !text.starts_with('{') {
        return Err("it is not a JSON object".to_owned());
    }
    let repaired = repair::repaired(text);
    match exact::object(&repaired.json, notes) {
        Ok(root) => {
            let state = if repaired.cut || !closed { State::Cut } else { State::Repaired };
            Ok(Screen { root, state })
        }
        Err(_) => Err(format!("its JSON is not valid and cannot be repaired ({error})")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_a_screen_by_its_word_or_by_the_line_above() {
        for (above, expected) in [
            ("kai-ui\n", Some(0)),
            ("Here:\nkai-ui \n\t", Some(6)),
            ("my kai-ui\n", None),
            ("kai-ui", None),
            // The last six bytes begin inside a character.
            ("xҞc*\n*}\n", None),
        ] {
            assert_eq!(begins(&format!("{above}```"), above.len(), ""), expected, "{above:?}");
        }
        assert_eq!(begins("```kai-ui", 0, "kai-ui"), Some(0));
    }
}
