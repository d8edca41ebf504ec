//! A difference as annotations of a GitHub workflow.

use promptd_core::{
    diff::PromptDiff,
    finding::{Finding, Place, Severity, github},
};

use super::{Compared, version::Version, words};

/// One notice for each section that differs, and one annotation for each finding that appears.
pub(super) fn render(compared: &[Compared], after: &Version) -> String {
    compared.iter().map(|one| turn(one, after)).collect()
}

fn turn(one: &Compared, after: &Version) -> String {
    let mut out = String::new();
    let place = one.turn.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    for section in &one.diff.sections {
        let file = section.path.as_ref().filter(|path| !path.starts_with('@')).map(|path| shown(after, path));
        out +=
            &github::command(Severity::Info, file.as_deref(), "prompt", &format!("{}{place}", words::section(section)));
    }
    for finding in &one.diff.appeared {
        out += &github::command(
            finding.severity,
            file(finding, after).as_deref(),
            finding.code.as_str(),
            &finding.message,
        );
    }
    if !one.diff.is_same() {
        out += &github::command(Severity::Info, None, "prompt", &format!("{}{place}", total(&one.diff)));
    }
    out
}

fn total(diff: &PromptDiff) -> String {
    let caches = diff.cache.iter().map(|cache| format!("{}: {}", cache.prefix.format.as_str(), words::cache(cache)));
    format!("the prompt has {}\n{}", words::whole(diff), caches.collect::<Vec<_>>().join("\n"))
}

fn file(finding: &Finding, after: &Version) -> Option<String> {
    match &finding.place {
        Place::File { path, .. } if !path.starts_with('@') => Some(shown(after, path)),
        _ => None,
    }
}

fn shown(after: &Version, path: &str) -> String {
    after.file(path).display().to_string()
}
