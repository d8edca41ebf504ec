//! The keys of a profile: what the file is read by, and what its JSON Schema is made of.

use super::{
    spec::ReplyContract,
    words::{
        ACKNOWLEDGEMENTS, FORMS, KINDS, LIMITS, OTHERS, OVERFLOWS, PLACEMENTS, READINGS, ROLES, STABILITIES, STAGES,
        TOOLS, TYPES, UNITS,
    },
};
use crate::{
    id, kai_ui,
    yaml::shape::{Key, Shape, Text, names},
};

const REPLY_WORDS: [&str; 3] = ReplyContract::WORDS;
const ACKNOWLEDGEMENT_WORDS: [&str; 2] = names(&ACKNOWLEDGEMENTS);
const FORM_WORDS: [&str; 3] = names(&FORMS);
const READING_WORDS: [&str; 2] = names(&READINGS);
const OTHER_WORDS: [&str; 2] = names(&OTHERS);
const PLACEMENT_WORDS: [&str; 3] = names(&PLACEMENTS);
const BLOCKS: [&str; 1] = [kai_ui::BLOCK];
const TOOL_WORDS: [&str; 2] = names(&TOOLS);
const UNIT_WORDS: [&str; 6] = names(&UNITS);
const OVERFLOW_WORDS: [&str; 2] = names(&OVERFLOWS);
const ROLE_WORDS: [&str; 3] = names(&ROLES);
const STABILITY_WORDS: [&str; 3] = names(&STABILITIES);
const STAGE_WORDS: [&str; 2] = names(&STAGES);
const LIMIT_WORDS: [&str; 1] = names(&LIMITS);

const TEXT: Shape = Shape::Text(Text::ANY);

/// A path below the workspace; only the file's name may have `?`. See `FilePattern`.
const PATTERN: Text = Text::like(r"^((?!\.{1,2}/)[^/\\?\u0000]+/)*(?!\.{1,2}$)[^/\\\u0000]+$");
const STAGES_OF: Shape = Shape::Choices { words: &STAGE_WORDS, least: 1 };

/// Of a profile.
pub(super) const ROOT: &[Key] = &[
    Key::new("name", Shape::Text(Text::like(id::PATTERN)), "Its name; absent: the file's without `.yaml`."),
    Key::new("extends", TEXT, "The profile that it extends: only what differs needs to be here."),
    Key::new("description", TEXT, "A sentence or two for a person."),
    Key::new("cache", Shape::Choice(&PLACEMENT_WORDS), "Where a provider is asked to keep a prefix: `plan`, by the stability of sections; `trailing`, the same, and a system message behind the conversation stays there, in the role that the provider allows; `as_system`, as kern places the marks.").or("plan"),
    Key::new("order", Shape::Texts(Text::ANY), "In an extending profile: the names of the messages that come first, in their order, with `conversation` for the conversation."),
    Key::new("tool_allowlist", Shape::TextsOrMap(Text::ANY, TOOL_ALLOWLIST), "The names of the tools that the input `tools` may have, or lists of them by the value of another input; absent: all."),
    Key::new(
        "reply",
        Shape::WordOrMap(&REPLY_WORDS, REPLY),
        "How replies are read: a word, or a contract with `actions`.",
    ),
    Key::new(
        "inputs",
        Shape::Pairs,
        "What callers may give, by name: a type's name alone, or a declaration with `type`.",
    ),
    Key::new("budgets", Shape::Named(BUDGET), "Limits that sections share, by name."),
    Key::new(
        "messages",
        Shape::Each { keys: MESSAGE, most: usize::MAX },
        "The messages, in order; one of them may be `conversation`.",
    ),
];

/// Of `tool_allowlist`, where it has a list for each value of an input.
const TOOL_ALLOWLIST: &[Key] = &[
    Key::new("by", TEXT, "The input whose value selects the list; for a value without a list all tools are allowed.")
        .required(),
    Key::new("lists", Shape::Each { keys: TOOL_LIST, most: usize::MAX }, "The lists."),
];

/// Of one of `lists`.
const TOOL_LIST: &[Key] = &[
    Key::new("value", TEXT, "A value of the input.").required(),
    Key::new("names", Shape::Texts(Text::ANY), "The names of the tools that it allows.").required(),
];

/// Of `reply`.
pub(super) const REPLY: &[Key] = &[
    Key::new("acknowledgement", Shape::Choice(&ACKNOWLEDGEMENT_WORDS), "What acknowledges a heartbeat: `exact`, a reply that is the token or nothing; `anywhere`, one that has the token as a word.").or("exact"),
    Key::new("thoughts", Shape::Texts(Text::like("^[A-Za-z][A-Za-z0-9_-]*$")), "The names of the tags that hold thoughts; `[]`: none.")
        .or("[think, thinking, thought, reasoning]"),
    Key::new("form", Shape::Choice(&FORM_WORDS), "How an action is written: `tags`, `[TAG:{…}]` in the text; `json`, one JSON object that is the reply; `team`, numbers of cards that the profile lists.").or("tags"),
    Key::new("json", Shape::Choice(&READING_WORDS), "How JSON is read: `lenient`, also where it is cut off or misspelt, with `form: json`.").or("strict"),
    Key::new("other_fields", Shape::Choice(&OTHER_WORDS), "What happens to fields that an action does not declare.").or("keep"),
    Key::new("blocks", Shape::Choices { words: &BLOCKS, least: 0 }, "The fenced blocks of a reply that are read, with `form: tags`.").or("[]"),
    Key::new("actions", Shape::Pairs, "The actions, by their tag or by the value of `action`."),
];

/// Of one of `actions`.
pub(super) const ACTION: &[Key] = &[
    Key::new("remove", Shape::Bool, "In an extending profile: removes the action.").or("false"),
    Key::new("description", TEXT, "A sentence for the model, or for a person."),
    Key::new("fields", Shape::Pairs, "Its fields, by name, in the form of inputs."),
    Key::new("first_only", Shape::Bool, "With `form: tags`: only the first of a reply counts, be it good or bad.")
        .or("false"),
    Key::new("exclusive", Shape::Bool, "With `form: tags`: if it is there, it is the only action of the reply.")
        .or("false"),
    Key::new("strip", Shape::Bool, "With `form: tags`: whether it is taken out of the text.").or("true"),
    Key::new("hidden", Shape::Bool, "It is read, and not among the actions that templates show.").or("false"),
];

/// Of one of `budgets`.
pub(super) const BUDGET: &[Key] = &[
    Key::new("limit", Shape::Amount, "A whole number, or the name of an input that has it.").required(),
    Key::new("unit", Shape::Choice(&UNIT_WORDS), "What is counted: `chars` are Unicode scalar values, `utf16` code units, `tokens` those of `o200k_base`, `estimate` estimated tokens.")
        .or("chars"),
    Key::new("on_overflow", Shape::Choice(&OVERFLOW_WORDS), "`close`: after the first entry that does not fit nothing more is taken, in any section. `next_section`: later sections go on with what is left.")
        .or("close"),
];

/// Of one of `messages`.
pub(super) const MESSAGE: &[Key] = &[
    Key::new("name", TEXT, "Its name in answers."),
    Key::new("role", Shape::Choice(&ROLE_WORDS), "Whose message it is.").or("system"),
    Key::new("separator", TEXT, "The text between two sections; it belongs to none. Default: one blank line."),
    Key::new("ephemeral", Shape::Bool, "Whether it must not be written to a history.").or("false"),
    Key::new(
        "card",
        Shape::Bool,
        "Whether it is for a card that the app shows, and not for the model; then it has no `role`.",
    )
    .or("false"),
    Key::new("remove", Shape::Bool, "In an extending profile: removes the message.").or("false"),
    Key::new("sections", Shape::Each { keys: SECTION, most: usize::MAX }, "Its sections, in order."),
    Key::new("conversation", Shape::Map(CONVERSATION), "Instead of `name`: here goes the caller's conversation."),
];

/// Of `conversation`.
const CONVERSATION: &[Key] = &[
    Key::new("when", TEXT, "An expression that must be true; otherwise the conversation is left out."),
    Key::new("stages", STAGES_OF, "The stages that it is part of. Absent: both."),
    Key::new("window", Shape::Amount, "How many of the newest messages; absent: all."),
    Key::new("deduplicate", Shape::Bool, "Whether a message with the id of an earlier one is left out.").or("false"),
    Key::new("tools", Shape::Choice(&TOOL_WORDS), "Has no effect; accepted from older profiles."),
    Key::new("template", TEXT, "How text of users and assistants is written: `content`, `speaker`, `time`."),
    Key::new(
        "max_tool_result_chars",
        Shape::Amount,
        "The most UTF-16 code units of one tool result; 0 or absent: no limit.",
    ),
    Key::new(
        "max_tokens",
        Shape::Amount,
        "Trims the oldest messages to so many estimated tokens, 0: no limit; with `summary_budget`.",
    ),
    Key::new(
        "keep_unsummarised",
        Shape::Scalar(Text::ANY),
        "An expression, with `max_tokens`: whether messages that no summary covers are kept from trimming.",
    ),
    Key::new(
        "auto_recall",
        Shape::Scalar(Text::ANY),
        "An expression, with `max_tokens`: whether the service finds, for a turn that names a session, messages before the window that bear on the user's newest one; they are the input `recall`.",
    ),
    Key::new(
        "summary_budget",
        Shape::Share,
        "The part of `max_tokens` that summaries may take, 0 to 1; with `max_tokens`.",
    ),
];

/// Of one of `sections`.
pub(super) const SECTION: &[Key] = &[
    Key::new("id", TEXT, "Its name in reports; no two sections of a profile share one.").required(),
    Key::new("remove", Shape::Bool, "In an extending profile: removes the section.").or("false"),
    Key::new(
        "move",
        Shape::Bool,
        "In an extending profile: takes the section out of the message that the base has it in.",
    )
    .or("false"),
    Key::new("after", TEXT, "In an extending profile: the section that a new one follows."),
    Key::new("when", TEXT, "An expression that must be true; otherwise the section is left out."),
    Key::new("omitted", TEXT, "The reason that is reported when it is left out, for a person."),
    Key::new("stability", Shape::Choice(&STABILITY_WORDS), "How often it changes: `stable` only with the workspace.")
        .or("volatile"),
    Key::new("stages", STAGES_OF, "The stages that it is part of. Absent: both."),
    Key::new("separator", TEXT, "The text before it, instead of the message's separator."),
    Key::new(
        "file",
        Shape::Text(PATTERN),
        "The workspace file that it is made from; if it is missing, the section is left out. `?` in the name is a digit, and the greatest name that matches is taken.",
    ),
    Key::new("keep_empty", Shape::Bool, "With `file`: an empty file is shown too.").or("false"),
    Key::new("fallback", TEXT, "With `file`: the text if there is no such file."),
    Key::new(
        "limit",
        Shape::Choice(&LIMIT_WORDS),
        "`context_file`: the file's text is cut to `context.max_chars_per_file` of the workspace, or to its default.",
    ),
    Key::new("budget", TEXT, "With `each`: the budget that its entries are counted against."),
    Key::new("whole", Shape::Bool, "With `budget`: all entries, or none.").or("false"),
    Key::new("template", TEXT, "Its text."),
    Key::new("each", TEXT, "A list; `entry` is the template for each of its items."),
    Key::new("header", TEXT, "The text before the entries."),
    Key::new("entry", TEXT, "The template of one entry."),
    Key::new("between", TEXT, "The text between two entries."),
    Key::new("footer", TEXT, "The text behind the entries."),
    Key::new("kind", Shape::Choice(&KINDS), "A body that a template alone cannot make."),
    Key::new(
        "facts",
        Shape::Each { keys: FACT, most: usize::MAX },
        "With the kind `facts`: a line for each that is known.",
    ),
    Key::new(
        "files",
        Shape::Each { keys: FILE, most: usize::MAX },
        "With the kind `context_files`: the files that are always looked for.",
    ),
];

/// Of one of `facts`.
const FACT: &[Key] = &[
    Key::new("label", TEXT, "What the line begins with.").required(),
    Key::new("value", TEXT, "The name of a value that templates have, such as `user.id`.").required(),
];

/// Of one of `files`.
const FILE: &[Key] = &[
    Key::new("path", TEXT, "Relative to the workspace.").required(),
    Key::new("purpose", TEXT, "What the file is for.").required(),
];

/// Of one of `inputs`.
pub(super) const INPUT: &[Key] = &[
    Key::new("type", Shape::Choice(&TYPES), "What it is.").required(),
    Key::new("one_of", Shape::Texts(Text::ANY), "The words that a string may be."),
    Key::new("of", Shape::Any, "An object's fields, or what a list is of; in the same form as an input."),
    Key::new("min", Shape::Number, "The least number that it takes."),
    Key::new("max", Shape::Number, "The greatest number that it takes."),
    Key::new("required", Shape::Bool, "Whether a turn without it is refused.").or("false"),
    Key::new("description", TEXT, "A sentence for a person."),
    Key::new(
        "default",
        Shape::Any,
        "Its value if absent; `null`: none. Without one, absent text is empty, a bool is false, a list is empty, and all else is none.",
    ),
    Key::new("default_from", TEXT, "The workspace file whose text it is if absent."),
    Key::new("stability", Shape::Choice(&STABILITY_WORDS), "How often its value changes: `stable`, it is the workspace's, and a turn only overrides it; `session`, each turn of a session gives the same; `volatile`, it can change every turn. A section cannot be more stable than the inputs that it reads.")
        .or("session"),
];

/// Of a field of an action, beside the keys of an input.
pub(super) const NUMBER_AS_TEXT: Key =
    Key::new("number_as_text", Shape::Bool, "With `form: json`: a number among the `parameters` is taken as its text.")
        .or("false");
