//! The values of a profile's inputs: the turn's, else the workspace's, else a file's text, else the default.

use minijinja::Value;
use serde_json::{Map, Value as Json};

use super::{super::validate::TurnError, TurnScope};
use crate::{
    profile::{Amount, Input, Mismatch, Profile, Share, check_names, checked, to_rendered},
    workspace::Snapshot,
};

/// The value of every declared input, in declared order.
pub(crate) fn resolve(
    profile: &Profile,
    snapshot: &Snapshot,
    turn: &Map<String, Json>,
) -> Result<Vec<Value>, TurnError> {
    check_names(profile, turn).map_err(|e| invalid(&e))?;
    let value = |input: &Input| {
        let field = &input.field;
        let given =
            turn.get(&field.name).or_else(|| snapshot.manifest.inputs.get(&field.name)).filter(|v| !v.is_null());
        let file = input.default_from.as_deref().and_then(|path| snapshot.documents.get(path));
        match (given, file) {
            (Some(value), _) => Ok(to_rendered(&checked(input, value).map_err(|e| invalid(&e))?)),
            (None, Some(document)) => Ok(Value::from(&*document.text)),
            (None, None) if field.required => {
                let path = format!(".{}", field.name);
                Err(invalid(&Mismatch { path, message: format!("is required by the profile `{}`", profile.name) }))
            }
            (None, None) => Ok(to_rendered(&field.absent())),
        }
    };
    profile.inputs.iter().map(value).collect()
}

fn invalid(mismatch: &Mismatch) -> TurnError {
    TurnError::invalid(format!("turn.inputs{}", mismatch.path), mismatch.message.clone())
}

impl TurnScope<'_> {
    /// The value of a declared input.
    #[must_use]
    pub(crate) fn input(&self, name: &str) -> Option<&Value> {
        let index = self.profile.inputs.iter().position(|input| input.field.name == name)?;
        self.inputs.get(index)
    }

    /// A number, or its input's value; `None`: the input has none, or a negative one.
    #[must_use]
    pub(crate) fn amount(&self, amount: &Amount) -> Option<u64> {
        match amount {
            Amount::Fixed(number) => Some(*number),
            Amount::Input(name) => self.input(name)?.as_i64().and_then(|number| u64::try_from(number).ok()),
        }
    }

    /// A share, or its input's value, clamped to 0..=1.
    #[must_use]
    pub(crate) fn share(&self, share: &Share) -> f64 {
        let share = match share {
            Share::Fixed(share) => Some(*share),
            Share::Input(name) => self.input(name).and_then(|value| f64::try_from(value.clone()).ok()),
        };
        share.filter(|share| !share.is_nan()).unwrap_or(0.0).clamp(0.0, 1.0)
    }
}
