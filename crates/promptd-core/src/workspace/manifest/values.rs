//! The values of `workspace.yaml` that have rules of their own.

use std::collections::{BTreeMap, BTreeSet};

use jiff::tz::TimeZone;

use super::{ExtraFile, FileRule, MANIFEST};
use crate::{
    finding::{Code, Finding, Place},
    settings::RiskPolicy,
    text::{
        cut::Keep,
        hidden::{is_line_break, is_path_char},
    },
    workspace::{clean::clean_text, files::CONTEXT_FILES, risk},
    yaml::{Fields, Node, nearest},
};

/// The most entries of `context.files`.
pub(super) const MAX_EXTRA_FILES: usize = 64;
/// The most names of `context.nested`.
pub(super) const MAX_NESTED_NAMES: usize = 8;

/// Reads texts that go into prompts unchanged, and collects their risks.
pub(super) struct Reader {
    pub(super) risks: RiskPolicy,
    pub(super) findings: Vec<Finding>,
}

impl Reader {
    /// A text of any number of lines, trimmed; a blank one counts as absent. Its risks are reported at the line
    /// that it begins on.
    pub(super) fn prose(&mut self, fields: &mut Fields<'_, '_>, key: &'static str) -> Option<String> {
        if let Some(cut) = fields.node(key).and_then(Node::cut) {
            let place = Place::at(MANIFEST, cut.at().line, cut.at().column);
            let message = format!("`{}` {cut}", fields.name(key));
            self.findings.push(Finding::new(Code::YamlValueCut, place, message));
        }
        let text = clean_text(fields.text(key)?, MANIFEST).text;
        let at = fields.mark(key);
        let scanned = risk::scan(&text, MANIFEST, risk::Scope::Field { at, name: &fields.name(key) });
        let (text, findings) = scanned.settle(text, self.risks);
        self.findings.extend(findings);
        text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    }
}

/// A text on one line; a blank one is a fault, since its default would be a surprise.
pub(super) fn one_line(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<String> {
    let text = fields.text(key)?.trim();
    let complaint = if text.is_empty() {
        "must not be blank; leave it out for the default"
    } else if text.contains(|c: char| c.is_control() || is_line_break(c)) {
        "must be one line without control characters"
    } else {
        return Some(text.to_owned());
    };
    fields.faults().add(Code::InvalidValue, fields.mark(key), format!("`{}` {complaint}", fields.name(key)));
    None
}

/// A zone of the IANA data that is compiled in, links such as `US/Pacific` included.
pub(super) fn time_zone(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<TimeZone> {
    let name = fields.text(key)?;
    match TimeZone::get(name) {
        Ok(zone) if !zone.is_unknown() => Some(zone),
        _ => {
            let known: Vec<_> = jiff::tz::db().available().map(|zone| zone.to_string()).collect();
            let hint = match nearest(&name.trim().replace(' ', "_"), known.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "give an IANA name such as `Europe/Berlin`".to_owned(),
            };
            let message = format!("unknown time zone `{}`; {hint}", name.escape_debug());
            fields.faults().add(Code::InvalidValue, fields.mark(key), message);
            None
        }
    }
}

/// `context.files`: relative paths that stay inside, none twice; the files beyond the three that are always looked for, and
/// what is said of single ones.
pub(super) fn context_files(fields: &mut Fields<'_, '_>) -> (Vec<ExtraFile>, BTreeMap<String, FileRule>) {
    let at = fields.mark("files");
    let entries = fields.each("files");
    if entries.len() > MAX_EXTRA_FILES {
        fields.faults().add(Code::InvalidValue, at, format!("`context.files` has more than {MAX_EXTRA_FILES} entries"));
    }
    let mut seen = BTreeSet::new();
    let files: Vec<_> =
        (entries.into_iter().enumerate()).filter_map(|(index, entry)| context_file(index, entry, &mut seen)).collect();
    let rules = files.iter().filter(|(_, rule)| *rule != FileRule::default());
    let rules = rules.map(|(file, rule)| (file.path.clone(), *rule)).collect();
    let is_extra = |file: &ExtraFile| !CONTEXT_FILES.contains(&&*file.path);
    (files.into_iter().map(|(file, _)| file).filter(is_extra).collect(), rules)
}

fn context_file(index: usize, mut entry: Fields<'_, '_>, seen: &mut BTreeSet<String>) -> Option<(ExtraFile, FileRule)> {
    let has_rule = ["max_chars", "priority", "keep"].into_iter().any(|key| entry.has(key));
    let path = entry.text("path");
    let has_purpose = entry.text("purpose").is_some_and(|purpose| !purpose.trim().is_empty());
    let purpose = if has_purpose { one_line(&mut entry, "purpose") } else { None };
    let complaint = match path {
        // Of a wrong type, which is reported already.
        None if entry.node("path").is_some() => None,
        None => Some("is required: a path below the workspace"),
        Some(path) if !is_inside(path) => Some(
            "must be a path below the workspace such as `docs/RUNBOOK.md`, without `.`, `..`, `\\`, `:` or a `/` at an end",
        ),
        Some(path) if CONTEXT_FILES.contains(&path) && !has_rule => Some(
            "names a file that is always looked for; give it `max_chars`, `priority` or `keep`, or remove the entry",
        ),
        Some(path) if CONTEXT_FILES.contains(&path) && has_purpose => {
            Some("names a file that is always looked for, whose purpose is fixed; remove `purpose`")
        }
        Some(path) => (!seen.insert(path.to_owned())).then_some("names a file that an entry above already names"),
    };
    if let Some(complaint) = complaint {
        entry.faults().add(Code::InvalidValue, entry.mark("path"), format!("`{}` {complaint}", entry.name("path")));
    }
    let max_chars = entry.count("max_chars");
    let is_pinned = entry.choice("priority").is_some();
    let keep = entry.choice("keep").and_then(|word| Keep::NAMES.into_iter().find(|(name, _)| *name == word));
    let rule = FileRule { max_chars, is_pinned, keep: keep.map(|(_, keep)| keep) };
    entry.finish();
    let path = path.filter(|_| complaint.is_none())?.to_owned();
    Some((ExtraFile { path, purpose: purpose.unwrap_or_default(), index }, rule))
}

/// `context.nested`: names of files, none twice.
pub(super) fn nested(fields: &mut Fields<'_, '_>) -> Vec<String> {
    let at = fields.mark("nested");
    let mut names: Vec<String> = Vec::new();
    let entries = fields.texts("nested").unwrap_or_default();
    if entries.len() > MAX_NESTED_NAMES {
        fields.faults().add(Code::InvalidValue, at, format!("`context.nested` has more than {MAX_NESTED_NAMES} names"));
    }
    for (index, (name, mark)) in entries.into_iter().enumerate() {
        let complaint = if !is_inside(name) || name.contains('/') {
            "must be the name of a file such as `AGENTS.md`, without a folder"
        } else if names.iter().any(|other| other == name) {
            "names a file that an entry above already names"
        } else {
            names.push(name.to_owned());
            continue;
        };
        fields.faults().add(Code::InvalidValue, mark, format!("`context.nested[{index}]` {complaint}"));
    }
    names
}

/// `context.append`: paths of files, none twice.
pub(super) fn append(fields: &mut Fields<'_, '_>) -> Vec<String> {
    let at = fields.mark("append");
    let mut paths: Vec<String> = Vec::new();
    let entries = fields.texts("append").unwrap_or_default();
    if entries.len() > MAX_EXTRA_FILES {
        fields.faults().add(
            Code::InvalidValue,
            at,
            format!("`context.append` has more than {MAX_EXTRA_FILES} entries"),
        );
    }
    for (index, (path, mark)) in entries.into_iter().enumerate() {
        let complaint = if !is_inside(path) {
            "must be a path below the workspace such as `AGENTS.md`"
        } else if paths.iter().any(|other| other == path) {
            "names a file that an entry above already names"
        } else {
            paths.push(path.to_owned());
            continue;
        };
        fields.faults().add(Code::InvalidValue, mark, format!("`context.append[{index}]` {complaint}"));
    }
    paths
}

/// Whether a path is relative, stays below the folder that it starts from, and is safe to print.
fn is_inside(path: &str) -> bool {
    let bad_name = |name: &str| matches!(name, "" | "." | "..");
    !path.split('/').any(bad_name) && path.chars().all(is_path_char)
}
