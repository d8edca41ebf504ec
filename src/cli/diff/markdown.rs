//! A difference for a comment on a pull request.

use std::fmt::Write as _;

use promptd_core::{diff::PromptDiff, finding::Finding, render::CachedPrefix, text::thousands};

use super::{
    super::counted,
    Compared,
    lines::{self, Marks},
    words,
};

/// The most bytes: GitHub takes 65,536 characters in a comment.
const MAX_BYTES: usize = 60_000;

/// A table of all turns, then each that differs, folded. What has no room is named and left out.
pub(super) fn render(compared: &[Compared], [before, after]: [&str; 2]) -> String {
    let changed: Vec<_> = compared.iter().filter(|one| !one.diff.is_same()).collect();
    let mut out = format!("### Prompts of {} and {}\n\n", code(before), code(after));
    if changed.is_empty() {
        let _ = writeln!(out, "Nothing differs in {}.", counted(compared.len() as u64, "turn"));
        return out;
    }
    let (differ, of) = (if changed.len() == 1 { "differs" } else { "differ" }, counted(compared.len() as u64, "turn"));
    let _ = writeln!(out, "{} of {of} {differ}.\n", changed.len());
    out.push_str("| turn | sections | chars and tokens | Anthropic's cache | OpenAI's cache |\n| --- | --- | --- | --- | --- |\n");
    for one in &changed {
        row(&mut out, one);
    }
    let mut left_out = 0;
    for one in &changed {
        let details = details(one);
        if out.len() + details.len() > MAX_BYTES {
            left_out += 1;
        } else {
            out.push_str(&details);
        }
    }
    if left_out > 0 {
        let _ = writeln!(out, "\nToo long to be shown here: {}; `promptd diff` shows all.", counted(left_out, "turn"));
    }
    out
}

fn row(out: &mut String, one: &Compared) {
    let diff = &one.diff;
    let lost = |format: &str| {
        let cache = diff.cache.iter().find(|cache| cache.prefix.format.as_str() == format);
        let prefix = cache.map(|cache| cache.prefix).filter(CachedPrefix::is_lost);
        prefix.map_or_else(|| "kept".to_owned(), |prefix| format!("lost from byte {}", thousands(prefix.kept)))
    };
    let _ = writeln!(
        out,
        "| {} | {} | {} | {} | {} |",
        code(name(one)),
        diff.sections.len(),
        words::change(diff.before.size, diff.after.size),
        lost("anthropic-messages"),
        lost("openai-chat"),
    );
}

fn details(one: &Compared) -> String {
    let mut out = format!("\n<details><summary>{}</summary>\n", escaped(name(one)));
    let diff: &PromptDiff = &one.diff;
    for section in &diff.sections {
        let _ = writeln!(out, "\n{}", escaped(&words::section(section)));
        out.push_str(&fenced(&lines::render(&section.text, Marks::Brackets, "")));
    }
    if !diff.layout.is_empty() {
        out.push_str("\nOrder of messages and sections\n");
        out.push_str(&fenced(&lines::render(&diff.layout, Marks::Brackets, "")));
    }
    if words::differs_only_between(diff) {
        let _ = writeln!(out, "\n{}", words::ONLY_BETWEEN);
    }
    findings(&mut out, "Findings that appear", &diff.appeared);
    findings(&mut out, "Findings that vanish", &diff.vanished);
    out.push_str("\nCache\n\n");
    for cache in &diff.cache {
        let _ = writeln!(out, "- {}: {}", cache.prefix.format.as_str(), escaped(&words::cache(cache)));
    }
    out.push_str("\n</details>\n");
    out
}

fn findings(out: &mut String, name: &str, findings: &[Finding]) {
    if !findings.is_empty() {
        let _ = writeln!(out, "\n{name}\n");
    }
    for finding in findings {
        let _ = writeln!(out, "- {}", escaped(&words::finding(finding)));
    }
}

fn name(one: &Compared) -> &str {
    one.turn.as_deref().unwrap_or("a turn that sets nothing")
}

/// A block of code whose fence no line of it can end.
fn fenced(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("\n{fence}diff\n{text}{fence}\n")
}

/// A text on one line, none of whose characters is markup.
fn escaped(text: &str) -> String {
    let text = words::visible(text);
    let is_markup =
        |c: char| matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '&' | '|' | '#' | '~' | '@' | '!');
    // An entity cannot begin a mention or a tag, and is shown as the character that it names.
    text.chars().map(|c| if is_markup(c) { format!("&#{};", u32::from(c)) } else { c.to_string() }).collect()
}

fn code(text: &str) -> String {
    format!("<code>{}</code>", escaped(text))
}
