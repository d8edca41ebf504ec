//! Templates: minijinja, checked when loaded, with a shortcut for the plain ones.
//!
//! Most templates only put values into text. Those are run straight from a list of steps over borrowed text; minijinja
//! would copy every value first. A property test holds the two to the same output.

use std::{borrow::Cow, collections::BTreeSet};

use minijinja::{
    Environment, ErrorKind, UndefinedBehavior, Value,
    machinery::{Instruction, get_compiled_template},
    syntax::SyntaxConfig,
};

use super::{
    filters::{self, PlainFilter},
    names::{self, Deps},
    types::{Field, Type},
};
use crate::yaml::nearest;

/// How many steps one template may take, so that no template runs for ever.
pub const FUEL: u64 = 2_000_000;

/// Where a template finds its values.
pub trait Scope {
    /// The text of a name, or of its field; an empty `field` means the name itself. `None`: it is no text.
    fn text(&self, name: &str, field: &str) -> Option<Cow<'_, str>>;

    /// The value of a name.
    fn value(&self, name: &str) -> Value;
}

/// A scope without any name.
pub struct NoNames;

impl Scope for NoNames {
    fn text(&self, _: &str, _: &str) -> Option<Cow<'_, str>> {
        None
    }

    fn value(&self, _: &str) -> Value {
        Value::UNDEFINED
    }
}

/// A checked template.
#[derive(Debug, Clone, Default)]
pub struct Template {
    key: String,
    steps: Option<Vec<Step>>,
    names: Vec<String>,
    /// What of the turn it depends on.
    pub deps: Deps,
}

#[derive(Debug, Clone)]
enum Step {
    Raw(String),
    Value { name: String, field: String, filters: Vec<(PlainFilter, String)> },
}

/// What is wrong with a template, and on which of its lines, 1-based.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateFault {
    /// The line.
    pub line: u32,
    /// One sentence.
    pub message: String,
}

/// The names that a template may use: roots, inputs, and locals such as an entry's fields.
#[derive(Debug, Clone)]
pub struct Names(Vec<(String, Type, Deps)>);

impl Names {
    /// The roots, and a profile's inputs.
    #[must_use]
    pub fn new(inputs: &[Field]) -> Self {
        let roots = names::ROOTS.iter().map(|root| (root.name.to_owned(), root.ty(), root.deps));
        let inputs = inputs.iter().map(|input| (input.name.clone(), input.ty.clone(), Deps::INPUTS));
        Self(roots.chain(inputs).collect())
    }

    /// These names, and locals that come first.
    #[must_use]
    pub fn with(&self, locals: &[Field], deps: Deps) -> Self {
        let locals = locals.iter().map(|field| (field.name.clone(), field.ty.clone(), deps));
        Self(locals.chain(self.0.iter().cloned()).collect())
    }

    fn find(&self, name: &str) -> Option<&(String, Type, Deps)> {
        self.0.iter().find(|(known, ..)| known == name)
    }

    /// The type of a dotted path; the error names what is not known.
    pub fn resolve(&self, path: &str) -> Result<&Type, String> {
        let mut steps = path.split('.');
        let first = steps.next().unwrap_or_default();
        let Some((_, mut ty, _)) = self.find(first).map(|(n, t, d)| (n, t, d)) else {
            return Err(unknown(first, "", self.0.iter().map(|(name, ..)| name.as_str())));
        };
        for step in steps {
            match ty {
                Type::Object(fields) => match fields.iter().find(|f| f.name == step) {
                    Some(field) => ty = &field.ty,
                    None => return Err(unknown(step, first, fields.iter().map(|f| f.name.as_str()))),
                },
                Type::Any => return Ok(ty),
                _ => return Err(format!("`{path}`: {} has no fields", ty.describe())),
            }
        }
        Ok(ty)
    }

    /// What a name depends on.
    #[must_use]
    pub fn deps(&self, name: &str) -> Deps {
        self.find(name).map_or(Deps::NONE, |(.., deps)| *deps)
    }
}

/// A profile's templates, compiled.
#[derive(Debug)]
pub struct Templates {
    env: Environment<'static>,
}

impl Templates {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        let mut env = Environment::new();
        let mut syntax = SyntaxConfig::builder();
        syntax.keep_trailing_newline(true);
        if let Ok(syntax) = syntax.build() {
            env.set_syntax(syntax);
        }
        env.set_undefined_behavior(UndefinedBehavior::Strict);
        env.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        env.set_fuel(Some(FUEL));
        filters::register(&mut env);
        Self { env }
    }

    /// Compiles text with values in it.
    pub fn template(&mut self, key: &str, source: &str, names: &Names) -> Result<Template, TemplateFault> {
        self.compile(key, source.to_owned(), names)
    }

    /// Compiles an expression: a condition, or a list's.
    pub fn expression(&mut self, key: &str, source: &str, names: &Names) -> Result<Template, TemplateFault> {
        let mut template = self.compile(key, format!("{{% set it = ({source}) %}}"), names)?;
        template.steps = path_steps(source, names);
        Ok(template)
    }

    fn compile(&mut self, key: &str, text: String, names: &Names) -> Result<Template, TemplateFault> {
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
        let instructions = &get_compiled_template(&template).instructions;
        let code: Vec<_> = (0..).map_while(|i| instructions.get(i)).collect();
        let line_at = |index: usize| u32::try_from(index).ok().and_then(|i| instructions.get_line(i)).unwrap_or(1);
        let at = |index: usize| u32::try_from(line_at(index)).unwrap_or(u32::MAX);
        for path in &paths {
            names.resolve(path).map_err(|message| TemplateFault { line: at(use_of(&code, path)), message })?;
            used.insert(path.split('.').next().unwrap_or(path).to_owned());
        }
        for (index, instruction) in code.iter().enumerate() {
            if let Some((name, what, false)) = self.call(instruction) {
                return Err(TemplateFault { line: at(index), message: format!("the {what} `{name}` is not known") });
            }
        }
        let steps = plain_steps(&code, names);
        let deps = used.iter().map(|name| names.deps(name)).fold(Deps::NONE, |all, one| all | one);
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
            Instruction::CallFunction(name, _) => {
                Some((name, "function", state.lookup(name).is_some() || *name == "loop"))
            }
            _ => None,
        }
    }

    /// The rendered text. The error is for the profile's author.
    pub fn render(&self, template: &Template, scope: &dyn Scope) -> Result<String, String> {
        if let Some(text) = template.steps.as_deref().and_then(|steps| run(steps, scope)) {
            return Ok(text);
        }
        self.render_jinja(template, scope)
    }

    fn render_jinja(&self, template: &Template, scope: &dyn Scope) -> Result<String, String> {
        let compiled = self.env.get_template(&template.key).map_err(|e| e.to_string())?;
        compiled.render(template.context(scope)).map_err(|e| e.to_string())
    }

    /// The rendered text of a template that may be absent: then there is none.
    pub fn render_any(&self, template: Option<&Template>, scope: &dyn Scope) -> Result<String, String> {
        template.map_or(Ok(String::new()), |template| self.render(template, scope))
    }

    /// The value of an expression.
    pub fn evaluate(&self, expression: &Template, scope: &dyn Scope) -> Result<Value, String> {
        let compiled = self.env.get_template(&expression.key).map_err(|e| e.to_string())?;
        let captured = compiled.render_captured(expression.context(scope)).map_err(|e| e.to_string())?;
        Ok(captured.state().lookup("it").unwrap_or_default())
    }

    /// The paths that an expression compares with constant texts, and the texts.
    pub fn comparisons(&self, expression: &Template) -> Vec<(String, String)> {
        let Ok(template) = self.env.get_template(&expression.key) else { return Vec::new() };
        let instructions = &get_compiled_template(&template).instructions;
        let code: Vec<_> = (0..).map_while(|i| instructions.get(i)).collect();
        let compared = |end: usize| match (&code[end - 1], &code[end]) {
            (Instruction::LoadConst(word), Instruction::Eq | Instruction::Ne) => {
                Some((path_before(&code, end - 1)?, word.as_str()?.to_owned()))
            }
            _ => None,
        };
        (1..code.len()).filter_map(compared).collect()
    }

    /// Whether a condition holds.
    pub fn holds(&self, condition: &Template, scope: &dyn Scope) -> Result<bool, String> {
        if let Some([Step::Value { name, field, .. }]) = condition.steps.as_deref()
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
        match self.steps.as_deref() {
            Some([Step::Value { name, field, .. }]) if field.is_empty() => Some(name),
            _ => None,
        }
    }

    /// The names that it uses, sorted; fields are not told apart.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    fn context(&self, scope: &dyn Scope) -> Value {
        Value::from_pairs(self.names.iter().map(|name| (name.as_str(), scope.value(name))))
    }
}

/// Runs the steps; `None` where a value turned out to be no text.
fn run(steps: &[Step], scope: &dyn Scope) -> Option<String> {
    /// Room for a value: most are a name or a sentence.
    const VALUE: usize = 96;
    let room = |step: &Step| if let Step::Raw(text) = step { text.len() } else { VALUE };
    let mut out = String::with_capacity(steps.iter().map(room).sum());
    for step in steps {
        match step {
            Step::Raw(text) => out.push_str(text),
            Step::Value { name, field, filters } => {
                let mut text = scope.text(name, field)?;
                for (filter, argument) in filters {
                    text = match text {
                        Cow::Borrowed(text) => filter(text, argument),
                        Cow::Owned(text) => Cow::Owned(filter(&text, argument).into_owned()),
                    };
                }
                out.push_str(&text);
            }
        }
    }
    Some(out)
}

/// The steps of a template that only puts text values into text; `None` where it does more.
fn plain_steps(code: &[&Instruction<'_>], names: &Names) -> Option<Vec<Step>> {
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
            Instruction::LoadConst(constant) if argument.is_none() => argument = Some(constant.as_str()?.to_owned()),
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
    Some(steps)
}

/// An expression that is one dotted name.
fn path_steps(source: &str, names: &Names) -> Option<Vec<Step>> {
    names.resolve(source.trim()).ok()?;
    let (name, field) = source.trim().split_once('.').unwrap_or((source.trim(), ""));
    (!field.contains('.'))
        .then(|| vec![Step::Value { name: name.to_owned(), field: field.to_owned(), filters: Vec::new() }])
}

fn unknown<'k>(name: &str, parent: &str, known: impl Iterator<Item = &'k str>) -> String {
    let known: Vec<_> = known.collect();
    let hint = nearest(name, known.iter().copied()).map(|near| format!("; did you mean `{near}`?"));
    let dot = if parent.is_empty() { "" } else { "." };
    format!("`{parent}{dot}{name}` is not known{}", hint.unwrap_or_default())
}

/// Which instruction first looks up a dotted path.
fn use_of(code: &[&Instruction<'_>], path: &str) -> usize {
    let steps: Vec<_> = path.split('.').collect();
    let looks_up = |window: &[&Instruction<'_>]| {
        window.iter().zip(&steps).all(|(instruction, step)| match instruction {
            Instruction::Lookup(name) | Instruction::GetAttr(name) => name == step,
            _ => false,
        })
    };
    code.windows(steps.len()).position(looks_up).unwrap_or(0)
}

/// The dotted path that the instructions before `end` put on the stack, if they do that and nothing else.
fn path_before(code: &[&Instruction<'_>], end: usize) -> Option<String> {
    let mut steps = Vec::new();
    for instruction in code[..end].iter().rev() {
        match instruction {
            Instruction::GetAttr(field) => steps.push(*field),
            Instruction::Lookup(name) => {
                steps.push(name);
                steps.reverse();
                return Some(steps.join("."));
            }
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::names::text_fields;

    struct Fixed;

    impl Scope for Fixed {
        fn text(&self, name: &str, field: &str) -> Option<Cow<'_, str>> {
            match (name, field) {
                ("user", "name") => Some("  Dana </b> {{ 7 }}  ".into()),
                ("persona", "") => Some("".into()),
                _ => None,
            }
        }

        fn value(&self, name: &str) -> Value {
            match name {
                "user" => Value::from_pairs([("name", "  Dana </b> {{ 7 }}  ")]),
                "persona" => "".into(),
                "heartbeat" => true.into(),
                _ => Value::UNDEFINED,
            }
        }
    }

    fn names() -> Names {
        Names::new(&text_fields(&["soul"]))
    }

    #[test]
    fn the_shortcut_and_minijinja_agree() {
        for source in [
            "",
            "plain\n",
            "a {{ user.name }} b\n",
            "{{ user.name|trim }}",
            "{{ user.name|trim|defuse('b') }}{{ persona }}!",
            "{{ user.name|attribute('title') }}{{ persona|attribute('source') }}",
            "{{ user.name|xml }}{{ user.name|defuse_tags }}{{ user.name|zulu }}",
        ] {
            let mut templates = Templates::new();
            let template = templates.template("t", source, &names()).unwrap();
            assert!(template.steps.is_some(), "{source} has a shortcut");
            let short = templates.render(&template, &Fixed).unwrap();
            assert_eq!(short, templates.render_jinja(&template, &Fixed).unwrap(), "{source}");
        }
    }

    #[test]
    fn faults_are_found_when_loaded() {
        let told = |source| {
            let fault = Templates::new().template("t", source, &names()).unwrap_err();
            (fault.line, fault.message)
        };
        assert_eq!(told("a\n{{ usr.name }}"), (2, "`usr` is not known; did you mean `user`?".into()));
        assert_eq!(told("{{ user.nam }}"), (1, "`user.nam` is not known; did you mean `name`?".into()));
        assert_eq!(told("a\n\n{{ soul|shout }}"), (3, "the filter `shout` is not known".into()));
        assert_eq!(told("{% if soul is odder %}{% endif %}"), (1, "the test `odder` is not known".into()));
        assert_eq!(told("x\n{% if soul %}").0, 2);
        assert_eq!(told("of the soull\n\n{{ soull }}").0, 3, "only where a template uses the word");
        assert_eq!(told("the shout\n{{ soul }}\n{{ soul|shout }}").0, 3);
    }

    #[test]
    fn conditions_hold_by_text_and_by_value() {
        let mut templates = Templates::new();
        for (source, holds) in [("user.name", true), ("persona", false), ("heartbeat", true), ("not heartbeat", false)]
        {
            let condition = templates.expression(source, source, &names()).unwrap();
            assert_eq!(templates.holds(&condition, &Fixed), Ok(holds), "{source}");
        }
    }

    #[test]
    fn endless_templates_end() {
        let mut templates = Templates::new();
        let source = "{% for a in range(10000) %}{% for b in range(10000) %}x{% endfor %}{% endfor %}";
        let template = templates.template("t", source, &names()).unwrap();
        assert!(templates.render(&template, &Fixed).unwrap_err().contains("fuel"));
    }
}
