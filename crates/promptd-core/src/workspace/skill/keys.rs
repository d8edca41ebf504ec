//! The keys of a SKILL.md's front matter: what it is read by, and its JSON Schema.

use serde_json::Value;

use super::draft::MAX_NAME_SHOWN;
use crate::yaml::{
    schema::{document, mapping},
    shape::{Key, Shape, Text},
};

/// The JSON Schema of the front matter of a SKILL.md: what must be so for the skill to be used. Other keys are allowed, as
/// agents have keys of their own.
#[must_use]
pub fn schema() -> Value {
    let description = "The front matter of a skill, as the Agent Skills specification has it.";
    let mut root = mapping(&KEYS);
    root["additionalProperties"] = true.into();
    document("Front matter of a SKILL.md", description, root)
}

pub(super) const NAME: Key = Key::new(
    "name",
    Shape::Scalar(Text { pattern: None, most: Some(MAX_NAME_SHOWN) }),
    "The skill's name, that of its folder: 1 to 64 lower-case letters and digits with single hyphens between them. Another name is reported, and used. Absent: the folder's.",
);
pub(super) const DESCRIPTION: Key = Key::new(
    "description",
    Shape::Scalar(Text::like(r"\S")),
    "What the skill does and when to use it: a model chooses it by this text. Longer ones are cut to `skills.max_description_chars`.",
)
.required();

/// Those of the specification, and those that hide a skill, in their commonest spelling: see `hides`.
const KEYS: [Key; 8] = [
    NAME,
    DESCRIPTION,
    Key::new("license", Shape::Any, "The licence of the skill, or the file that has it. Not shown to models."),
    Key::new("compatibility", Shape::Any, "What the skill needs of its environment. Not shown to models."),
    Key::new("allowed-tools", Shape::Any, "The tools that the skill may use without asking. promptd does not read it."),
    Key::new(
        "metadata",
        Shape::Any,
        "Other facts about the skill, such as its author or version. promptd does not read it.",
    ),
    Key::new("disable-model-invocation", Shape::Any, "`true` hides the skill from models.").or("false"),
    Key::new("enabled", Shape::Any, "`false` hides the skill from models.").or("true"),
];
