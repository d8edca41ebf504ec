//! The values of a profile's inputs: the turn's, else the workspace's, else a file's text, else the default.

use minijinja::Value;
use serde_json::{Map, Value as Json};

use super::TurnError;
use crate::{
    profile::{Input, Mismatch, Profile, check_object, to_rendered},
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

/// Whether a workspace's `inputs` fit the profile that it names. The path begins with a dot.
pub fn check(profile: &Profile, inputs: &Map<String, Json>) -> Result<(), Mismatch> {
    check_names(profile, inputs)?;
    for input in &profile.inputs {
        if let Some(value) = inputs.get(&input.field.name).filter(|v| !v.is_null()) {
            checked(input, value)?;
        }
    }
    Ok(())
}

/// A given value, checked against its declaration. The path begins with a dot.
fn checked(input: &Input, value: &Json) -> Result<Json, Mismatch> {
    let at = |below: &str| format!(".{}{below}", input.field.name);
    let checked = input.field.ty.check(value).map_err(|e| Mismatch { path: at(&e.path), message: e.message })?;
    if input.is_limit && checked.as_f64().is_some_and(|number| number < 0.0) {
        return Err(Mismatch { path: at(""), message: "is a budget, so it must be 0 or more".into() });
    }
    Ok(checked)
}

fn check_names(profile: &Profile, given: &Map<String, Json>) -> Result<(), Mismatch> {
    let fields: Vec<_> =
        profile.inputs.iter().map(|input| crate::profile::Field { required: false, ..input.field.clone() }).collect();
    let unknown = given.keys().find(|key| fields.iter().all(|field| field.name != **key));
    let Some(unknown) = unknown else { return Ok(()) };
    let only: Map<String, Json> = [(unknown.clone(), Json::Null)].into_iter().collect();
    check_object(&fields, &only)
        .map(|_| ())
        .map_err(|e| Mismatch { message: format!("{} (profile `{}`)", e.message, profile.name), ..e })
}

fn invalid(mismatch: &Mismatch) -> TurnError {
    TurnError::invalid(format!("turn.inputs{}", mismatch.path), mismatch.message.clone())
}
