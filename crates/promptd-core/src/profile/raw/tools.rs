//! `tool_allowlist`, as written.

use std::sync::Arc;

use super::spanned::{Spanned, spanned, text};
use crate::{
    finding::Code,
    yaml::{Fields, Value},
};

/// The key of a profile.
const KEY: &str = "tool_allowlist";

/// `tool_allowlist`: names, or `by` and `lists`.
#[derive(Debug, Clone)]
pub(crate) struct RawToolAllowlist {
    /// Where it is.
    pub at: Spanned<()>,
    /// `by`: the input whose value selects a list.
    pub by: Option<Spanned<String>>,
    /// The lists by value; one without a value where there is no `by`.
    pub lists: Vec<(Spanned<String>, Vec<String>)>,
}

impl RawToolAllowlist {
    pub(super) fn read(fields: &mut Fields<'_, '_>, file: &Arc<str>) -> Option<Self> {
        let node = fields.node(KEY)?;
        let at = spanned((), node.at, file);
        if !matches!(node.value, Value::Map(_)) {
            let names = names(fields, KEY)?;
            return Some(Self { lists: vec![(spanned(String::new(), node.at, file), names)], at, by: None });
        }
        let mut written = fields.fields(KEY);
        let by = text(&mut written, "by", file);
        let mut lists = Vec::new();
        for mut list in written.each("lists") {
            let (value, names) = (text(&mut list, "value", file), names(&mut list, "names"));
            match (value, names) {
                (Some(value), Some(names)) => lists.push((value, names)),
                _ => list.faults().add(Code::InvalidValue, list.at(), "needs `value` and `names`".to_owned()),
            }
            list.finish();
        }
        written.finish();
        Some(Self { at, by, lists })
    }
}

fn names(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Vec<String>> {
    fields.texts(key).map(|names| names.into_iter().map(|(name, _)| name.to_owned()).collect())
}
