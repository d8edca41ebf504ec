//! The values of a profile's inputs: the turn's, else the workspace's, else a file's text, else the default.

use minijinja::Value;
use serde_json::Value as Json;

use super::{super::validate::TurnError, Files, TurnScope};
use crate::{
    finding::Finding,
    profile::{Amount, Input, Mismatch, Profile, SectionSpec, Share, ToolAllowlist, check_names, checked, to_rendered},
    prompt::{document, output::Size},
    text::cut::Cut,
    turn::Turn,
    workspace::{ContextSettings, Document, Snapshot},
};

/// The values of a profile's inputs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Inputs {
    /// In declared order; empty where a required one is missing.
    pub values: Vec<Value>,
    /// The inputs that are the text of a file, of which a limit kept a part out.
    losses: Vec<InputLoss>,
}

/// An input that is the text of a file, of which a limit kept a part out.
#[derive(Debug, Clone)]
pub(crate) struct InputLoss {
    input: String,
    /// Why, for a person.
    pub reason: String,
    /// The size of the file's text.
    pub original: Size,
    /// The size of what is left of it.
    pub included: Size,
    pub finding: Finding,
}

impl Inputs {
    /// Resolves every declared input.
    ///
    /// # Errors
    ///
    /// The turn gives an input that is not declared or of another type, or not one that is required.
    pub(crate) fn resolve(profile: &Profile, snapshot: &Snapshot, turn: &Turn) -> Result<Self, TurnError> {
        check_names(profile, &turn.inputs).map_err(|e| invalid(&e))?;
        let files = Files::new(snapshot, profile, turn);
        let mut inputs = Self { values: Vec::with_capacity(profile.inputs.len()), losses: Vec::new() };
        for input in &profile.inputs {
            let context = &snapshot.manifest.context;
            let value = match Given::of(input, snapshot, turn, files) {
                Given::Turn(value) | Given::Workspace(value) => given_value(input, value)?,
                Given::File(document) => inputs.text_of(input, document, files.limit(&document.path), context),
                Given::Absent => absent_value(input, profile)?,
            };
            inputs.values.push(value);
        }
        inputs.allow_tools(profile);
        Ok(inputs)
    }

    /// Leaves of the given tools those that the profile allows; whether there is any follows from what is left.
    fn allow_tools(&mut self, profile: &Profile) {
        let index = |name: &str| profile.inputs.iter().position(|input| input.field.name == name);
        let Some(tools) = index(ToolAllowlist::INPUT).filter(|_| profile.takes_tools()) else { return };
        if self.values[tools].is_none() {
            return;
        }
        let value = |name: &str| self.values[index(name)?].as_str().map(ToOwned::to_owned);
        if let Some(allowed) = profile.tool_allowlist.as_ref().and_then(|list| list.names(value)) {
            let is_allowed = |tool: &Value| tool_name(tool).is_some_and(|name| allowed.contains(&name));
            self.values[tools] = items(&self.values[tools]).filter(is_allowed).collect();
        }
        let is_any = items(&self.values[tools]).next().is_some();
        if let Some(any) = index(ToolAllowlist::ANY_INPUT) {
            self.values[any] = is_any.into();
        }
    }

    /// The names of the tools that are allowed; empty where the profile takes none, or none was given.
    pub(crate) fn allowed_tools(&self, profile: &Profile) -> Vec<String> {
        let tools = profile.inputs.iter().position(|input| input.field.name == ToolAllowlist::INPUT);
        let tools = tools.filter(|_| profile.takes_tools()).and_then(|index| self.values.get(index));
        tools.into_iter().flat_map(items).filter_map(|tool| tool_name(&tool)).collect()
    }

    /// The text of a file, at most `limit` characters of it.
    fn text_of(&mut self, input: &Input, document: &Document, limit: usize, context: &ContextSettings) -> Value {
        if document.chars <= limit {
            return Value::from(&*document.text);
        }
        let name = input.field.name.clone();
        let original = document::original(document);
        let (text, loss) = match document::cut(document, limit, context) {
            Cut::Whole(text) => return Value::from(text),
            Cut::Part(excerpt) => {
                let reason = document::cut_reason(document, excerpt.shown);
                let (included, finding) =
                    (document::shown_size(&excerpt), document::truncated(document, excerpt.shown));
                (excerpt.text, InputLoss { input: name, reason, original, included, finding })
            }
            Cut::Dropped => {
                let (reason, finding) = (document::no_room(limit), document::dropped(document));
                let included = Size::default();
                (String::new(), InputLoss { input: name, reason, original, included, finding })
            }
        };
        self.losses.push(loss);
        Value::from(text)
    }

    /// The loss of an input that a section shows.
    pub(crate) fn loss_in(&self, section: &SectionSpec) -> Option<&InputLoss> {
        self.losses.iter().find(|loss| section.uses(&loss.input))
    }
}

/// What gives an input its value.
#[derive(Clone, Copy)]
pub(super) enum Given<'a> {
    Turn(&'a Json),
    Workspace(&'a Json),
    /// The text of a file.
    File(&'a Document),
    /// Nothing: it has its default.
    Absent,
}

impl<'a> Given<'a> {
    pub(super) fn of(input: &Input, snapshot: &'a Snapshot, turn: &'a Turn, files: Files<'_>) -> Self {
        let name = &input.field.name;
        let given = match turn.inputs.get(name) {
            Some(value) => Some(Self::Turn(value)),
            None => snapshot.manifest.inputs.get(name).map(Self::Workspace),
        };
        let is_value = |given: &Self| !matches!(given, Self::Turn(Json::Null) | Self::Workspace(Json::Null));
        given.filter(is_value).unwrap_or_else(|| {
            let file = input.default_from.as_deref().filter(|path| !files.skips(path));
            file.and_then(|path| snapshot.document(path)).map_or(Self::Absent, Self::File)
        })
    }
}

/// The items of a list; none of anything else.
fn items(list: &Value) -> impl Iterator<Item = Value> + use<> {
    list.try_iter().into_iter().flatten()
}

pub(super) fn tool_name(tool: &Value) -> Option<String> {
    tool.get_attr("name").ok()?.as_str().map(ToOwned::to_owned)
}

fn given_value(input: &Input, value: &Json) -> Result<Value, TurnError> {
    Ok(to_rendered(&checked(input, value).map_err(|e| invalid(&e))?))
}

fn absent_value(input: &Input, profile: &Profile) -> Result<Value, TurnError> {
    if !input.field.required {
        return Ok(to_rendered(&input.field.absent()));
    }
    let path = format!(".{}", input.field.name);
    Err(invalid(&Mismatch { path, message: format!("is required by the profile `{}`", profile.name) }))
}

fn invalid(mismatch: &Mismatch) -> TurnError {
    TurnError::invalid(format!("turn.inputs{}", mismatch.path), mismatch.message.clone())
}

impl TurnScope<'_> {
    /// The value of a declared input.
    #[must_use]
    pub(crate) fn input(&self, name: &str) -> Option<&Value> {
        let index = self.profile.inputs.iter().position(|input| input.field.name == name)?;
        self.inputs.values.get(index)
    }

    /// A number, or its input's value, which its range keeps from being negative; `None`: the input has none.
    #[must_use]
    pub(crate) fn amount(&self, amount: &Amount) -> Option<u64> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a fraction of one counts for nothing, and what is beyond 2^64 is as good as that"
        )]
        let whole = |number: f64| number as u64;
        match amount {
            Amount::Fixed(number) => Some(*number),
            Amount::Input(name) => f64::try_from(self.input(name)?.clone()).ok().map(whole),
        }
    }

    /// A share, or its input's value, which its range keeps between 0 and 1; 0: the input has none.
    #[must_use]
    pub(crate) fn share(&self, share: &Share) -> f64 {
        match share {
            Share::Fixed(share) => *share,
            Share::Input(name) => self.input(name).and_then(|value| f64::try_from(value.clone()).ok()).unwrap_or(0.0),
        }
    }
}
