//! What of a template wrote which bytes of its text, and from which value.
//!
//! minijinja says which place of the source wrote what. Which value that was, only a running template knows: of a loop, of a
//! condition. So a second environment, which nothing but this uses, has the same templates with every `{{ value }}` passed
//! through a filter that notes where the value is, and gives it back as it is. Lists and maps know their places themselves.

use std::{
    collections::{BTreeMap, VecDeque},
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use minijinja::{
    Environment, OutputSpanKind, State, Value,
    machinery::{Token, parse, tokenize},
    syntax::SyntaxConfig,
    value::{Object, ValueKind},
};

use super::{
    FUEL, Scope, Template,
    expressions::{Candidate, Expressions, Path},
    located::{Located, Step, ValuePlace},
};

/// The filter that notes a value, and the name of the notes in a template's context. Templates are checked without either.
const FILTER: &str = "noted_";
const NOTES: &str = "notes of the trace";
/// Noting takes steps of its own, and the text was made before within the limit.
const TRACE_FUEL: u64 = 8 * FUEL;
/// How many names a value is followed through: `{% set %}` and loops over names that are set.
const MAX_NAMES: usize = 8;

/// What a template wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The text.
    pub text: String,
    /// What wrote it, in order: every byte once.
    pub parts: Vec<WrittenPart>,
}

/// Bytes that one place of a template wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenPart {
    /// How many bytes.
    pub len: usize,
    /// The value that they were made from; `None`: they are the template's own.
    pub value: Option<WrittenValue>,
}

/// A value that a template wrote, or made what it wrote from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenValue {
    /// Where it is.
    pub place: ValuePlace,
    /// The name of the attribute that it was written as: ` name="value"`.
    pub attribute: Option<String>,
    /// Whether it is the value itself, and not only what another one was made from.
    pub exact: bool,
}

/// The templates of a profile, as they are traced.
#[derive(Debug)]
pub(super) struct Tracing {
    env: Environment<'static>,
    /// By the template's key.
    expressions: BTreeMap<String, Arc<Noted>>,
}

/// The expressions of one template, with their places in the source that is run.
#[derive(Debug)]
struct Noted {
    expressions: Expressions,
    /// Where each of them is, in order.
    places: Vec<Range<usize>>,
}

impl Tracing {
    /// The same templates, traced.
    pub(super) fn new(of: &Environment<'static>, syntax: &SyntaxConfig) -> Self {
        let mut env = of.clone();
        env.set_fuel(Some(TRACE_FUEL));
        env.add_filter(FILTER, note);
        let mut expressions = BTreeMap::new();
        for (key, template) in of.templates() {
            let Some((noted, source)) = Noted::new(template.source(), syntax) else { continue };
            if env.add_template_owned(key.to_owned(), source).is_ok() {
                expressions.insert(key.to_owned(), noted.into());
            }
        }
        Self { env, expressions }
    }

    /// What the template writes; `None`: it cannot be told.
    pub(super) fn write(&self, template: &Template, scope: &dyn Scope) -> Option<Written> {
        let of = self.expressions.get(&template.key)?;
        let notes = Notes { of: Arc::clone(of), values: Mutex::default() };
        let notes = Value::from_object(notes);
        let names = located(template, scope).chain([(NOTES.to_owned(), notes.clone())]);
        let compiled = self.env.get_template(&template.key).ok()?;
        let (text, spans) = compiled.render_with_spans(Value::from_pairs(names)).ok()?;
        let mut values = notes.downcast_object_ref::<Notes>()?.take();
        let mut parts = Vec::with_capacity(spans.len());
        let mut end = 0;
        for span in &spans {
            let output = span.output_range();
            if output.start != end {
                return None;
            }
            end = output.end;
            let value = match span.kind() {
                OutputSpanKind::Expression => {
                    of.index(span.source_range()).and_then(|index| values.get_mut(&index)?.pop_front()?)
                }
                _ => None,
            };
            parts.push(WrittenPart { len: output.len(), value });
        }
        (end == text.len()).then_some(Written { text, parts })
    }
}

/// The values of a template's names; lists and maps know their places.
pub(super) fn located(template: &Template, scope: &dyn Scope) -> impl Iterator<Item = (String, Value)> {
    template.names.iter().map(move |name| (name.clone(), Located::wrap(scope.value(name), || ValuePlace::root(name))))
}

impl Noted {
    /// The expressions of a source, and the source with each of them noted. `None`: it cannot be read.
    fn new(source: &str, syntax: &SyntaxConfig) -> Option<(Self, String)> {
        let expressions = Expressions::of(&parse(source, "", syntax.clone()).ok()?);
        let (mut noted, mut places, mut copied) = (String::with_capacity(2 * source.len()), Vec::new(), 0);
        let mut start = 0;
        for token in tokenize(source, false, syntax.clone()) {
            let (token, span) = token.ok()?;
            let index = places.len();
            let is_noted = expressions.list.get(index).is_some_and(|expression| !expression.captured);
            let at = match token {
                Token::VariableStart => span.end_offset as usize,
                Token::VariableEnd => span.start_offset as usize,
                _ => continue,
            };
            noted.push_str(source.get(copied..at)?);
            copied = at;
            if matches!(token, Token::VariableStart) {
                start = noted.len();
                noted.push_str(if is_noted { "(" } else { "" });
            } else {
                if is_noted {
                    noted.extend([")|", FILTER, "(", &index.to_string(), ")"]);
                }
                places.push(start..noted.len());
            }
        }
        noted.push_str(source.get(copied..)?);
        (places.len() == expressions.list.len()).then_some((Self { expressions, places }, noted))
    }

    /// The expression that a part of the source is in; `None`: it is in none, as a filter's block is.
    fn index(&self, source: Range<usize>) -> Option<usize> {
        let index = self.places.partition_point(|place| place.end < source.end);
        self.places.get(index).filter(|place| place.start <= source.start).map(|_| index)
    }
}

/// The values that the expressions of a running template wrote.
#[derive(Debug)]
struct Notes {
    of: Arc<Noted>,
    /// By expression, in order: empty ones are not there, since they wrote nothing.
    values: Mutex<BTreeMap<usize, VecDeque<Option<WrittenValue>>>>,
}

impl Object for Notes {}

impl Notes {
    fn take(&self) -> BTreeMap<usize, VecDeque<Option<WrittenValue>>> {
        std::mem::take(&mut *self.values.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, index: usize, value: Option<WrittenValue>) {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        values.entry(index).or_default().push_back(value);
    }
}

/// The filter: the value as it is.
fn note(state: &State<'_, '_>, value: Value, index: usize) -> Value {
    let notes = state.lookup(NOTES);
    if let Some(notes) = notes.as_ref().and_then(|notes| notes.downcast_object_ref::<Notes>())
        && !value.to_string().is_empty()
    {
        let finder = Finder { state, expressions: &notes.of.expressions };
        notes.add(index, finder.written(index, &value));
    }
    value
}

/// Finds out which value an expression wrote.
struct Finder<'s, 't, 'e> {
    state: &'s State<'t, 'e>,
    expressions: &'s Expressions,
}

impl Finder<'_, '_, '_> {
    /// Of the values that the expression may have written, the one that is equal to what it wrote; else the first that is
    /// something. `None`: it wrote a text of its own.
    fn written(&self, index: usize, value: &Value) -> Option<WrittenValue> {
        let mut first = None;
        for candidate in &self.expressions.list.get(index)?.candidates {
            match candidate {
                Candidate::Constant(text) if value.as_str() == Some(text) => return None,
                Candidate::Constant(_) => {}
                Candidate::Value(path, attribute) => {
                    let Some((found, place, exact)) = self.find(path, 0) else { continue };
                    // A number that was made of a text, such as its length, is not part of it.
                    let exact = exact && (found == *value || value.kind() == ValueKind::String);
                    let written = || WrittenValue { place, attribute: attribute.clone(), exact };
                    if found == *value {
                        return Some(written());
                    }
                    if first.is_none() && (found.is_true() || found.is_undefined()) {
                        first = Some(written());
                    }
                }
            }
        }
        first
    }

    /// The value of a path, its place, and whether that is its own place.
    fn find(&self, path: &Path, depth: usize) -> Option<(Value, ValuePlace, bool)> {
        let mut value = self.state.lookup(&path.name)?;
        let mut place = match self.expressions.bindings.get(&path.name) {
            None => Some(ValuePlace::root(&path.name)),
            Some(_) if Located::place_of(&value).is_some() => Located::place_of(&value).cloned(),
            Some(binding) if binding.is_loop && path.steps.is_empty() => self.item(binding.of.iter(), &value, depth),
            Some(_) => None,
        };
        for step in &path.steps {
            value = value.get_item(step).ok().filter(|value| !value.is_undefined())?;
            place = Located::place_of(&value).cloned().or_else(|| place.map(|place| place.below(Step::by(step))));
        }
        match place {
            Some(place) => Some((value, place, true)),
            None if depth < MAX_NAMES => {
                let of = &self.expressions.bindings.get(&path.name)?.of;
                let (_, place, _) = of.iter().find_map(|path| self.find(path, depth + 1))?;
                Some((Value::UNDEFINED, place, false))
            }
            None => None,
        }
    }

    /// The place of an item that a loop goes through, if it is one of a list's own: the one of the loop's index, else the first
    /// that is equal.
    fn item<'p>(&self, mut of: impl Iterator<Item = &'p Path>, item: &Value, depth: usize) -> Option<ValuePlace> {
        let (list, place, exact) = of.find_map(|path| self.find(path, depth + 1)).filter(|_| depth < MAX_NAMES)?;
        if !exact {
            return None;
        }
        let index = self.state.lookup("loop").and_then(|each| each.get_attr("index0").ok());
        let here = index.filter(|index| list.get_item(index).is_ok_and(|here| here == *item));
        let index = match here {
            Some(index) => index,
            None => list.try_iter().ok()?.position(|other| other == *item)?.into(),
        };
        Some(place.below(Step::by(&index)))
    }
}
