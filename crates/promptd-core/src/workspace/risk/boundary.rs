//! Lines that read as if the prompt itself had written them.

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

/// The closing tag of ours that stands in `line`.
pub(super) fn closing_tag(line: &str) -> Option<(Severity, String)> {
    line.match_indices("</").find_map(|(at, _)| {
        let rest = line[at + 2..].trim_start();
        let name = rest.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next()?;
        let ends = rest[name.len()..].trim_start().starts_with('>');
        let ours = ELEMENTS.iter().find(|ours| ends && ours.eq_ignore_ascii_case(name))?;
        Some((Severity::Warning, format!("</{ours}>")))
    })
}
