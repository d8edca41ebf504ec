//! The front matter of a SKILL.md, read as the Agent Skills specification says and as forgivingly as is safe.

use super::{keys, repair::repair};
use crate::{
    finding::{Code, Finding, Place},
    yaml::{self, Fault, Mark, Node, Value},
};

/// What the front matter says and the text below it.
#[derive(Debug)]
pub(super) struct FrontMatter<'t> {
    /// The text of `name`, as written; absent where null or missing.
    pub(super) name: Option<(String, Mark)>,
    /// The text of `description`, as written.
    pub(super) description: Option<(String, Mark)>,
    /// The key that hides the skill, with its value.
    pub(super) hidden_by: Option<String>,
    pub(super) body: &'t str,
    /// The line of the file that `body` begins on.
    pub(super) body_line: u32,
    pub(super) findings: Vec<Finding>,
}

/// Reads the front matter of `text`, which begins on the line `first_line` of the file `path`.
pub(super) fn parse<'t>(text: &'t str, first_line: u32, path: &str) -> Result<FrontMatter<'t>, Vec<Finding>> {
    let (yaml, body) = split(text).map_err(|missing| {
        vec![Finding::new(Code::SkillInvalid, Place::at(path, first_line, 0), format!("the front matter {missing}"))]
    })?;
    let into_file = |at: Mark| Mark { line: at.line.saturating_add(first_line), ..at };
    let finding = |fault: Fault| {
        let at = into_file(fault.at);
        if fault.code == Code::FindingsOmitted {
            return Fault { at, ..fault }.into_finding(path);
        }
        let message = format!("the front matter cannot be used: {}", fault.message);
        Fault { code: Code::SkillInvalid, at, message }.into_finding(path)
    };
    let (node, repaired) = read(yaml).map_err(|faults| faults.into_iter().map(finding).collect::<Vec<_>>())?;
    let mut findings: Vec<Finding> = repaired
        .into_iter()
        .map(|(line, key)| {
            let place = Place::at(path, line.saturating_add(first_line), 0);
            let message = format!("the value of `{key}` has a colon and no quotes; it was read as one text");
            Finding::new(Code::SkillFrontMatterRepaired, place, message)
        })
        .collect();
    let pairs = match &node.value {
        Value::Map(pairs) => pairs.as_slice(),
        _ if node.is_null() => &[],
        _ => {
            let fault =
                Fault { code: Code::WrongType, at: node.at, message: format!("it is {}, not a mapping", node.kind()) };
            return Err(vec![finding(fault)]);
        }
    };
    let mut faults = Vec::new();
    let mut scalar = |key: &str| {
        let node = &pairs.iter().find(|pair| pair.key == key)?.value;
        match text_of(node) {
            Ok(text) => text.map(|text| (text, into_file(node.at))),
            Err(kind) => {
                let message = format!("`{key}` must be text, not {kind}");
                faults.push(finding(Fault { code: Code::WrongType, at: node.at, message }));
                None
            }
        }
    };
    let (name, description) = (scalar(keys::NAME.name), scalar(keys::DESCRIPTION.name));
    if !faults.is_empty() {
        return Err(faults);
    }
    let description_node = pairs.iter().find(|pair| pair.key == keys::DESCRIPTION.name).map(|pair| &pair.value);
    if let Some(cut) = description_node.and_then(Node::cut) {
        let at = into_file(cut.at());
        let message = format!("the `description` {cut}");
        findings.push(Finding::new(Code::YamlValueCut, Place::at(path, at.line, at.column), message));
    }
    let hidden_by = pairs.iter().find(|pair| hides(&pair.key, &pair.value)).map(|pair| {
        let value = text_of(&pair.value).ok().flatten().unwrap_or_default();
        format!("{}: {value}", pair.key)
    });
    findings.sort();
    let body_line = first_line.saturating_add(super::super::clean::line_of(text, text.len() - body.len()) - 1);
    Ok(FrontMatter { name, description, hidden_by, body, body_line, findings })
}

/// The YAML between the marks, and the text below.
pub(super) fn split(text: &str) -> Result<(&str, &str), &'static str> {
    let is_mark = |line: &str| line.trim_end() == "---";
    let first = text.split_inclusive('\n').next().unwrap_or_default();
    if !is_mark(first) {
        return Err("is missing: the first line must be `---`");
    }
    let rest = &text[first.len()..];
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if is_mark(line) {
            return Ok((&rest[..end], &rest[end + line.len()..]));
        }
        end += line.len();
    }
    Err("has no end: a line `---` must follow it")
}

/// A line of the YAML that was repaired, and its key.
type Repaired = (u32, String);

/// Parses; where that fails, once more with unquoted colons repaired. If that fails too, the faults are those of the text
/// as written, all of them.
fn read(yaml: &str) -> Result<(Node, Vec<Repaired>), Vec<Fault>> {
    let faults = match yaml::parse(yaml) {
        Ok(node) => return Ok((node, Vec::new())),
        Err(faults) => faults,
    };
    if faults.iter().any(|fault| fault.code != Code::YamlSyntax) {
        return Err(faults);
    }
    let (text, repaired) = repair(yaml);
    match yaml::parse(&text) {
        Ok(node) if !repaired.is_empty() => Ok((node, repaired)),
        _ => Err(yaml::read(yaml, |_, _| ()).err().unwrap_or(faults)),
    }
}

/// A scalar's text as written, whatever its type; `None` for null.
fn text_of(node: &Node) -> Result<Option<String>, &'static str> {
    match &node.value {
        Value::Scalar(scalar) if scalar.is_null() => Ok(None),
        Value::Scalar(scalar) => Ok(Some(scalar.text.clone())),
        Value::List(_) | Value::Map(_) => Err(node.kind()),
    }
}

/// Whether a key says that models may not choose the skill. Spelling varies between agents: case, `-` and `_` do not
/// matter, and quotes around `true` do not either, since showing what was meant to be hidden is the worse fault.
fn hides(key: &str, value: &Node) -> bool {
    let key: String = key.chars().filter(|c| !matches!(c, '-' | '_')).collect::<String>().to_lowercase();
    let value = text_of(value).ok().flatten().unwrap_or_default().to_lowercase();
    match key.as_str() {
        "disablemodelinvocation" | "disabled" | "hidden" => matches!(value.as_str(), "true" | "yes" | "on" | "1"),
        "enabled" | "modelinvocable" => matches!(value.as_str(), "false" | "no" | "off" | "0"),
        _ => false,
    }
}
