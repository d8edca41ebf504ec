//! A difference for people.

use std::fmt::Write as _;

use promptd_core::{diff::PromptDiff, finding::Finding};

use super::{
    Compared,
    lines::{self, Marks},
    words,
};

const BOLD: &str = "\u{1b}[1m";
const RESET: &str = "\u{1b}[0m";

/// Every turn under its name; `styled`: with colour.
pub(in super::super) fn render(compared: &[Compared], styled: bool) -> String {
    let mut out = String::new();
    for (index, one) in compared.iter().enumerate() {
        if let Some(name) = &one.turn {
            let gap = if index > 0 { "\n" } else { "" };
            let _ = writeln!(out, "{gap}{}", title(&format!("turn {}", words::visible(name)), styled));
        }
        turn(&mut out, &one.diff, styled);
    }
    out
}

fn turn(out: &mut String, diff: &PromptDiff, styled: bool) {
    if diff.is_same() {
        let _ = writeln!(out, "nothing differs: {}", words::whole(diff));
        return;
    }
    let marks = if styled { Marks::Colour } else { Marks::Brackets };
    for section in &diff.sections {
        let _ = writeln!(out, "{}", title(&words::section(section), styled));
        out.push_str(&lines::render(&section.text, marks, "  "));
    }
    if !diff.layout.is_empty() {
        let _ = writeln!(out, "{}", title("order of messages and sections", styled));
        out.push_str(&lines::render(&diff.layout, marks, "  "));
    }
    if words::differs_only_between(diff) {
        let _ = writeln!(out, "{}", words::ONLY_BETWEEN);
    }
    findings(out, "findings that appear", &diff.appeared, styled);
    findings(out, "findings that vanish", &diff.vanished, styled);
    let _ = writeln!(out, "{}", title("cache", styled));
    let width = diff.cache.iter().map(|cache| cache.prefix.format.as_str().len()).max().unwrap_or_default();
    for cache in &diff.cache {
        let _ = writeln!(out, "  {:width$}  {}", cache.prefix.format.as_str(), words::cache(cache));
    }
    let _ = writeln!(out, "{} {}", title("prompt", styled), words::whole(diff));
}

fn findings(out: &mut String, name: &str, findings: &[Finding], styled: bool) {
    if !findings.is_empty() {
        let _ = writeln!(out, "{}", title(name, styled));
    }
    for finding in findings {
        let _ = writeln!(out, "  {}", words::finding(finding));
    }
}

fn title(text: &str, styled: bool) -> String {
    if styled { format!("{BOLD}{text}{RESET}") } else { text.to_owned() }
}
