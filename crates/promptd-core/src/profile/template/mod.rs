//! Templates: minijinja, checked when loaded, with a shortcut for the plain ones.
//!
//! Most templates only put values into text. Those are run straight from a list of steps, see [`steps`].

mod bounds;
mod code;
mod expressions;
mod located;
mod removed;
mod steps;
mod written;

use std::{borrow::Cow, collections::BTreeSet, sync::OnceLock};

use minijinja::{Environment, ErrorKind, UndefinedBehavior, Value, machinery::Instruction, syntax::SyntaxConfig};

use self::{code::Code, located::Located, steps::Steps, written::Tracing};
use super::{filters, names::Names};
use crate::turn::TurnFields;

pub use located::{Step, ValuePlace};
pub use written::{Written, WrittenPart, WrittenValue};

/// How many steps one template may take: an instruction is one, and so are 64 bytes of text that it makes or filters. So a
/// template ends, and makes at most 32 MB.
pub(super) const FUEL: u64 = 500_000;

/// A checked template.
#[derive(Debug, Clone, Default)]
pub struct Template {
    key: String,
    steps: Option<Steps>,
    names: Vec<String>,
    /// What of the turn it depends on.
    pub deps: TurnFields,
}

/// What is wrong with a template, and on which of its lines, 1-based.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateFault {
    /// The line.
    pub line: u32,
    /// One sentence.
    pub message: String,
}

/// A profile's templates, compiled.
#[derive(Debug)]
pub struct Templates {
    env: Environment<'static>,
    syntax: SyntaxConfig,
    /// Made when first asked for.
    tracing: OnceLock<Tracing>,
}

impl Templates {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        let mut env = Environment::new();
        let syntax = SyntaxConfig::builder().keep_trailing_newline(true).build().unwrap_or_default();
        env.set_syntax(syntax.clone());
        env.set_undefined_behavior(UndefinedBehavior::Strict);
        env.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        env.set_fuel(Some(FUEL));
        env.remove_global("namespace");
        env.remove_filter("chain");
        filters::register(&mut env);
        Self { env, syntax, tracing: OnceLock::new() }
    }

    /// Compiles text with values in it.
    pub fn template(&mut self, key: &str, source: &str, names: &Names) -> Result<Template, TemplateFault> {
        self.compile(key, source.to_owned(), names)
    }

    /// Compiles an expression: a condition, or a list's.
    pub fn expression(&mut self, key: &str, source: &str, names: &Names) -> Result<Template, TemplateFault> {
        let mut template = self.compile(key, format!("{{% set it = ({source}) %}}"), names)?;
        template.steps = Steps::of_path(source, names);
        Ok(template)
    }

    fn compile(&mut self, key: &str, text: String, names: &Names) -> Result<Template, TemplateFault> {
        self.compile_bounded(key, text, names).map_err(removed::with_replacement)
    }

    fn compile_bounded(&mut self, key: &str, text: String, names: &Names) -> Result<Template, TemplateFault> {
        bounds::check(&text, &self.syntax, names)?;
        let fault = |e: &minijinja::Error| TemplateFault {
            line: e.line().and_then(|line| u32::try_from(line).ok()).unwrap_or(1),
            message: e.detail().map_or_else(|| e.kind().to_string(), ToOwned::to_owned),
        };
        self.env.add_template_owned(key.to_owned(), text).map_err(|e| fault(&e))?;
        let template = self.env.get_template(key).map_err(|e| fault(&e))?;

        let mut used = BTreeSet::new();
        let functions: BTreeSet<_> = self.env.globals().map(|(name, _)| name).collect();
        let mut paths: Vec<_> = template.undeclared_variables(true).into_iter().collect();
        paths.retain(|path| !functions.contains(path.as_str()));
        paths.sort();
        let code = Code::of(&template);
        for path in &paths {
            names.resolve(path).map_err(|message| TemplateFault { line: code.line_of(path), message })?;
            used.insert(path.split('.').next().unwrap_or(path).to_owned());
        }
        for (index, instruction) in code.instructions().iter().enumerate() {
            if let Some((name, what, false)) = self.call(instruction) {
                return Err(TemplateFault {
                    line: code.line(index),
                    message: format!("the {what} `{name}` is not known"),
                });
            }
        }
        let steps = Steps::of(code.instructions(), names);
        let deps = used.iter().map(|name| names.deps(name)).fold(TurnFields::NONE, |all, one| all | one);
        Ok(Template { key: key.to_owned(), steps, names: used.into_iter().collect(), deps })
    }

    /// The filter, test or function that an instruction calls, and whether there is one of that name.
    fn call<'i>(&self, instruction: &Instruction<'i>) -> Option<(&'i str, &'static str, bool)> {
        let mut state = self.env.empty_state();
        match instruction {
            Instruction::ApplyFilter(name, ..) => {
                let known = state.apply_filter(name, &[]).err().is_none_or(|e| e.kind() != ErrorKind::UnknownFilter);
                Some((name, "filter", known))
            }
            Instruction::PerformTest(name, ..) => {
                let known = state.perform_test(name, &[]).err().is_none_or(|e| e.kind() != ErrorKind::UnknownTest);
                Some((name, "test", known))
            }
            Instruction::CallFunction(name, _) => Some((name, "function", state.lookup(name).is_some())),
            _ => None,
        }
    }

    /// The rendered text. The error is for the profile's author.
    pub fn render(&self, template: &Template, scope: &dyn Scope) -> Result<String, String> {
        let mut text = String::with_capacity(template.room());
        self.render_into(template, scope, &mut text)?;
        Ok(text)
    }

    /// The same, added to a text; nothing is added where it fails.
    pub fn render_into(&self, template: &Template, scope: &dyn Scope, text: &mut String) -> Result<(), String> {
        let before = text.len();
        if template.steps.as_ref().and_then(|steps| steps.run(scope, text)).is_none() {
            text.truncate(before);
            text.push_str(&self.render_jinja(template, scope)?);
        }
        Ok(())
    }

    fn render_jinja(&self, template: &Template, scope: &dyn Scope) -> Result<String, String> {
        let compiled = self.env.get_template(&template.key).map_err(|e| e.to_string())?;
        compiled.render(template.context(scope)).map_err(|e| e.to_string())
    }

    /// What [`render`](Self::render) gives, and what of the template wrote it, from which values. `None`: it cannot be told.
    pub fn write(&self, template: &Template, scope: &dyn Scope) -> Option<Written> {
        self.tracing.get_or_init(|| Tracing::new(&self.env, &self.syntax)).write(template, scope)
    }

    /// The value of an expression.
    pub fn evaluate(&self, expression: &Template, scope: &dyn Scope) -> Result<Value, String> {
        self.evaluate_in(expression, expression.context(scope))
    }

    /// The same; lists and maps in it that are a name's, or below it, know their places.
    pub fn evaluate_located(&self, expression: &Template, scope: &dyn Scope) -> Result<Value, String> {
        self.evaluate_in(expression, Value::from_pairs(written::located(expression, scope)))
    }

    /// The place that a value knows; `None`: it knows none.
    #[must_use]
    pub fn place_of(value: &Value) -> Option<&ValuePlace> {
        Located::place_of(value)
    }

    fn evaluate_in(&self, expression: &Template, context: Value) -> Result<Value, String> {
        let compiled = self.env.get_template(&expression.key).map_err(|e| e.to_string())?;
        let captured = compiled.render_captured(context).map_err(|e| e.to_string())?;
        Ok(captured.state().lookup("it").unwrap_or_default())
    }

    /// The paths that an expression compares with constant texts, and the texts.
    pub fn comparisons(&self, expression: &Template) -> Vec<(String, String)> {
        self.env.get_template(&expression.key).map_or_else(|_| Vec::new(), |template| Code::of(&template).comparisons())
    }

    /// Whether a condition holds.
    pub fn holds(&self, condition: &Template, scope: &dyn Scope) -> Result<bool, String> {
        if let Some((name, field)) = condition.steps.as_ref().and_then(Steps::as_path)
            && let Some(text) = scope.text(name, field)
        {
            return Ok(!text.is_empty());
        }
        self.evaluate(condition, scope).map(|value| value.is_true())
    }
}

impl Default for Templates {
    fn default() -> Self {
        Self::new()
    }
}

impl Template {
    /// The name that an expression is, if it is a name and nothing else.
    #[must_use]
    pub fn as_name(&self) -> Option<&str> {
        let (name, field) = self.steps.as_ref()?.as_path()?;
        field.is_empty().then_some(name)
    }

    /// About how many bytes its text takes, where it only puts values into text.
    #[must_use]
    pub fn room(&self) -> usize {
        self.steps.as_ref().map_or(0, Steps::room)
    }

    /// The names that it uses, sorted, without their fields.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    fn context(&self, scope: &dyn Scope) -> Value {
        Value::from_pairs(self.names.iter().map(|name| (name.as_str(), scope.value(name))))
    }
}

/// Where a template finds its values.
pub trait Scope {
    /// The text of a name, or of its field; an empty `field` means the name itself. `None`: it is not text.
    fn text(&self, name: &str, field: &str) -> Option<Cow<'_, str>>;

    /// The value of a name.
    fn value(&self, name: &str) -> Value;
}

/// A scope without any name.
pub(super) struct NoNames;

impl Scope for NoNames {
    fn text(&self, _: &str, _: &str) -> Option<Cow<'_, str>> {
        None
    }

    fn value(&self, _: &str) -> Value {
        Value::UNDEFINED
    }
}

#[cfg(test)]
mod tests;
