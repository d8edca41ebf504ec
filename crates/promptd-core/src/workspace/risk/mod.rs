//! Risks in workspace text: hidden characters, lines that forge the prompt's own, text that speaks as the system.
//!
//! A risk is reported and the text stays, unless the server's `risks` setting says otherwise. Refusing is for hidden
//! characters and forged boundaries alone: a file that warns of injection must not vanish for its warning.

mod hidden;
mod lines;

pub(super) use hidden::{without_hidden, without_tags};

use std::ops::Range;

use crate::{
    finding::{Code, Finding, Place, Severity},
    settings::RiskPolicy,
    text::clamped,
    yaml::Mark,
};

/// How many places of one kind are reported of one text; the rest is counted.
const MAX_PLACES: usize = 5;

/// What is scanned, which decides what to look for and how to name a place.
#[derive(Clone, Copy)]
pub(super) enum Scope<'a> {
    /// A file's text that begins on that line of the file and goes into prompts unchanged.
    File { first_line: u32 },
    /// As `File`, but only hidden characters matter: the text is instructions that a model reads on demand.
    Body { first_line: u32 },
    /// A value of a YAML file, which begins there and goes into prompts unchanged.
    Field { at: Mark, name: &'a str },
    /// As `Field`, but escaped on its way into the prompt, so that it can forge no boundary.
    Escaped { at: Mark, name: &'a str },
}

/// What a scan found.
pub(super) struct Scan {
    path: String,
    findings: Vec<Finding>,
}

/// Looks for risks.
pub(super) fn scan(text: &str, path: &str, scope: Scope<'_>) -> Scan {
    let mut sink = Sink { places: Places { text, offset: 0, line: 1 }, path, scope, kinds: KINDS.map(Kind::new) };
    let hidden = hidden::find(text);
    for range in &hidden {
        sink.add(Code::HiddenCharacters, Severity::Warning, range.start, || {
            format!("hidden characters: {}", hidden::escape(&text[range.clone()]))
        });
    }
    if !matches!(scope, Scope::Body { .. }) {
        scan_lines(text, &hidden, &mut sink);
    }
    let findings = sink.into_findings();
    Scan { path: path.to_owned(), findings }
}

fn scan_lines(text: &str, hidden: &[Range<usize>], sink: &mut Sink<'_>) {
    let mut offset = 0;
    // Invisible characters could split the words that are looked for.
    let phrases = hidden::has_invisible(text) || lines::may_have_phrase(text);
    let mut hidden = hidden.iter().peekable();
    for line in text.split_inclusive('\n') {
        let end = offset + line.len();
        let mut has_hidden = false;
        while hidden.next_if(|range| range.start < end).is_some() {
            has_hidden = true;
        }
        let seen = if line.is_ascii() { line.into() } else { hidden::without_invisible(line) };
        let escaped = matches!(sink.scope, Scope::Escaped { .. });
        let forged = if escaped { None } else { lines::heading(&seen).or_else(|| lines::closing_tag(&seen)) };
        if let Some((severity, ours)) = forged {
            let severity = if has_hidden { Severity::Warning } else { severity };
            let with = if has_hidden { ", with hidden characters in it" } else { "" };
            sink.add(Code::ForgedBoundary, severity, offset, || {
                format!("the line reads as the prompt's own `{ours}`{with}")
            });
        }
        if let Some(phrase) = phrases.then(|| lines::phrase(&seen)).flatten() {
            sink.add(Code::InjectionPhrase, Severity::Info, offset, || {
                format!("the line speaks to the model as its system prompt: {phrase}")
            });
        }
        offset = end;
    }
}

const KINDS: [Code; 3] = [Code::HiddenCharacters, Code::ForgedBoundary, Code::InjectionPhrase];

/// Collects findings, of each kind only the first places: the rest is counted, so that a hostile text costs no more than
/// reading it.
struct Sink<'s> {
    places: Places<'s>,
    path: &'s str,
    scope: Scope<'s>,
    kinds: [Kind; 3],
}

struct Kind {
    code: Code,
    reported: Vec<Finding>,
    more: usize,
    worst_of_more: Severity,
}

impl Kind {
    fn new(code: Code) -> Self {
        Self { code, reported: Vec::new(), more: 0, worst_of_more: Severity::Info }
    }
}

impl Sink<'_> {
    fn add(&mut self, code: Code, severity: Severity, offset: usize, message: impl FnOnce() -> String) {
        let Some(kind) = self.kinds.iter_mut().find(|kind| kind.code == code) else { return };
        if kind.reported.len() == MAX_PLACES {
            kind.more += 1;
            kind.worst_of_more = kind.worst_of_more.max(severity);
            return;
        }
        let (place, message) = match self.scope {
            Scope::File { first_line } | Scope::Body { first_line } => {
                let (line, column) = self.places.find(offset);
                (Place::at(self.path, line.saturating_add(first_line - 1), column), message())
            }
            Scope::Field { at, name } | Scope::Escaped { at, name } => {
                (Place::at(self.path, at.line, at.column), format!("{} in `{name}`", message()))
            }
        };
        kind.reported.push(Finding { severity, code, place, message });
    }

    fn into_findings(self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for kind in self.kinds {
            findings.extend(kind.reported);
            if kind.more > 0 {
                let message = format!("{} more places of this kind", kind.more);
                let place = Place::file(self.path);
                findings.push(Finding { severity: kind.worst_of_more, code: kind.code, place, message });
            }
        }
        findings
    }
}

/// Finds line and column of offsets; cheapest in ascending order.
struct Places<'t> {
    text: &'t str,
    offset: usize,
    line: u32,
}

impl Places<'_> {
    fn find(&mut self, offset: usize) -> (u32, u32) {
        if offset < self.offset {
            (self.offset, self.line) = (0, 1);
        }
        self.line = self.line.saturating_add(clamped(self.text[self.offset..offset].matches('\n').count()));
        self.offset = offset;
        let line_start = self.text[..offset].rfind('\n').map_or(0, |end| end + 1);
        (self.line, clamped(self.text[line_start..offset].chars().count()).saturating_add(1))
    }
}

impl Scan {
    /// Does what the policy says: the text to use, if any, and the findings.
    pub(super) fn settle(mut self, text: String, policy: RiskPolicy) -> (Option<String>, Vec<Finding>) {
        let worst = self.findings.iter().find(|finding| finding.severity >= Severity::Warning);
        match (policy, worst.map(|finding| finding.code)) {
            (RiskPolicy::Refuse, Some(code)) => {
                let place = Place::file(self.path);
                let message = "left out, since it has risky text and `risks` is `refuse`".to_owned();
                self.findings.push(Finding { severity: Severity::Error, code, place, message });
                (None, self.findings)
            }
            (RiskPolicy::Strip, _) => (Some(without_hidden(&text)), self.findings),
            (RiskPolicy::Report | RiskPolicy::Refuse, _) => (Some(text), self.findings),
        }
    }
}

#[cfg(test)]
mod tests;
