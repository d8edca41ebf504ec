//! Compiles texts, expressions and conditions, with the place of each fault.

use std::sync::Arc;

use super::{
    super::{
        names::Names,
        raw::{RawSection, Spanned},
        template::{NoNames, Template, TemplateFault},
        types::Type,
    },
    Compiler,
};
use crate::{finding::Code, text::clamped, yaml::nearest};

impl Compiler<'_> {
    pub(super) fn template_of(&mut self, key: &str, raw: &RawSection, names: &Names) -> Template {
        let written = self.required(raw, "template", raw.template.as_ref());
        self.template(key, &written, names)
    }

    pub(super) fn required(
        &mut self,
        raw: &RawSection,
        key: &str,
        written: Option<&Spanned<String>>,
    ) -> Spanned<String> {
        written.cloned().unwrap_or_else(|| {
            self.fault(&raw.id, format!("the section `{}` needs `{key}`", raw.id.value));
            Spanned { value: String::new(), at: raw.id.at, file: Arc::clone(&raw.id.file), literal: false }
        })
    }

    pub(super) fn template(&mut self, key: &str, written: &Spanned<String>, names: &Names) -> Template {
        let compiled = self.templates.template(key, &written.value, names);
        self.compiled(written, compiled)
    }

    pub(super) fn expression(&mut self, key: &str, written: &Spanned<String>, names: &Names) -> Option<Template> {
        let compiled = self.templates.expression(key, &written.value, names);
        let before = self.faults.len();
        let template = self.compiled(written, compiled);
        (self.faults.len() == before).then_some(template)
    }

    /// An expression that can hold: one that never does makes what it guards unreachable.
    pub(super) fn condition(&mut self, key: &str, written: &Spanned<String>, names: &Names) -> Option<Template> {
        let condition = self.expression(key, written, names)?;
        if condition.names().is_empty() && self.templates.holds(&condition, &NoNames) != Ok(true) {
            self.fault(written, format!("`{}` is never true, so this is never used; remove it", written.value));
        }
        for (path, word) in self.templates.comparisons(&condition) {
            if let Ok(Type::Choice(words)) = names.resolve(&path)
                && !words.contains(&word)
            {
                let near = nearest(&word, words.iter().map(String::as_str));
                let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                self.fault(written, format!("`{path}` is never `{word}`: it is one of {}{hint}", words.join(", ")));
            }
        }
        Some(condition)
    }

    pub(super) fn compiled(
        &mut self,
        written: &Spanned<String>,
        compiled: Result<Template, TemplateFault>,
    ) -> Template {
        compiled.unwrap_or_else(|fault| {
            let mut placed = written.fault(Code::ProfileInvalid, fault.message);
            // Only the lines of a `|` block are lines of the file; it begins with its first line that has text. Other
            // texts are folded or have escapes: their fault is where they begin.
            if written.literal {
                let blank = written.value.len() - written.value.trim_start_matches('\n').len();
                let first = placed.at.line.saturating_sub(clamped(blank));
                placed.at.line = (first + fault.line).saturating_sub(1);
                placed.at.column = 0;
            }
            self.faults.push(placed);
            Template::default()
        })
    }
}
