//! Profiles: the recipes that prompts are assembled by, as data.
//!
//! A profile is one YAML file: ordered messages of ordered sections, each with a condition, a template or a kind, a
//! budget and a stability. [`raw`] decodes it with every value's place, [`extend`] lays it over the one it extends,
//! [`compile`] checks it, and [`spec::Profile`] is what assembly runs on. `docs/profiles.md` is the manual.

#[cfg(test)]
mod check_tests;
mod compile;
mod docs;
mod extend;
mod file_pattern;
mod filters;
mod inputs;
mod keys;
mod load;
#[cfg(test)]
mod manual_tests;
mod names;
mod range;
mod rates;
mod raw;
mod schema;
mod set;
mod spec;
mod taught;
mod template;
mod types;
mod words;

pub use docs::{extension_tree, inputs_markdown, sections_markdown};
pub use file_pattern::FilePattern;
pub use inputs::{check as check_inputs, complete as complete_inputs};
pub(crate) use inputs::{check_names, checked};
pub use load::{ProfileFile, load};
pub use range::Range;
pub use schema::schema;
pub use set::ProfileSet;
pub use spec::{
    Acknowledgement, ActionField, ActionForm, ActionSpec, Actions, Amount, Block, Body, Budget, CachePlacement,
    ConversationSpec, Each, Fact, Input, JsonReading, MessageSpec, OnOverflow, OtherFields, Part, Profile,
    RECALL_INPUT, ReplyContract, SectionSpec, Share, Stability, SummaryTree, ToolAllowlist, TrimSpec, Unit, Visibility,
};
pub use taught::Taught;
pub use template::{Scope, Step, Template, Templates, ValuePlace, Written, WrittenPart, WrittenValue};
pub use types::{Field, Mismatch, Type, check_object, to_rendered};

use crate::id::Id;

/// The profile used where nothing is said.
#[must_use]
pub fn default_id() -> Id {
    #[expect(clippy::expect_used, reason = "a literal of the grammar")]
    Id::parse("five-layer").expect("a valid id")
}
