//! Markdown tables of profiles: sections by profile and gate, and the inputs that callers may give.

use std::fmt::Write as _;

use super::{Body, Profile, ProfileSet, SectionSpec, Template, Type, spec::Input};
use crate::turn::Stage;

/// The profiles that extend one another with `profile`, the one that the others extend first.
#[must_use]
pub fn extension_tree<'s>(profiles: &'s ProfileSet, profile: &'s Profile) -> Vec<&'s Profile> {
    let root = root(profiles, profile);
    let mut all: Vec<&Profile> = profiles.iter().map(|profile| &**profile).collect();
    all.retain(|other| std::ptr::eq(self::root(profiles, other), root));
    all.sort_by_key(|other| !std::ptr::eq(*other, root));
    all
}

fn root<'s>(profiles: &'s ProfileSet, profile: &'s Profile) -> &'s Profile {
    let mut root = profile;
    // Loading has bounded the chain; a profile that extends its own name extends the shipped one that it replaces.
    for _ in 0..profiles.iter().len() {
        match root.extends.as_deref().filter(|base| *base != root.name.as_str()).and_then(|base| profiles.get(base)) {
            Some(base) => root = base,
            None => break,
        }
    }
    root
}

/// A table of sections: a row a section, a column a profile, and what gates it.
#[must_use]
pub fn sections_markdown(profiles: &[&Profile]) -> String {
    let mut rows: Vec<(&str, &str)> = Vec::new();
    for profile in profiles {
        let shares = profile.sections().any(|(message, section)| rows.contains(&(&message.name, &section.id)));
        let mut after = if shares { 0 } else { rows.len() };
        for (message, section) in profile.sections() {
            let row = (message.name.as_str(), section.id.as_str());
            match rows.iter().position(|other| *other == row) {
                Some(index) => after = index + 1,
                None => {
                    rows.insert(after, row);
                    after += 1;
                }
            }
        }
    }
    let names: Vec<_> = profiles.iter().map(|profile| profile.name.as_str()).collect();
    let mut table = format!("| Message | Section | {} | Gating input |\n", names.join(" | "));
    let _ = writeln!(table, "| --- | --- |{} --- |", " --- |".repeat(names.len()));
    for (message, id) in rows {
        let cell = |profile: &&Profile| find(profile, message, id).map_or("never".to_owned(), |s| shown(profile, s));
        let cells: Vec<_> = profiles.iter().map(cell).collect();
        let gates = profiles.iter().find_map(|profile| find(profile, message, id).map(|s| gating(profile, s)));
        let gates = gates.unwrap_or_default();
        let _ = writeln!(table, "| `{message}` | `{id}` | {} | {gates} |", cells.join(" | "));
    }
    table
}

fn find<'p>(profile: &'p Profile, message: &str, id: &str) -> Option<&'p SectionSpec> {
    profile.sections().find(|(m, section)| m.name == message && section.id == id).map(|(_, section)| section)
}

/// When a profile shows a section.
fn shown(profile: &Profile, section: &SectionSpec) -> String {
    let mut text = match (&section.body, section.gate.as_str()) {
        (_, gate) if !gate.is_empty() => format!("when `{}`", cell(gate)),
        (Body::Each(_), _) => "when the list is not empty".to_owned(),
        (Body::ActiveSkill(_), _) => "when a skill is activated".to_owned(),
        (Body::Skills(_), _) => "when a skill is shown".to_owned(),
        (Body::SummaryTree(_), _) => "when there are summaries".to_owned(),
        (Body::ContextFiles { .. }, _) => "when a file is there".to_owned(),
        (Body::Text(_) | Body::Facts { .. }, _) => "always".to_owned(),
    };
    if let Some(file) = &section.file {
        let _ = write!(text, ", made from {file}");
    }
    if let Body::Each(each) = &section.body
        && let Some(budget) = each.budget.and_then(|index| profile.budgets.get(index))
    {
        let _ = write!(text, ", within the budget `{}`", budget.name);
    }
    if !section.stages.is_empty() {
        let names = section.stages.iter().map(|stage| match stage {
            Stage::First => "first",
            Stage::Synthesis => "synthesis",
        });
        let _ = write!(text, ", {} stage only", names.collect::<Vec<_>>().join(" and "));
    }
    text
}

/// What decides whether a section is shown: the inputs and the other names in its condition, or its list.
fn gating(profile: &Profile, section: &SectionSpec) -> String {
    let mut names: Vec<&str> = section.when.iter().flat_map(Template::names).map(String::as_str).collect();
    match &section.body {
        Body::Each(each) => names.extend(each.of.split('.').next()),
        Body::ActiveSkill(_) => {
            names.extend(profile.inputs.iter().map(|input| input.field.name.as_str()).filter(|n| *n == "active_skill"));
        }
        _ => {}
    }
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return "—".to_owned();
    }
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// A table of a profile's inputs.
#[must_use]
pub fn inputs_markdown(profile: &Profile) -> String {
    let mut table = String::from("| Input | Type | Where absent | What it is |\n| --- | --- | --- | --- |\n");
    for input in &profile.inputs {
        let field = &input.field;
        let _ = writeln!(
            table,
            "| `{}` | {} | {} | {} |",
            field.name,
            cell(&ty(&field.ty)),
            absent(input),
            cell(field.description.trim())
        );
    }
    if profile.inputs.is_empty() { "It takes no inputs.\n".to_owned() } else { table }
}

/// A type, with the range of a number.
fn ty(ty: &Type) -> String {
    let range = ty.range().unwrap_or_default().to_string();
    if range.is_empty() { ty.describe() } else { format!("{}, {range}", ty.describe()) }
}

fn absent(input: &Input) -> String {
    let field = &input.field;
    match (&field.default, &input.default_from) {
        _ if field.required => "refused".to_owned(),
        (_, Some(file)) => format!("the text of {file}"),
        (Some(serde_json::Value::Array(items)), _) if !items.is_empty() => {
            format!("{} of the profile's own", items.len())
        }
        (Some(value), _) if !value.is_null() => format!("`{}`", cell(&value.to_string())),
        _ => match field.ty {
            Type::Bool => "`false`".to_owned(),
            Type::List(_) if field.default.is_none() => "empty".to_owned(),
            _ => "nothing".to_owned(),
        },
    }
}

/// Text that stays in its cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use crate::profile::{ProfileFile, extension_tree, inputs_markdown, load, sections_markdown};

    fn file(name: &str, text: &str) -> ProfileFile {
        (format!("{name}.yaml"), text.as_bytes().to_vec())
    }

    #[test]
    fn a_row_a_section_and_a_column_a_profile() {
        let base = "inputs:\n  on: bool\n  things: { type: list, of: string, description: 'Things | all.' }\n\
                    \x20 hour: { type: int, min: 0, max: 23, default: 9 }\n\
                    messages:\n  - name: system\n    sections:\n      - { id: a, template: hello }\n\
                    \x20     - { id: b, when: on, template: b }\n      - { id: c, each: things, entry: '{{ item }}' }\n";
        let top = "extends: base\nmessages:\n  - name: system\n    sections:\n      - { id: b, remove: true }\n\
                   \x20     - { id: new, after: a, stages: [first], template: n }\n";
        let (profiles, findings) = load(&[file("base", base), file("top", top)], None);
        assert!(findings.is_empty(), "{findings:?}");
        let tree = extension_tree(&profiles, profiles.get("top").unwrap());
        assert_eq!(
            sections_markdown(&tree),
            "| Message | Section | base | top | Gating input |\n| --- | --- | --- | --- | --- |\n\
             | `system` | `a` | always | always | — |\n\
             | `system` | `new` | never | always, first stage only | — |\n\
             | `system` | `b` | when `on` | never | `on` |\n\
             | `system` | `c` | when the list is not empty | when the list is not empty | `things` |\n"
        );
        assert_eq!(
            inputs_markdown(tree[0]),
            "| Input | Type | Where absent | What it is |\n| --- | --- | --- | --- |\n\
             | `on` | bool | `false` |  |\n| `things` | list of string | empty | Things \\| all. |\n\
             | `hour` | int, from 0 to 23 | `9` |  |\n"
        );
    }
}
