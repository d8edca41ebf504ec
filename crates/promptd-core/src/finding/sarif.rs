//! Findings as SARIF 2.1.0, which code-scanning dashboards and editors read.

use std::{collections::BTreeSet, fmt::Write as _};

use serde_json::{Value, json};

use super::{Code, Severity, report::Reported};

/// One SARIF log with one run.
#[must_use]
pub fn render(reported: &[Reported]) -> String {
    let codes: BTreeSet<Code> = reported.iter().map(|one| one.finding.code).collect();
    let rules: Vec<_> = codes.iter().copied().map(rule).collect();
    let results: Vec<_> = reported.iter().map(result).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "promptd", "version": env!("CARGO_PKG_VERSION"), "rules": rules}},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    format!("{log:#}\n")
}

fn rule(code: Code) -> Value {
    json!({
        "id": code.as_str(),
        "shortDescription": {"text": code.meaning()},
        "help": {"text": code.remedy()},
        "defaultConfiguration": {"level": level(code.severity())},
    })
}

fn result(one: &Reported) -> Value {
    let mut result = json!({
        "ruleId": one.finding.code.as_str(),
        "level": level(one.finding.severity),
        "message": {"text": one.finding.message},
    });
    if let Some(file) = &one.file {
        let mut location = json!({"artifactLocation": {"uri": uri(file)}});
        let (line, column) = one.position();
        if let Some(line) = line {
            location["region"] = json!({"startLine": line});
            if let Some(column) = column {
                location["region"]["startColumn"] = json!(column);
            }
        }
        result["locations"] = json!([{"physicalLocation": location}]);
    }
    result
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

/// A path as a URI reference: relative ones stay relative, absolute ones become `file:`.
fn uri(path: &str) -> String {
    let mut out = if path.starts_with('/') { "file://".to_owned() } else { String::new() };
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/@".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
