//! The keys of `workspace.yaml`: what the file is read by, and its JSON Schema.

use serde_json::Value;

use super::{Lock, values::MAX_EXTRA_FILES};
use crate::{
    id,
    text::cut::Keep,
    tokens::Encoding,
    yaml::{
        schema,
        shape::{Key, Shape, Text, names},
    },
};

/// The JSON Schema of `workspace.yaml`. Whether there is a profile, an input or a time zone of the name that is given only
/// the service knows.
#[must_use]
pub fn schema() -> Value {
    let description = "What an operator sets for one workspace of promptd. Every key is optional.";
    schema::document("workspace.yaml", description, schema::mapping(ROOT))
}

const LOCKS: [&str; 8] = names(&Lock::NAMES);

/// One line that is not blank.
const ONE_LINE: Text = Text::like(
    r"^\s*[^\s\u0000-\u001f\u007f-\u009f\u2028\u2029]([^\u0000-\u001f\u007f-\u009f\u2028\u2029]*[^\s\u0000-\u001f\u007f-\u009f\u2028\u2029])?\s*$",
);

/// A path that stays below the folder that it starts from, and is safe to print. See `is_inside`.
const INSIDE: Text = Text::like(
    r"^(?!\.{1,2}(/|$))[^/\\:\u0000-\u001f\u007f-\u009f]+(/(?!\.{1,2}(/|$))[^/\\:\u0000-\u001f\u007f-\u009f]+)*$",
);

/// The name of a file. See `nested`.
const FILE_NAME: Text = Text::like(r"^(?!\.{1,2}$)[^/\\:\u0000-\u001f\u007f-\u009f]+$");

/// The keys of the file.
pub(super) const ROOT: &[Key] = &[
    Key::new("extends", Shape::Texts(Text::like(id::PATTERN)), "The workspaces that this one has as its layers, by id, from far to near, such as `[org, team]`; at most 8. Each must name this one in its `extendable_by`.")
        .or("[]"),
    Key::new("extendable_by", Shape::Texts(GLOB), "Globs over the ids of the workspaces that may extend this one. Absent: none may.")
        .or("[]"),
    Key::new("agent", Shape::Map(AGENT), "How the agent is named, and how it speaks."),
    Key::new("profile", Shape::Text(Text::like(id::PATTERN)), "The recipe that prompts are assembled by; `promptd profile list` shows all.")
        .or("five-layer"),
    Key::new("context", Shape::Map(CONTEXT), "The context files: how much of them is shown, and which there are beyond AGENTS.md, SOUL.md and IDENTITY.md."),
    Key::new("heartbeat", Shape::Map(HEARTBEAT), "Turns that the heartbeat timer starts."),
    Key::new("expose_paths", Shape::Bool, "Whether prompts may show absolute paths of the server's machine; `false` shows ids and `skill://` addresses.")
        .or("true"),
    Key::new("locked", Shape::Choices { words: &LOCKS, least: 0 }, "What a turn may not set; one that does is refused with PERMISSION_DENIED. `ephemeral` includes `conversation_system`.")
        .or("[]"),
    Key::new("inputs", Shape::Pairs, "Values for inputs that the profile declares, used where a turn gives none; `promptd profile show NAME` lists them."),
    Key::new("skills", Shape::Map(SKILLS), "Which skills prompts show."),
    Key::new("budget", Shape::Map(BUDGET), "The most that a whole prompt may take, its conversation included, and what its sections have of that."),
];

const BUDGET: &[Key] = &[
    Key::new("max", Shape::Count, "How much, 1 or more. Absent: only a turn that brings a budget has one."),
    Key::new("unit", Shape::Choice(&UNITS), "What is counted.").or(TOKENS),
    Key::new("encoding", Shape::Choice(&ENCODINGS), "How tokens are counted.").or("o200k_base"),
    Key::new("sections", Shape::Named(SECTION), "By the id of a section, or `conversation`."),
];

/// The word for a budget in tokens, which is the default.
const TOKENS: &str = "tokens";
const UNITS: [&str; 2] = [TOKENS, "chars"];
const ENCODINGS: [&str; 2] = {
    let [first, second] = Encoding::ALL;
    [first.as_str(), second.as_str()]
};

const SECTION: &[Key] = &[
    Key::new(
        "floor",
        Shape::Count,
        "How much the section gets, if it needs that, before another gets more than its own floor.",
    )
    .or("0"),
    Key::new("ceiling", Shape::Count, "The most that it gets, also of a prompt that fits into the budget."),
    Key::new("priority", Shape::Count, "0 to 100. Sections of a higher priority get what they need before the others.")
        .or("50"),
    Key::new("pinned", Shape::Bool, "Whether it is never cut.").or("false"),
];

const AGENT: &[Key] = &[
    Key::new("id", Shape::Text(ONE_LINE), "The agent's id in the runtime facts. Default: the workspace's id."),
    Key::new("name", Shape::Text(ONE_LINE), "The agent's name in the runtime facts. Default: the workspace's id."),
    Key::new("persona", Shape::Text(Text::ANY), "Shown below the heading Persona; SOUL.md does not replace it. A turn may override it. Blank: none."),
    Key::new("time_zone", Shape::Text(Text::like(r"^\S+$")), "The zone of the clock in the runtime facts, by its IANA name, such as `Europe/Berlin`. A turn may override it.")
        .or("UTC"),
    Key::new("skip_context_files", Shape::Bool, "Leaves the context files out of every prompt.").or("false"),
    Key::new("ephemeral_system_prompt", Shape::Text(Text::ANY), "The last system message of every turn that does not set its own. Blank: none."),
];

const CONTEXT: &[Key] = &[
    Key::new("max_chars_per_file", Shape::Count, "The most characters shown of one context file; 0: none fit.")
        .or("4000"),
    Key::new("max_chars_total", Shape::Count, "The most characters shown of all context files together; 0: none fit.")
        .or("12000"),
    Key::new(
        "files",
        Shape::Each { keys: FILE, most: MAX_EXTRA_FILES },
        "Files beyond AGENTS.md, SOUL.md and IDENTITY.md, in the order in which prompts show them.",
    )
    .or("[]"),
    Key::new(
        "nested",
        Shape::Texts(FILE_NAME),
        "Names of files, such as `AGENTS.md`, that are context files in every folder from the workspace's own down to `turn.working_directory`; at most 8.",
    )
    .or("[]"),
    Key::new(
        "append",
        Shape::Texts(INSIDE),
        "Files, such as `AGENTS.md`, that are shown behind those of the same path that the layers of `extends` have. All others replace them.",
    )
    .or("[]"),
];

const FILE: &[Key] = &[
    Key::new(
        "path",
        Shape::Text(INSIDE),
        "Relative to the workspace, such as `docs/RUNBOOK.md`; one of the three that are always looked for only with `max_chars`, `priority` or `keep`.",
    )
    .required(),
    Key::new(
        "purpose",
        Shape::Text(Text::like(r"^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$")),
        "What the file is for, on one line. Blank: no line about it.",
    ),
    Key::new(
        "max_chars",
        Shape::Count,
        "The most characters shown of this file, instead of `max_chars_per_file`; `max_chars_total` holds all the same.",
    ),
    Key::new(
        "priority",
        Shape::Choice(&[PINNED]),
        "`pinned`: it gets what it needs of `max_chars_total` before the other files share the rest.",
    ),
    Key::new("keep", Shape::Choice(&KEEPS), "Which end of the file survives a cut: its beginning, its end, or half of each.")
        .or("head"),
];

/// The word for a file that gets what it needs before others.
const PINNED: &str = "pinned";
const KEEPS: [&str; 3] = names(&Keep::NAMES);

const HEARTBEAT: &[Key] = &[Key::new(
    "protocol",
    Shape::Text(Text::ANY),
    "Replaces the built-in protocol of heartbeat turns. Blank or null: the built-in one.",
)];

const SKILLS: &[Key] = &[
    Key::new("enabled", Shape::Bool, "`false` leaves the skills out of every prompt.").or("true"),
    Key::new(
        "allowlist",
        Shape::Texts(GLOB),
        "Globs over skill names, without regard to case. Absent: all skills; `[]`: none.",
    ),
    Key::new("blocklist", Shape::Texts(GLOB), "Globs over skill names and folder names; it wins over the allowlist.")
        .or("[]"),
];

/// A glob that is not empty; how it must be written is more than a pattern can say.
const GLOB: Text = Text { pattern: Some("."), most: Some(crate::globs::MAX_GLOB_BYTES) };
