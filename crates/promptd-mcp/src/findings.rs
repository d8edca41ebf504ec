//! Findings as structured content.

use promptd_contract::proto;
use serde_json::{Value, json};

/// A workspace's findings: an object of [`schema`].
pub(crate) fn of(workspace: &proto::Workspace) -> Value {
    let findings: Vec<_> = workspace.findings.iter().map(finding).collect();
    json!({
        "workspace": workspace.id,
        "revision": workspace.revision,
        "errors": workspace.errors,
        "warnings": workspace.warnings,
        "findings": findings,
    })
}

/// Adds to a workspace's findings those that it does not have.
pub(crate) fn add(workspace: &mut proto::Workspace, findings: Vec<proto::Finding>) {
    for finding in findings {
        if workspace.findings.contains(&finding) {
            continue;
        }
        match finding.severity() {
            proto::Severity::Error => workspace.errors += 1,
            proto::Severity::Warning => workspace.warnings += 1,
            proto::Severity::Info | proto::Severity::Unspecified => {}
        }
        workspace.findings.push(finding);
    }
}

/// One finding. A place that it does not have is left out.
pub(crate) fn finding(finding: &proto::Finding) -> Value {
    let mut object = json!({
        "severity": severity(finding),
        "code": finding.code,
        "message": finding.message,
    });
    for (key, value) in [("path", &finding.path), ("field", &finding.field)] {
        if !value.is_empty() {
            object[key] = value.as_str().into();
        }
    }
    for (key, value) in [("line", finding.line), ("column", finding.column)] {
        if value > 0 {
            object[key] = value.into();
        }
    }
    object
}

/// One finding on a line.
pub(crate) fn line(finding: &proto::Finding) -> String {
    let mut place = if finding.path.is_empty() { finding.field.clone() } else { finding.path.clone() };
    for number in [finding.line, finding.column].into_iter().take_while(|number| *number > 0) {
        place = format!("{place}:{number}");
    }
    let place = if place.is_empty() { place } else { format!(" {place}:") };
    format!("{}[{}]:{place} {}", severity(finding), finding.code, finding.message)
}

/// The JSON Schema of [`of`].
pub(crate) fn schema() -> Value {
    let text = || json!({"type": "string"});
    let count = || json!({"type": "integer", "minimum": 0});
    let finding = json!({
        "type": "object",
        "properties": {
            "severity": {"type": "string", "enum": ["info", "warning", "error"]},
            "code": text(), "message": text(), "path": text(), "field": text(), "line": count(), "column": count(),
        },
        "required": ["severity", "code", "message"],
    });
    json!({
        "type": "object",
        "properties": {
            "workspace": text(), "revision": text(), "errors": count(), "warnings": count(),
            "findings": {"type": "array", "items": finding},
        },
        "required": ["workspace", "revision", "errors", "warnings", "findings"],
    })
}

fn severity(finding: &proto::Finding) -> &'static str {
    match finding.severity() {
        proto::Severity::Error => "error",
        proto::Severity::Warning => "warning",
        proto::Severity::Info | proto::Severity::Unspecified => "info",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_has_the_places_that_it_has() {
        let found = proto::Finding {
            severity: proto::Severity::Error.into(),
            code: "UNKNOWN_KEY".into(),
            message: "unknown key `agnt`".into(),
            path: "workspace.yaml".into(),
            line: 3,
            column: 1,
            field: String::new(),
        };
        assert_eq!(line(&found), "error[UNKNOWN_KEY]: workspace.yaml:3:1: unknown key `agnt`");
        let whole = proto::Finding { line: 0, column: 0, ..found.clone() };
        assert_eq!(line(&whole), "error[UNKNOWN_KEY]: workspace.yaml: unknown key `agnt`");
        assert_eq!(
            finding(&whole),
            json!({"severity": "error", "code": "UNKNOWN_KEY", "message": "unknown key `agnt`", "path": "workspace.yaml"})
        );
        let mut workspace = proto::Workspace { findings: vec![found.clone()], errors: 1, ..Default::default() };
        add(&mut workspace, vec![found.clone(), whole.clone()]);
        assert_eq!((workspace.errors, workspace.findings), (2, vec![found.clone(), whole]));
        assert_eq!((&finding(&found)["line"], &finding(&found)["column"]), (&json!(3), &json!(1)));
    }
}
