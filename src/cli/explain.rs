//! A prompt for people: its layers in colour, and the outcome of every section.

use std::{
    fmt::Write as _,
    io::{self, Write},
};

use promptd_core::prompt::{Holder, Outcome, Prompt, SectionReport, Size};

use super::counted;

const BOLD: &str = "\u{1b}[1m";
const DIM: &str = "\u{1b}[2m";
const YELLOW: &str = "\u{1b}[33m";
const CYAN: &str = "\u{1b}[36m";
const RESET: &str = "\u{1b}[0m";

/// Writes every message and card under a heading, with a line of sizes for each of its sections.
pub(super) fn layers(out: &mut impl Write, prompt: &Prompt<'_>) -> io::Result<()> {
    let messages = (0..).map(Holder::Message).zip(&prompt.messages);
    for (holder, message) in messages.chain((0..).map(Holder::Card).zip(&prompt.cards)) {
        let name = if message.name.is_empty() { "conversation" } else { message.name };
        let role = if matches!(holder, Holder::Card(_)) { "card" } else { message.role.as_str() };
        let ephemeral = if message.ephemeral { ", ephemeral" } else { "" };
        writeln!(out, "{BOLD}{CYAN}━━ {name}{RESET} {DIM}{role}{ephemeral}, {}{RESET}", size(message.size))?;
        let is_here =
            |section: &SectionReport| section.position.as_ref().is_some_and(|position| position.holder == holder);
        for section in prompt.sections.iter().filter(|section| is_here(section)) {
            writeln!(out, "{}", line(section))?;
        }
        writeln!(out, "\n{}\n", printable(&message.content))?;
    }
    for section in prompt.sections.iter().filter(|section| section.outcome == Outcome::Dropped) {
        writeln!(out, "{}", line(section))?;
    }
    writeln!(
        out,
        "{DIM}{}, {}, digest {}{RESET}",
        counted(prompt.messages.len() as u64, "message"),
        size(prompt.size),
        prompt.digest.to_hex()
    )
}

fn line(section: &SectionReport) -> String {
    let colour = if section.outcome.is_loss() { YELLOW } else { DIM };
    let mut line = format!("{colour}   {}: {}", section.id, size(section.included));
    if is_less(section) {
        let _ = write!(line, " of {}; {}", size(section.original), section.reason);
    }
    line + RESET
}

/// Every section, one a line: outcome, id, size, source and reason.
pub(super) fn sections(prompt: &Prompt<'_>) -> String {
    let width = prompt.sections.iter().map(|section| section.id.len()).max().unwrap_or_default();
    let mut out = String::new();
    for section in &prompt.sections {
        let outcome = section.outcome.as_str();
        let sizes = if is_less(section) {
            format!("{} of {}", size(section.included), size(section.original))
        } else {
            size(section.included)
        };
        let source = section.source.as_ref().map(|source| format!("  from {}", source.path)).unwrap_or_default();
        let reason = if section.reason.is_empty() { String::new() } else { format!("  {}", section.reason) };
        let _ = writeln!(out, "{outcome:9}  {:width$}  {sizes}{source}{reason}", section.id);
    }
    let messages = counted(prompt.messages.len() as u64, "message");
    let _ = writeln!(out, "{messages}, {}, digest {}", size(prompt.size), prompt.digest.to_hex());
    out
}

/// Whether less is said than there was to say.
fn is_less(section: &SectionReport) -> bool {
    section.outcome.is_loss() || section.outcome == Outcome::Included && section.included.bytes < section.original.bytes
}

fn size(size: Size) -> String {
    let tokens = size.tokens.map(|tokens| format!(", {tokens} tokens")).unwrap_or_default();
    format!("{} chars, {} bytes{tokens}", size.chars, size.bytes)
}

/// Replaces control characters, which a terminal would act on.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c }).collect()
}
