//! The shortcut for plain templates: text and values in a line, over borrowed text. minijinja would copy every value
//! first. A test holds the two to the same output.

use std::borrow::Cow;

use minijinja::machinery::Instruction;

use super::Scope;
use crate::profile::{
    filters::{self, PlainFilter},
    names::Names,
    types::Type,
};

/// What a plain template does, in order.
#[derive(Debug, Clone)]
pub(super) struct Steps(Vec<Step>);

#[derive(Debug, Clone)]
enum Step {
    Raw(String),
    Value { name: String, field: String, filters: Vec<(PlainFilter, String)> },
}

impl Steps {
    /// Runs the steps, and adds their text to the last; `None` where a value turned out not to be text.
    pub(super) fn run(&self, scope: &dyn Scope, out: &mut String) -> Option<()> {
        for step in &self.0 {
            match step {
                Step::Raw(text) => out.push_str(text),
                Step::Value { name, field, filters } => {
                    let text = scope.text(name, field)?;
                    let Some(((last, argument), others)) = filters.split_last() else {
                        out.push_str(&text);
                        continue;
                    };
                    let filtered = |text: Cow<'_, str>, (filter, argument): &(PlainFilter, String)| {
                        Cow::Owned(filters::filtered(*filter, &text, argument))
                    };
                    last(&others.iter().fold(text, filtered), argument, out);
                }
            }
        }
        Some(())
    }

    /// About how many bytes their text takes.
    pub(super) fn room(&self) -> usize {
        /// Most values are a name or a sentence.
        const VALUE: usize = 96;
        self.0.iter().map(|step| if let Step::Raw(text) = step { text.len() } else { VALUE }).sum()
    }

    /// Those of a template that only puts text values into text; `None` where it does more.
    pub(super) fn of(code: &[&Instruction<'_>], names: &Names) -> Option<Self> {
        let mut steps = Vec::new();
        let mut value: Option<(String, Vec<(PlainFilter, String)>)> = None;
        let mut argument: Option<String> = None;
        for instruction in code {
            match instruction {
                Instruction::EmitRaw(text) if value.is_none() => steps.push(Step::Raw((*text).to_owned())),
                Instruction::Lookup(name) if value.is_none() => value = Some(((*name).to_owned(), Vec::new())),
                Instruction::GetAttr(field) => {
                    let (path, filters) = value.as_mut()?;
                    if !filters.is_empty() || path.contains('.') {
                        return None;
                    }
                    path.push('.');
                    path.push_str(field);
                }
                Instruction::LoadConst(constant) if argument.is_none() => {
                    argument = Some(constant.as_str()?.to_owned());
                }
                Instruction::ApplyFilter(name, count, _) => {
                    let (expected, filter) = filters::plain(name)?;
                    if *count != Some(1 + u16::from(expected)) || expected != argument.is_some() {
                        return None;
                    }
                    value.as_mut()?.1.push((filter, argument.take().unwrap_or_default()));
                }
                Instruction::Emit => {
                    let (path, filters) = value.take()?;
                    if !matches!(names.resolve(&path).ok()?, Type::Text | Type::Choice(_)) {
                        return None;
                    }
                    let (name, field) = path.split_once('.').unwrap_or((&path, ""));
                    steps.push(Step::Value { name: name.to_owned(), field: field.to_owned(), filters });
                }
                _ => return None,
            }
        }
        Some(Self(steps))
    }

    /// Those of an expression that is one dotted name.
    pub(super) fn of_path(source: &str, names: &Names) -> Option<Self> {
        names.resolve(source.trim()).ok()?;
        let (name, field) = source.trim().split_once('.').unwrap_or((source.trim(), ""));
        let step = Step::Value { name: name.to_owned(), field: field.to_owned(), filters: Vec::new() };
        (!field.contains('.')).then(|| Self(vec![step]))
    }

    /// The name and field that they are, if they are nothing else.
    pub(super) fn as_path(&self) -> Option<(&str, &str)> {
        match &*self.0 {
            [Step::Value { name, field, filters }] if filters.is_empty() => Some((name, field)),
            _ => None,
        }
    }
}
