//! Profiles as `ListProfiles` and `GetProfile` show them.

use crate::proto;
use promptd_core::profile::{Input, Profile};

/// With its inputs, sections and source.
#[must_use]
pub fn profile(profile: &Profile) -> proto::Profile {
    let sections = profile.sections().map(|(message, section)| proto::ProfileSection {
        id: section.id.clone(),
        message: message.name.clone(),
        gate: section.gate.clone(),
        stability: proto::Stability::from(section.stability).into(),
    });
    proto::Profile {
        sections: sections.collect(),
        source: profile.source.to_string(),
        ..profile_summary(profile, true)
    }
}

/// As lists have it: without sections and source.
#[must_use]
pub fn profile_summary(profile: &Profile, inputs: bool) -> proto::Profile {
    proto::Profile {
        name: profile.name.to_string(),
        description: profile.description.clone(),
        built_in: profile.built_in,
        inputs: if inputs { profile.inputs.iter().map(input).collect() } else { Vec::new() },
        sections: Vec::new(),
        source: String::new(),
    }
}

fn input(input: &Input) -> proto::ProfileInput {
    let range = input.field.ty.range().unwrap_or_default();
    proto::ProfileInput {
        name: input.field.name.clone(),
        r#type: input.field.ty.describe(),
        required: input.field.required,
        description: input.field.description.clone(),
        min: range.min,
        max: range.max,
    }
}
