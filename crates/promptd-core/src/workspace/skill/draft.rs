//! One SKILL.md, read by itself: nothing of the workspace's settings is in it yet.

use super::front_matter;
use crate::{
    finding::{Code, Finding, Place},
    settings::RiskPolicy,
    text::{hidden::is_line_break, measure::exceeds, thousands},
    workspace::{clean, risk},
    yaml::Mark,
};

/// The most characters of a name that conforms to the specification.
const MAX_NAME_CHARS: usize = 64;

/// The most characters of a name that is shown at all: a longer one would take the place of other skills.
pub(super) const MAX_NAME_SHOWN: usize = 1_024;

/// What a SKILL.md says.
pub(super) struct Draft {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) body: String,
    /// The key of the front matter that hides the skill, with its value.
    pub(super) hidden_by: Option<String>,
    pub(super) findings: Vec<Finding>,
}

/// Reads a SKILL.md. The findings of the error case say why it cannot be used.
pub(super) fn read(
    bytes: &[u8],
    partial: bool,
    path: &str,
    folder_name: &str,
    risks: RiskPolicy,
) -> Result<Draft, Vec<Finding>> {
    let cleaned = clean::clean(bytes, partial, path);
    let mut findings = cleaned.findings;
    if partial {
        let message = "longer than what is read of one file; its end is missing";
        findings.push(Finding {
            severity: crate::finding::Severity::Warning,
            ..Finding::new(Code::FileTooLarge, Place::file(path), message)
        });
    }
    let front = match front_matter::parse(&cleaned.text, cleaned.first_line, path) {
        Ok(front) => front,
        Err(faults) => {
            findings.extend(faults);
            return Err(findings);
        }
    };
    findings.extend(front.findings);
    let name = name(front.name, path, folder_name, &mut findings);
    if exceeds(&name, MAX_NAME_SHOWN) {
        let message = format!("the name has more than {} characters", thousands(MAX_NAME_SHOWN as u64));
        findings.push(Finding::new(Code::SkillInvalid, Place::at(path, cleaned.first_line, 0), message));
        return Err(findings);
    }
    let Some((description, at)) = front.description.filter(|(text, _)| !text.trim().is_empty()) else {
        let message = "the front matter has no `description`: a model needs it to decide when to use the skill";
        findings.push(Finding::new(Code::SkillInvalid, Place::at(path, cleaned.first_line, 0), message));
        return Err(findings);
    };
    let description = one_line(&description);
    let scope = risk::Scope::Escaped { at, name: "description" };
    let description = settle(description, path, scope, risks, &mut findings).map(|text| risk::without_tags(&text));
    let body = clean::trim(front.body);
    let body_line = front
        .body_line
        .saturating_add(clean::line_of(front.body, front.body.len() - front.body.trim_start().len()) - 1);
    let body = settle(body.to_owned(), path, risk::Scope::Body { first_line: body_line }, risks, &mut findings);
    match (description, body) {
        (Some(description), Some(body)) => Ok(Draft { name, description, body, hidden_by: front.hidden_by, findings }),
        _ => Err(findings),
    }
}

fn settle(
    text: String,
    path: &str,
    scope: risk::Scope<'_>,
    risks: RiskPolicy,
    findings: &mut Vec<Finding>,
) -> Option<String> {
    let (text, found) = risk::scan(&text, path, scope).settle(text, risks);
    findings.extend(found);
    text
}

/// The name, without hidden characters: what a filter matches is what a person reads.
fn name(given: Option<(String, Mark)>, path: &str, folder_name: &str, findings: &mut Vec<Finding>) -> String {
    let mut nonconforming = |at: Mark, message: String| {
        findings.push(Finding::new(Code::SkillNonconforming, Place::at(path, at.line, at.column), message));
    };
    let whole_file = Mark { line: 0, column: 0 };
    let Some((written, at)) = given.filter(|(text, _)| !text.trim().is_empty()) else {
        nonconforming(whole_file, format!("the front matter has no `name`; the folder's, `{folder_name}`, is used"));
        return folder_name.to_owned();
    };
    let line = one_line(&written);
    let name = risk::without_hidden(&line).trim().to_owned();
    if name.is_empty() {
        nonconforming(at, format!("`name` has only hidden characters; the folder's, `{folder_name}`, is used"));
        return folder_name.to_owned();
    }
    if !conforms(&name) {
        let message = format!(
            "the name is not 1 to {MAX_NAME_CHARS} lower-case letters and digits with single hyphens between them"
        );
        nonconforming(at, message);
    } else if name != folder_name {
        nonconforming(at, format!("the name `{name}` is not that of its folder, `{folder_name}`"));
    }
    if name != line.trim() {
        let message = "hidden characters were dropped from the `name`";
        findings.push(Finding::new(Code::HiddenCharacters, Place::at(path, at.line, at.column), message));
    }
    name
}

fn conforms(name: &str) -> bool {
    let good = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    name.len() <= MAX_NAME_CHARS && name.split('-').all(good)
}

/// Line breaks become one space, tabs too; other control characters are dropped.
fn one_line(text: &str) -> String {
    let lines = text.split(is_line_break).map(str::trim).filter(|line| !line.is_empty());
    let line = lines.collect::<Vec<_>>().join(" ");
    line.chars().map(|c| if c == '\t' { ' ' } else { c }).filter(|c| !c.is_control()).collect()
}
