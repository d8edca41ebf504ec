//! Findings as the contract has them.

use crate::{
    finding::{Code, Finding, Place, Severity},
    proto,
};

/// The most findings of one answer; what is beyond is counted in one more.
pub(super) const MAX_FINDINGS: usize = 100;

/// At most [`MAX_FINDINGS`], then one that counts the rest.
pub(super) fn findings<'f>(all: impl IntoIterator<Item = &'f Finding>) -> Vec<proto::Finding> {
    let mut all = all.into_iter();
    let mut shown: Vec<_> = all.by_ref().take(MAX_FINDINGS).map(finding).collect();
    let rest = all.count();
    if rest > 0 {
        let message = format!("{rest} more findings are left out");
        shown.push(finding(&Finding::new(Code::FindingsOmitted, Place::Unplaced, message)));
    }
    shown
}

/// One of them.
pub(super) fn finding(finding: &Finding) -> proto::Finding {
    let raw = proto::Finding {
        severity: severity(finding.severity).into(),
        code: finding.code.as_str().to_owned(),
        message: finding.message.clone(),
        ..Default::default()
    };
    match &finding.place {
        Place::Unplaced => raw,
        Place::Field(field) => proto::Finding { field: field.clone(), ..raw },
        Place::File { path, line, column } => {
            proto::Finding { path: path.clone(), line: *line, column: *column, ..raw }
        }
    }
}

fn severity(severity: Severity) -> proto::Severity {
    match severity {
        Severity::Info => proto::Severity::Info,
        Severity::Warning => proto::Severity::Warning,
        Severity::Error => proto::Severity::Error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_counted() {
        let one = Finding::new(Code::FileNameCase, Place::at("a", 1, 2), "x");
        assert_eq!(findings(std::iter::repeat_n(&one, 100)).len(), 100);
        let many = findings(std::iter::repeat_n(&one, 250));
        assert_eq!((many.len(), many[100].code.as_str()), (101, "FINDINGS_OMITTED"));
        assert!(many[100].message.starts_with("150 more"));
    }
}
