//! `memory`.

use promptd_core::yaml::Fields;
use promptd_memory::{Keep, Options};

use super::read::{path, size, span};
use crate::config::{Base, Overrides};

pub(super) fn options(mut fields: Fields<'_, '_>, base: &Base<'_>, overrides: &Overrides) -> Option<Options> {
    let dir = path(&mut fields, "store", base);
    let mut kept = fields.fields("keep");
    let (age, bytes) = (span(&mut kept, "age"), size(&mut kept, "bytes"));
    kept.finish();
    fields.finish();
    // Unset: no bound.
    let keep = Keep { age: Some(age).filter(|age| !age.is_zero()), bytes: Some(bytes as u64).filter(|&most| most > 0) };
    Some(Options { dir: overrides.memory.clone().or(dir)?, keep })
}
