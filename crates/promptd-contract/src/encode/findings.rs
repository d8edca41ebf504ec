//! Findings as the contract has them.

use std::borrow::Borrow;

use super::{MAX_FINDINGS, omitted};
use crate::proto;
use promptd_core::finding::{Finding, Place, Severity};

/// At most [`MAX_FINDINGS`], then one that counts the rest.
pub(super) fn findings(all: impl IntoIterator<Item: Borrow<Finding>>) -> Vec<proto::Finding> {
    let mut all = all.into_iter();
    let mut shown: Vec<_> = all.by_ref().take(MAX_FINDINGS).map(|one| finding(one.borrow())).collect();
    let rest = all.count();
    if rest > 0 {
        shown.push(finding(&omitted(rest)));
    }
    shown
}

/// How many errors and how many warnings there are.
pub(super) fn counts(all: impl IntoIterator<Item: Borrow<Finding>>) -> [u32; 2] {
    let mut counts = [0; 2];
    for finding in all {
        match finding.borrow().severity {
            Severity::Error => counts[0] += 1,
            Severity::Warning => counts[1] += 1,
            Severity::Info => {}
        }
    }
    counts
}

pub(super) fn finding(finding: &Finding) -> proto::Finding {
    let (path, line, column, field) = match &finding.place {
        Place::Unplaced => ("", 0, 0, ""),
        Place::Field(field) => ("", 0, 0, &**field),
        Place::File { path, line, column } => (&**path, *line, *column, ""),
    };
    proto::Finding {
        severity: proto::Severity::from(finding.severity).into(),
        code: finding.code.as_str().to_owned(),
        message: finding.message.clone(),
        path: path.to_owned(),
        line,
        column,
        field: field.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use promptd_core::finding::Code;

    #[test]
    fn omitted_findings_are_counted() {
        let one = Finding::new(Code::FileNameCase, Place::at("a", 1, 2), "x");
        assert_eq!(findings(std::iter::repeat_n(&one, 100)).len(), 100);
        let many = findings(std::iter::repeat_n(&one, 250));
        assert_eq!((many.len(), many[100].code.as_str()), (101, "FINDINGS_OMITTED"));
        assert!(many[100].message.starts_with("150 more"));
    }
}
