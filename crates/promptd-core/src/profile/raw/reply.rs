//! `reply`: a word, or a mapping.

use std::sync::Arc;

use super::spanned::{Spanned, spanned, text, texts};
use crate::yaml::{Fields, Node, Pair, Value};

/// `reply`, as written.
#[derive(Debug, Clone, Default)]
pub(in crate::profile) struct RawReply {
    /// One of the words; then nothing else is set.
    pub word: Option<Spanned<String>>,
    /// `acknowledgement`.
    pub acknowledgement: Option<Spanned<String>>,
    /// `thoughts`.
    pub thoughts: Option<Spanned<Vec<String>>>,
    /// `form`.
    pub form: Option<Spanned<String>>,
    /// `json`.
    pub json: Option<Spanned<String>>,
    /// `other_fields`.
    pub other_fields: Option<Spanned<String>>,
    /// `blocks`.
    pub blocks: Option<Spanned<Vec<String>>>,
    /// `actions`: name and declaration.
    pub actions: Vec<(Spanned<String>, Node)>,
}

impl RawReply {
    pub(super) fn read(profile: &mut Fields<'_, '_>, file: &Arc<str>) -> Option<Self> {
        let node = profile.node("reply")?;
        if matches!(node.value, Value::Scalar(_)) {
            return text(profile, "reply", file).map(|word| Self { word: Some(word), ..Self::default() });
        }
        let mut fields = profile.fields("reply");
        let action = |pair: &Pair| (spanned(pair.key.clone(), pair.at, file), pair.value.clone());
        let reply = Self {
            word: None,
            acknowledgement: text(&mut fields, "acknowledgement", file),
            thoughts: texts(&mut fields, "thoughts", file),
            form: text(&mut fields, "form", file),
            json: text(&mut fields, "json", file),
            other_fields: text(&mut fields, "other_fields", file),
            blocks: texts(&mut fields, "blocks", file),
            actions: fields.pairs("actions").iter().map(action).collect(),
        };
        fields.finish();
        Some(reply)
    }

    /// This over the reply of the profile that is extended: key by key, and actions by name.
    pub(in crate::profile) fn over(self, base: Self) -> Self {
        if self.word.is_some() {
            return self;
        }
        let mut actions = base.actions;
        for action in self.actions {
            match actions.iter_mut().find(|(name, _)| name.value == action.0.value) {
                Some(old) => *old = action,
                None => actions.push(action),
            }
        }
        Self {
            word: base.word,
            acknowledgement: self.acknowledgement.or(base.acknowledgement),
            thoughts: self.thoughts.or(base.thoughts),
            form: self.form.or(base.form),
            json: self.json.or(base.json),
            other_fields: self.other_fields.or(base.other_fields),
            blocks: self.blocks.or(base.blocks),
            actions,
        }
    }
}
