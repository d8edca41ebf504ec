//! The catalogue of finding codes: docs/reference/findings.md is generated from it.

use std::fmt::Write as _;

use super::Severity;

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $severity:ident, $remedy:literal;)+) => {
        /// What kind of finding it is. Codes are stable: they may be added, never renamed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $($(#[doc = $doc])+ $variant,)+ }

        impl Code {
            /// Every code, in the catalogue's order.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The stable name, in upper snake case.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// The severity that a finding of this code has where nothing else is said.
            #[must_use]
            pub fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)+ }
            }

            /// What it means: one sentence.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc,)+).trim_ascii(),)+ }
            }

            /// What a person should do about it: one sentence.
            #[must_use]
            pub fn remedy(self) -> &'static str {
                match self { $(Self::$variant => $remedy,)+ }
            }
        }
    };
}

codes! {
    // -- context files and other documents
    /// A context file was longer than its limit or its share of the total.
    ContextFileTruncated = "CONTEXT_FILE_TRUNCATED", Warning, "Shorten the file, or raise `context.max_chars_per_file` or `context.max_chars_total`.";
    /// A context file was left out whole, since not even the marker of a cut would fit.
    ContextFileDropped = "CONTEXT_FILE_DROPPED", Warning, "Raise `context.max_chars_per_file` or `context.max_chars_total`.";
    /// A file that `context.files` names does not exist.
    ContextFileMissing = "CONTEXT_FILE_MISSING", Warning, "Create the file, or remove its entry from `context.files`.";
    /// A part of the workspace was not searched for the files of `context.nested`, or some of them are left out, since a limit was reached.
    NestedSearchLimited = "NESTED_SEARCH_LIMITED", Warning, "Remove what does not belong in the workspace, or name the files that every turn needs in `context.files`.";
    /// A file exists but could not be read.
    FileUnreadable = "FILE_UNREADABLE", Error, "Make it a regular file that the service may read.";
    /// The target of a link is outside the workspace, in a place that the server's config does not name.
    LinkOutside = "LINK_OUTSIDE", Error, "Copy the file into the workspace, or name its folder in `allowed_link_targets`.";
    /// The target of a link does not exist, or links form a circle.
    LinkBroken = "LINK_BROKEN", Warning, "Fix or remove the link.";
    /// A file has the name of a workspace file in another case.
    FileNameCase = "FILE_NAME_CASE", Warning, "Rename it: names are case-sensitive.";
    /// A file is not valid UTF-8; each bad byte became U+FFFD.
    InvalidUtf8 = "INVALID_UTF8", Warning, "Save the file as UTF-8.";
    /// A file was UTF-16 and has been decoded.
    Utf16Decoded = "UTF16_DECODED", Warning, "Save the file as UTF-8.";
    /// Control characters were dropped.
    ControlCharacters = "CONTROL_CHARACTERS", Warning, "Remove them from the file.";
    /// A byte order mark was dropped.
    BomDropped = "BOM_DROPPED", Info, "Nothing: the prompt has no byte order mark.";
    /// Line ends were changed to LF.
    LineEndsChanged = "LINE_ENDS_CHANGED", Info, "Nothing: the prompt has LF alone.";
    /// Two context files are the same file, or have the same bytes.
    SameContent = "SAME_CONTENT", Info, "Keep one, unless both roles are meant: each counts against the limits.";

    // -- workspace.yaml and other YAML
    /// The YAML cannot be parsed.
    YamlSyntax = "YAML_SYNTAX", Error, "Fix the YAML at the place named.";
    /// A key is not known.
    UnknownKey = "UNKNOWN_KEY", Error, "Correct its spelling or its place, or remove it.";
    /// A key is in a mapping twice.
    DuplicateKey = "DUPLICATE_KEY", Error, "Remove one of the two.";
    /// A value has the wrong type.
    WrongType = "WRONG_TYPE", Error, "Give a value of the type named.";
    /// A value is not one of those allowed.
    InvalidValue = "INVALID_VALUE", Error, "Give a value that the message allows.";
    /// A setting of the server has no effect, since the one that turns its part on is not set.
    SettingUnused = "SETTING_UNUSED", Warning, "Set what the message names, or remove the setting.";
    /// `workspace.yaml` was removed or emptied, and its settings would be lost.
    ManifestEmpty = "MANIFEST_EMPTY", Error, "Save `workspace.yaml` with content; `{}` means all defaults.";
    /// YAML ended a value before a ` #`, or took its first word for an anchor: a part of the text may be missing.
    YamlValueCut = "YAML_VALUE_CUT", Warning, "Put the value in quotes, or a comment on a line of its own.";
    /// A workspace that `extends` names is not there, does not name this one in `extendable_by`, or was never valid.
    LayerUnavailable = "LAYER_UNAVAILABLE", Error, "Correct the entry, create or fix that workspace, or name this one in its `extendable_by`.";
    /// Workspaces extend one another in a circle.
    LayerCycle = "LAYER_CYCLE", Error, "Remove the entry, or that of a layer which leads back here.";
    /// A workspace has more layers, or deeper ones, than are taken.
    LayersLimited = "LAYERS_LIMITED", Error, "Extend fewer workspaces.";
    /// A setting has no effect, or less, since a layer locks it or has a stricter limit.
    LayerOverrules = "LAYER_OVERRULES", Warning, "Remove the setting, or ask whoever runs the layer to allow it.";
    /// A layer that the caller may not see has findings.
    LayerFaulty = "LAYER_FAULTY", Warning, "Ask whoever runs the layers of the workspace: `promptd check` shows what it is.";
    /// The service failed while it loaded the workspace.
    LoadFailed = "LOAD_FAILED", Error, "Report it with the workspace's files; the last good version stays in use until the next change.";
    /// What was published last of a workspace cannot be used.
    PublicationInvalid = "PUBLICATION_INVALID", Error, "Do what the message says; the state that was published before stays in use until then.";
    /// The place where workspaces are published does not answer: what is in use may be old.
    SourceAway = "SOURCE_AWAY", Warning, "Bring etcd back; the log of the service says what it answers.";
    /// A file is larger than its reader takes.
    FileTooLarge = "FILE_TOO_LARGE", Error, "Make the file smaller.";

    // -- skills
    /// A SKILL.md cannot be used.
    SkillInvalid = "SKILL_INVALID", Error, "Fix its front matter; the other skills are not affected.";
    /// A SKILL.md works, but departs from the Agent Skills specification.
    SkillNonconforming = "SKILL_NONCONFORMING", Warning, "Follow the specification: lower-case letters, digits and hyphens, equal to the folder's name.";
    /// A line of front matter was repaired.
    SkillFrontMatterRepaired = "SKILL_FRONT_MATTER_REPAIRED", Warning, "Put the value in quotes.";
    /// Two skills have the same name; one is shown.
    SkillDuplicate = "SKILL_DUPLICATE", Warning, "Rename or remove one of them.";
    /// Descriptions were shortened, or skills left out, to keep the skills block within its limits.
    SkillsTruncated = "SKILLS_TRUNCATED", Warning, "Narrow the allowlist, shorten descriptions, or raise the limits under `skills`.";
    /// An allowlist matches no skill.
    SkillAllowlistEmpty = "SKILL_ALLOWLIST_EMPTY", Warning, "Correct the allowlist, or add the skills that it names.";
    /// A glob cannot be parsed.
    GlobInvalid = "GLOB_INVALID", Error, "Correct the glob.";
    /// A configured folder of skills does not exist.
    SkillFolderMissing = "SKILL_FOLDER_MISSING", Warning, "Create the folder, or remove it from the settings.";
    /// Part of the skills tree was not searched, since a limit was reached.
    SkillSearchLimited = "SKILL_SEARCH_LIMITED", Warning, "Move the skill higher, or remove what does not belong there.";

    // -- turns
    /// A value of the request was longer than its limit and was cut.
    ValueTruncated = "VALUE_TRUNCATED", Warning, "Send a shorter value.";
    /// Characters that could forge lines or hide text were removed from a value.
    ValueSanitized = "VALUE_SANITIZED", Warning, "Send the value without line breaks and hidden characters.";
    /// The folder that a turn works in is not one that the workspace was searched for context files; those of the folders above it are shown.
    WorkingDirectoryUnknown = "WORKING_DIRECTORY_UNKNOWN", Warning, "Send the path of a folder of the workspace, relative to it, as `turn.working_directory`.";
    /// A turn says where it works, and nothing of the prompt depends on that.
    WorkingDirectoryUnused = "WORKING_DIRECTORY_UNUSED", Info, "Name the files to look for in `context.nested` of workspace.yaml, and take a profile that shows context files; or leave `turn.working_directory` out.";
    /// A message of the conversation was left out, or something of it is missing: a loss.
    ConversationTruncated = "CONVERSATION_TRUNCATED", Warning, "Correct what the message names, send less, or raise the profile's limit.";
    /// Tool messages without their call, or calls without their results, were left out.
    ConversationUnpaired = "CONVERSATION_UNPAIRED", Warning, "Send a call together with all of its results.";
    /// No message of the conversation is in the prompt, since the profile carries none.
    ConversationNotCarried = "CONVERSATION_NOT_CARRIED", Warning, "Add the messages after the prompt's own, or name a profile that carries a conversation.";
    /// Messages that were trimmed are in no summary that the prompt shows.
    ConversationUncovered = "CONVERSATION_UNCOVERED", Warning, "Send segments that summarise them, or raise the budget.";
    /// The messages that are carried take more estimated tokens than the profile has for them.
    ConversationOverBudget = "CONVERSATION_OVER_BUDGET", Warning, "Summarise the older messages and send their segments, or send shorter ones.";
    /// The profile recalls what was said before, and nothing could be recalled for this turn.
    RecallFailed = "RECALL_FAILED", Warning, "Do what the message says; the prompt is as without `auto_recall`.";
    /// A message of the role system came with a caller's conversation.
    ConversationSystem = "CONVERSATION_SYSTEM", Info, "To refuse such messages, lock `conversation_system` or `ephemeral` in workspace.yaml.";
    /// The id of a tool call was rewritten in `rendered`, since the provider would refuse it.
    ToolCallIdRewritten = "TOOL_CALL_ID_REWRITTEN", Info, "Send ids that are unique and have letters, digits, `_` and `-` alone.";
    /// The profile's own limit on how much is shown left something out, as it is meant to: no loss.
    LimitedByDesign = "LIMITED_BY_DESIGN", Info, "Nothing; if more should be shown, raise the profile's limit, often one of its inputs.";
    /// A section was cut or left out by a budget of its profile, or by that of the whole prompt.
    BudgetExceeded = "BUDGET_EXCEEDED", Warning, "Send less, or raise the budget that the message names.";
    /// The prompt takes 85 % of its budget or more; a warning from 95 % on, and where something was cut.
    BudgetNearlyFull = "BUDGET_NEARLY_FULL", Info, "Raise `budget.max`, or shorten the largest sections, before something is cut.";
    /// A prompt has more spans than one answer may have; some sections have one for all of their text.
    SpansLimited = "SPANS_LIMITED", Info, "Nothing, or ask for spans of a shorter prompt: the text itself is complete.";
    /// What must not be cut exceeds the workspace's budget, so that no prompt can be assembled.
    BudgetTooSmall = "BUDGET_TOO_SMALL", Error, "Raise `budget.max`, or pin less.";
    /// More findings than a response carries.
    FindingsOmitted = "FINDINGS_OMITTED", Info, "Run `promptd check` to see them all.";

    // -- profiles
    /// A profile cannot be used.
    ProfileInvalid = "PROFILE_INVALID", Error, "Fix the profile; the last good version stays in use until then.";
    /// A profile declares an action of replies that no template of it mentions.
    ReplyUntaught = "REPLY_UNTAUGHT", Warning, "Show it, such as with `{{ actions }}`, or give it `hidden: true`.";

    /// A template of the profile failed on the values of this turn.
    TemplateFailed = "TEMPLATE_FAILED", Error, "Fix the template, or the value that it does not expect.";

    // -- replies
    /// An action tag in a reply is malformed and stays in the text.
    ActionMalformed = "ACTION_MALFORMED", Warning, "Nothing to do for the caller: the model wrote it.";
    /// An action in a reply has a name or a field that its profile does not allow, and stays in the text.
    ActionInvalid = "ACTION_INVALID", Warning, "If the profile should allow it, correct its `reply.actions`.";
    /// An action in a reply does not count beside another one, and stays in the text.
    ActionIgnored = "ACTION_IGNORED", Info, "Nothing: the profile says how many actions of a reply count.";
    /// An action in a reply was not valid JSON and could be completed without loss.
    ActionRepaired = "ACTION_REPAIRED", Info, "Nothing: the profile reads JSON leniently.";
    /// An action in a reply was cut off, and a part of it is missing.
    ActionCut = "ACTION_CUT", Warning, "Ask the model again, or give it more output tokens.";
    /// A part of a `kai-ui` screen is not in its catalogue, and is left out.
    ComponentUnknown = "COMPONENT_UNKNOWN", Warning, "Nothing to do for the caller: the model wrote it.";
    /// The payload of an action cannot hold a number of it exactly, or a key that is there twice.
    ActionInexact = "ACTION_INEXACT", Warning, "Read `payload_text` instead of `payload`.";
    /// A team in a reply breaks a rule of the game.
    TeamRule = "TEAM_RULE", Warning, "Repair the team, or ask the model again.";
    /// A team in a reply could not be checked, as the request has no inputs.
    TeamUnchecked = "TEAM_UNCHECKED", Info, "Send the `inputs` that the prompt was assembled with.";
    /// The opening or the closing tag of a reply's thoughts is missing.
    ThoughtsUnpaired = "THOUGHTS_UNPAIRED", Warning, "If text is missing, remove the tag's name from the profile's `reply.thoughts`.";

    // -- snapshots of prompts
    /// The prompt of a workspace's turn is not the one that its snapshot has.
    SnapshotDiffers = "SNAPSHOT_DIFFERS", Error, "If the new prompt is right, run `promptd snapshot`, and commit what it writes.";
    /// A turn in `.promptd/turns` has no snapshot.
    SnapshotMissing = "SNAPSHOT_MISSING", Error, "Run `promptd snapshot`, and commit what it writes.";
    /// A snapshot in `.promptd/turns` has no turn.
    SnapshotUnused = "SNAPSHOT_UNUSED", Warning, "Run `promptd snapshot`, which removes it, or bring the turn back.";

    // -- risks
    /// Text of the workspace has hidden characters.
    HiddenCharacters = "HIDDEN_CHARACTERS", Warning, "Remove them, or set `risks: strip`.";
    /// Text of the workspace forges a heading or a closing tag of the prompt's own.
    ForgedBoundary = "FORGED_BOUNDARY", Warning, "Reword the line, if it was not meant.";
    /// Text of the workspace speaks to the model as its system prompt.
    InjectionPhrase = "INJECTION_PHRASE", Info, "Read the line; text that warns of such phrases is fine.";
}

/// The catalogue as a Markdown table.
#[must_use]
pub fn markdown() -> String {
    let mut out = String::from("| code | severity | meaning | what to do |\n|---|---|---|---|\n");
    for code in Code::ALL {
        let (name, severity) = (code.as_str(), code.severity().as_str());
        let _ = writeln!(out, "| `{name}` | {severity} | {} | {} |", code.meaning(), code.remedy());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_upper_snake_case_and_every_code_says_what_to_do() {
        let mut seen = std::collections::BTreeSet::new();
        for code in Code::ALL {
            assert!(seen.insert(code.as_str()), "{} twice", code.as_str());
            assert!(code.as_str().bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_'));
            assert!(code.meaning().ends_with('.') && code.remedy().ends_with('.'), "{}", code.as_str());
        }
    }
}
