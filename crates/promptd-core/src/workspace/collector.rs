//! What loading collects beside its result.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::finding::{Code, Finding, Place, bounded};

/// Findings and input hashes, in the order in which loading comes upon them.
#[derive(Default)]
pub(super) struct Collector {
    findings: Vec<Finding>,
    active: Vec<Finding>,
    /// SHA-256 of every input by name.
    pub(super) inputs: BTreeMap<Arc<str>, Arc<str>>,
}

/// Who reads a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    /// Operators alone: `promptd check` and GetWorkspace.
    Operators,
    /// Callers too: every response carries it until it is fixed.
    Callers,
}

impl Audience {
    /// Callers too if `concerned`.
    pub(super) fn callers_if(concerned: bool) -> Self {
        if concerned { Self::Callers } else { Self::Operators }
    }
}

impl Collector {
    /// Adds a finding.
    pub(super) fn report(&mut self, finding: Finding, audience: Audience) {
        if audience == Audience::Callers {
            self.active.push(finding.clone());
        }
        self.findings.push(finding);
    }

    /// All findings, and the active ones: each in order, without duplicates.
    pub(super) fn into_findings(self) -> (Vec<Finding>, Vec<Finding>) {
        let mut all = bounded(self.findings);
        let kept: BTreeSet<&Finding> = all.iter().collect();
        let mut active = self.active;
        let dropped: BTreeSet<Place> =
            active.iter().filter(|finding| !kept.contains(finding)).map(|finding| finding.place.whole_file()).collect();
        active.retain(|finding| kept.contains(finding));
        active.extend(all.iter().filter(|f| f.code == Code::FindingsOmitted && dropped.contains(&f.place)).cloned());
        all.sort_unstable_by(|a, b| (&a.place, Reverse(a.severity), a).cmp(&(&b.place, Reverse(b.severity), b)));
        active.sort_unstable_by(|a, b| (Reverse(a.severity), &a.place, a).cmp(&(Reverse(b.severity), &b.place, b)));
        active.dedup();
        (all, active)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        finding::MAX_FINDINGS_A_FILE,
        workspace::{
            MemoryTree,
            testing::{codes, load_tree},
        },
    };

    #[test]
    fn findings_of_one_file_are_bounded_and_the_rest_is_counted() {
        let equal_keys = format!("---\nname: demo\ndescription: x\n{}---\n", "a: 1\n".repeat(20_000));
        let colons = (0..5_000).fold(String::new(), |text, n| text + &format!("k{n}: a: b\n"));
        let tree = MemoryTree::new()
            .file("skills/equal/SKILL.md", equal_keys)
            .file("skills/colons/SKILL.md", format!("---\nname: colons\ndescription: x\n{colons}---\n"))
            .file("skills/fine/SKILL.md", "---\nname: fine\n---\n");
        let snapshot = load_tree(&tree).unwrap();
        for (findings, most) in [(&snapshot.findings, 203), (&snapshot.active, 103)] {
            assert!(findings.len() <= most, "{}", findings.len());
        }
        let count = |path: &str| snapshot.findings.iter().filter(|f| f.place.to_string().contains(path)).count();
        assert_eq!((count("equal"), count("colons"), count("fine")), (101, 101, 1));
        let omitted: Vec<_> =
            snapshot.findings.iter().filter(|f| f.message.contains("more")).map(|f| f.message.as_str()).collect();
        assert!(omitted[0].contains("4900 more") && omitted[1].contains("19899 more"), "{omitted:?}");
        assert!(
            snapshot.skills[0].findings.len() <= MAX_FINDINGS_A_FILE + 1,
            "{:?}",
            codes(&snapshot.skills[0].findings)
        );
    }

    #[test]
    fn callers_read_that_there_is_more_of_what_they_read_of() {
        let mut collector = Collector::default();
        for line in 0..105 {
            for (path, audience) in [("shown", Audience::Callers), ("other", Audience::Operators)] {
                collector.report(Finding::new(Code::UnknownKey, Place::at(path, line + 1, 0), "unknown"), audience);
            }
        }
        let (all, active) = collector.into_findings();
        assert_eq!((all.len(), active.len()), (202, 101));
        let omitted: Vec<_> = active.iter().filter(|f| f.code == Code::FindingsOmitted).collect();
        assert!(omitted.len() == 1 && omitted[0].place == Place::file("shown"), "{omitted:?}");
    }
}
