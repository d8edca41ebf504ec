//! Given values held to the inputs that a profile declares.

use serde_json::{Map, Value as Json};

use super::{Field, Input, Mismatch, Profile, types::check_object};

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
pub fn checked(input: &Input, value: &Json) -> Result<Json, Mismatch> {
    let at = |below: &str| format!(".{}{below}", input.field.name);
    let checked = input.field.ty.check(value).map_err(|e| Mismatch { path: at(&e.path), message: e.message })?;
    if input.is_limit && checked.as_f64().is_some_and(|number| number < 0.0) {
        return Err(Mismatch { path: at(""), message: "is a budget, so it must be 0 or more".into() });
    }
    Ok(checked)
}

/// Whether every name is declared.
pub fn check_names(profile: &Profile, given: &Map<String, Json>) -> Result<(), Mismatch> {
    let fields: Vec<_> = profile.inputs.iter().map(|input| Field { required: false, ..input.field.clone() }).collect();
    let unknown = given.keys().find(|key| fields.iter().all(|field| field.name != **key));
    let Some(unknown) = unknown else { return Ok(()) };
    let only: Map<String, Json> = [(unknown.clone(), Json::Null)].into_iter().collect();
    check_object(&fields, &only)
        .map(|_| ())
        .map_err(|e| Mismatch { message: format!("{} (profile `{}`)", e.message, profile.name), ..e })
}
