//! Payloads: what an action may have in it.

use serde_json::{Map, Value};

use crate::profile::{ActionSpec, OtherFields};

/// The payload with its defaults, its declared fields checked; the error says of each bad field what is wrong.
pub(super) fn checked(
    spec: &ActionSpec,
    others: OtherFields,
    mut given: Map<String, Value>,
) -> Result<Map<String, Value>, String> {
    let mut declared = Map::new();
    let mut faults = Vec::new();
    for field in spec.fields.iter().map(|field| &field.field) {
        match given.shift_remove(&field.name).filter(|value| !value.is_null()) {
            Some(value) => match field.ty.check(&value) {
                Ok(value) => drop(declared.insert(field.name.clone(), value)),
                Err(fault) => faults.push(format!("`{}{}` {}", field.name, fault.path, fault.message)),
            },
            None if field.required => faults.push(format!("`{}` is required", field.name)),
            None => {
                if let Some(default) = field.default.clone().filter(|value| !value.is_null()) {
                    declared.insert(field.name.clone(), default);
                }
            }
        }
    }
    if !faults.is_empty() {
        return Err(faults.join("; "));
    }
    if others == OtherFields::Keep {
        declared.append(&mut given);
    }
    Ok(declared)
}
