//! Findings as annotations of a GitHub workflow.

use std::fmt::Write as _;

use super::{Severity, excerpt::escape, report::Reported};

/// One `::error file=…,line=…,col=…,title=CODE::message` a line.
#[must_use]
pub fn render(reported: &[Reported]) -> String {
    reported.iter().map(annotation).collect()
}

/// One annotation, of any text: `::notice file=…,title=…::message`.
#[must_use]
pub fn command(severity: Severity, file: Option<&str>, title: &str, message: &str) -> String {
    let file = file.map(|file| format!("file={},", property(file))).unwrap_or_default();
    let lines: Vec<_> = message.lines().map(data).collect();
    format!("::{} {file}title={}::{}\n", word(severity), property(title), lines.join(NEW_LINE))
}

/// A line break within an annotation.
const NEW_LINE: &str = "%0A";

fn annotation(one: &Reported) -> String {
    let mut line = format!("::{} ", word(one.finding.severity));
    if let Some(file) = &one.file {
        let _ = write!(line, "file={},", property(file));
    }
    let (row, column) = one.position();
    for (name, number) in [("line", row), ("col", column)] {
        if let Some(number) = number {
            let _ = write!(line, "{name}={number},");
        }
    }
    let (message, remedy) = (data(&one.finding.message), data(one.finding.code.remedy()));
    let _ = writeln!(line, "title={}::{message}{NEW_LINE}{remedy}", one.finding.code.as_str());
    line
}

/// GitHub's word for it.
fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "notice",
    }
}

/// GitHub's own escapes, after which nothing can end the command.
fn data(text: &str) -> String {
    escape(text).replace('%', "%25")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
