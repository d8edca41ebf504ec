//! Prompts for providers that read the system's texts apart from a conversation whose two roles alternate.

use serde_json::Value;

use super::Fragment;
use crate::{prompt::Message, turn::Role};

/// A fragment's blocks, as such a provider reads them.
#[derive(Debug)]
pub(super) struct Turns {
    /// Those of the system messages, wherever they were.
    pub system: Vec<Value>,
    /// Messages of one role that follow each other as one. Results of tools are the user's; no turn is empty.
    pub turns: Vec<(Speaker, Vec<Value>)>,
}

/// Whose a turn is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    User,
    Model,
}

impl Turns {
    /// The turns of a fragment's messages, of which `blocks` makes a provider's blocks.
    pub(super) fn new(fragment: &Fragment<'_>, blocks: impl Fn(usize, &Message<'_>) -> Vec<Value>) -> Self {
        let mut all = Self { system: Vec::new(), turns: Vec::new() };
        for (index, message) in fragment.messages() {
            let mut blocks = blocks(index, message);
            let speaker = match fragment.role(index, message) {
                Role::System => {
                    all.system.append(&mut blocks);
                    continue;
                }
                Role::User | Role::Tool => Speaker::User,
                Role::Assistant => Speaker::Model,
            };
            match all.turns.last_mut() {
                Some((last, content)) if *last == speaker => content.append(&mut blocks),
                _ if blocks.is_empty() => {}
                _ => all.turns.push((speaker, blocks)),
            }
        }
        all
    }

    /// Removes white space at the end of a last turn of the model, if that ends with a text. A mark behind it is not content.
    pub(super) fn trim_end(&mut self) {
        let Some((Speaker::Model, blocks)) = self.turns.last_mut() else { return };
        let last = blocks.iter_mut().rfind(|block| block.get("cachePoint").is_none());
        if let Some(Value::String(text)) = last.and_then(|block| block.get_mut("text")) {
            text.truncate(text.trim_end().len());
        }
    }
}
