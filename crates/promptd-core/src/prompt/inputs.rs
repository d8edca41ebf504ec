//! The values of a profile's inputs: the turn's, else the workspace's, else a file's text, else the default.

use minijinja::Value;
use serde_json::{Map, Value as Json};

use super::TurnError;
use crate::{
    profile::{Input, Mismatch, Profile, check_names, checked, to_rendered},
    workspace::Snapshot,
};

/// The value of every declared input, in declared order.
pub fn resolve(profile: &Profile, snapshot: &Snapshot, turn: &Map<String, Json>) -> Result<Vec<Value>, TurnError> {
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
