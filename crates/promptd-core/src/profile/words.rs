//! The words that a profile's keys may have, and what each means.

use super::spec::{Acknowledgement, ActionForm, CachePlacement, JsonReading, OnOverflow, OtherFields, Stability, Unit};
use crate::turn::{Role, Stage};

pub(super) const ACKNOWLEDGEMENTS: [(&str, Acknowledgement); 2] =
    [("exact", Acknowledgement::Exact), ("anywhere", Acknowledgement::Anywhere)];

pub(super) const FORMS: [(&str, ActionForm); 3] =
    [("tags", ActionForm::Tags), ("json", ActionForm::Json), ("team", ActionForm::Team)];

pub(super) const READINGS: [(&str, JsonReading); 2] =
    [("strict", JsonReading::Strict), ("lenient", JsonReading::Lenient)];

pub(super) const OTHERS: [(&str, OtherFields); 2] = [("keep", OtherFields::Keep), ("drop", OtherFields::Drop)];

pub(super) const UNITS: [(&str, Unit); 6] = [
    ("chars", Unit::Chars),
    ("utf16", Unit::Utf16),
    ("bytes", Unit::Bytes),
    ("tokens", Unit::Tokens),
    ("estimate", Unit::Estimate),
    ("entries", Unit::Entries),
];

pub(super) const OVERFLOWS: [(&str, OnOverflow); 2] =
    [("close", OnOverflow::Close), ("next_section", OnOverflow::NextSection)];

pub(super) const PLACEMENTS: [(&str, CachePlacement); 3] =
    [("plan", CachePlacement::Plan), ("trailing", CachePlacement::Trailing), ("as_system", CachePlacement::AsSystem)];

pub(super) const ROLES: [(&str, Role); 3] =
    [("system", Role::System), ("user", Role::User), ("assistant", Role::Assistant)];

pub(super) const STABILITIES: [(&str, Stability); 3] =
    [("stable", Stability::Stable), ("session", Stability::Session), ("volatile", Stability::Volatile)];

pub(super) const STAGES: [(&str, Stage); 2] = [("first", Stage::First), ("synthesis", Stage::Synthesis)];

pub(super) const KINDS: [&str; 5] = ["context_files", "skills", "facts", "active_skill", "summary_tree"];

/// Of a section's `limit`: whether its file is cut.
pub(super) const LIMITS: [(&str, bool); 1] = [("context_file", true)];

/// Of profiles written before: calls and results are paired under every profile now.
pub(super) const TOOLS: [(&str, ()); 2] = [("all", ()), ("paired", ())];

/// The types of inputs.
pub(super) const TYPES: [&str; 8] = ["string", "bool", "int", "number", "time", "any", "list", "object"];
