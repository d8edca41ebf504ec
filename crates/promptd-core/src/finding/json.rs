//! Findings as one JSON document.

use serde_json::{Value, json};

use super::{Counts, Place, report::Reported};

/// `{"errors", "warnings", "infos", "findings": […]}`; line and column are 1-based, and absent where unknown.
#[must_use]
pub fn render(reported: &[Reported]) -> String {
    let counts = Counts::of(reported.iter().map(|one| &one.finding));
    let findings: Vec<_> = reported.iter().map(finding).collect();
    let document = json!({
        "errors": counts.errors, "warnings": counts.warnings, "infos": counts.infos, "findings": findings,
    });
    format!("{document:#}\n")
}

fn finding(one: &Reported) -> Value {
    let mut value = json!({
        "severity": one.finding.severity.as_str(),
        "code": one.finding.code.as_str(),
        "message": one.finding.message,
        "subject": one.subject,
        "remedy": one.finding.code.remedy(),
    });
    let mut set = |key: &str, item: Value| value[key] = item;
    match &one.finding.place {
        Place::Unplaced => {}
        Place::Field(field) => set("field", json!(field)),
        Place::File { path, .. } => {
            let (line, column) = one.position();
            set("path", json!(path));
            set("file", json!(one.file));
            set("line", json!(line));
            set("column", json!(column));
        }
    }
    value
}
