//! Lines that read as if the prompt itself had written them, or speak to the model as if they were its system.

use crate::finding::Severity;

/// The headings of the prompt's own layers. The last three are words that files use honestly for their own sections,
/// so they are only notes.
const HEADINGS: [(&str, Severity); 13] = [
    ("# Workspace Context", Severity::Warning),
    ("## Runtime Facts", Severity::Warning),
    ("## Knowledge Context", Severity::Warning),
    ("## Conversation Summary", Severity::Warning),
    ("## Response Format", Severity::Warning),
    ("### Selection Rules", Severity::Warning),
    ("### Available Skills", Severity::Warning),
    ("## AGENTS.md", Severity::Warning),
    ("## SOUL.md", Severity::Warning),
    ("## IDENTITY.md", Severity::Warning),
    ("## Persona", Severity::Info),
    ("## Skills", Severity::Info),
    ("## Heartbeat", Severity::Info),
];

/// The elements that wrap data in prompts.
const ELEMENTS: [&str; 9] = [
    "available_skills",
    "skill",
    "knowledge",
    "snippet",
    "document",
    "conversation_summary",
    "recall",
    "search_results",
    "workspace_context",
];

/// The heading of ours that `line` copies, without regard to case, spacing and closing marks.
pub(super) fn heading(line: &str) -> Option<(Severity, String)> {
    let line = line.trim();
    let level = line.len() - line.trim_start_matches('#').len();
    let rest = &line[level..];
    if !(1..=3).contains(&level) || !rest.starts_with(char::is_whitespace) {
        return None;
    }
    let text: Vec<_> = rest.trim_end_matches('#').split_whitespace().collect();
    let text = text.join(" ");
    HEADINGS.iter().find_map(|(ours, severity)| {
        let words = ours.trim_start_matches('#');
        let same = ours.len() - words.len() == level && words.trim().eq_ignore_ascii_case(&text);
        same.then(|| (*severity, (*ours).to_owned()))
    })
}

/// The closing tag of ours in `line`.
pub(super) fn closing_tag(line: &str) -> Option<(Severity, String)> {
    line.match_indices("</").find_map(|(at, _)| {
        let rest = line[at + 2..].trim_start();
        let name = rest.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next()?;
        let ends = rest[name.len()..].trim_start().starts_with('>');
        let ours = ELEMENTS.iter().find(|ours| ends && ours.eq_ignore_ascii_case(name))?;
        Some((Severity::Warning, format!("</{ours}>")))
    })
}

/// Marks of chat templates: text after them would be another role's.
const MARKS: [&str; 6] = ["<|im_start|>", "<|im_end|>", "<|system|>", "<<sys>>", "[inst]", "[system]"];

const VERBS: [&str; 4] = ["ignore", "disregard", "forget", "override"];
const TARGETS: [&str; 3] = ["previous", "prior", "above"];
const NOUNS: [&str; 4] = ["instructions", "instruction", "prompts", "rules"];

/// Whether any line of `text` can have what [`phrase`] looks for: most texts have no such word at all.
pub(super) fn may_have_phrase(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    MARKS.iter().chain(&VERBS).chain(&["system"]).any(|word| lower.contains(word))
}

/// What is said, in a name of our own; the line is not quoted.
pub(super) fn phrase(line: &str) -> Option<&'static str> {
    let lower = line.to_ascii_lowercase();
    if let Some(mark) = MARKS.iter().find(|mark| lower.contains(**mark)) {
        return Some(mark);
    }
    let start = lower.trim_start_matches(|c: char| !c.is_alphanumeric());
    if start.strip_prefix("system").is_some_and(|rest| rest.trim_start_matches('*').starts_with(':')) {
        return Some("it begins with `system:`");
    }
    asks_to_ignore(&lower).then_some("it asks to ignore earlier instructions")
}

/// `ignore … previous … instructions`, in that order and near one another.
fn asks_to_ignore(lower: &str) -> bool {
    const NEAR: usize = 8;
    let words: Vec<_> = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.iter().enumerate().filter(|(_, word)| VERBS.contains(word)).any(|(at, _)| {
        let near = &words[at + 1..words.len().min(at + NEAR)];
        let target = near.iter().position(|word| TARGETS.contains(word));
        target.is_some_and(|target| near[target..].iter().any(|word| NOUNS.contains(word)))
    })
}
