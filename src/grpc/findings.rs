//! Findings as the contract has them.

use promptd_contract::{
    encode::{MAX_FINDINGS, omitted},
    proto,
};
use promptd_core::finding::{Finding, Place};

/// At most [`MAX_FINDINGS`], then one that counts the rest.
pub(super) fn findings<'f>(all: impl IntoIterator<Item = &'f Finding>) -> Vec<proto::Finding> {
    let mut all = all.into_iter();
    let mut shown: Vec<_> = all.by_ref().take(MAX_FINDINGS).map(finding).collect();
    let rest = all.count();
    if rest > 0 {
        shown.push(finding(&omitted(rest)));
    }
    shown
}

/// One of them.
pub(super) fn finding(finding: &Finding) -> proto::Finding {
    let raw = proto::Finding {
        severity: proto::Severity::from(finding.severity).into(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use promptd_core::finding::Code;

    #[test]
    fn what_is_left_out_is_counted() {
        let one = Finding::new(Code::FileNameCase, Place::at("a", 1, 2), "x");
        assert_eq!(findings(std::iter::repeat_n(&one, 100)).len(), 100);
        let many = findings(std::iter::repeat_n(&one, 250));
        assert_eq!((many.len(), many[100].code.as_str()), (101, "FINDINGS_OMITTED"));
        assert!(many[100].message.starts_with("150 more"));
    }
}
