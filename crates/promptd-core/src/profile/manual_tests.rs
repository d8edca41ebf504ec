//! docs/profiles.md describes everything that a profile may use (keys, kinds, names, filters), and every built-in one.

use super::{ProfileSet, filters, load, names::ROOTS, taught};

const MANUAL: &str = include_str!("../../../../docs/profiles.md");

/// The manual from one heading to another.
fn part(from: &str, to: &str) -> &'static str {
    let begin = MANUAL.find(&format!("\n{from}\n")).unwrap();
    let end = begin + MANUAL[begin..].find(&format!("\n{to}\n")).unwrap();
    &MANUAL[begin..end]
}

/// What could be in place of `zzzz`, by the finding that it is not known.
fn known(profile: &str) -> Vec<String> {
    let (_, findings) = load(&[("own.yaml".to_owned(), profile.as_bytes().to_vec())], None);
    let message = &findings.iter().find(|finding| finding.message.contains("zzzz")).unwrap().message;
    let (_, list) = message.split_once("known").and_then(|(_, rest)| rest.split_once(": ")).unwrap();
    list.split(", ").map(ToOwned::to_owned).collect()
}

#[test]
fn the_manual_has_every_key_and_kind() {
    let keys = part("## The keys", "## Templates");
    for (profile, one_of_them) in [
        ("zzzz: 1", "messages"),
        ("inputs: {a: {type: string, zzzz: 1}}", "default_from"),
        ("reply: {zzzz: 1}", "acknowledgement"),
        ("reply: {actions: {A: {zzzz: 1}}}", "exclusive"),
        ("reply: {form: json, actions: {a: {fields: {f: {type: string, zzzz: 1}}}}}", "required"),
        ("budgets: {a: {limit: 1, zzzz: 1}}", "on_overflow"),
        ("messages: [{name: m, zzzz: 1}]", "sections"),
        ("messages: [{name: m, sections: [{id: s, template: t, zzzz: 1}]}]", "keep_empty"),
        ("messages: [{name: m, sections: [{id: s, kind: zzzz}]}]", "summary_tree"),
        ("messages: [{conversation: {zzzz: 1}}]", "window"),
    ] {
        let known = known(profile);
        assert!(known.iter().any(|key| key == one_of_them), "{profile}: {known:?}");
        for key in known {
            assert!(keys.contains(&format!("`{key}`")), "`{key}` of {profile}");
        }
    }
}

#[test]
fn the_manual_has_every_name_and_filter_of_templates() {
    let templates = part("## Templates", "## What is checked");
    for root in ROOTS {
        let row = templates.lines().find(|line| line.starts_with('|') && line.contains(&format!("`{}`", root.name)));
        let row = row.unwrap_or_else(|| panic!("{}", root.name));
        for field in root.fields {
            assert!(row.contains(&format!("`{field}`")), "{}.{field}", root.name);
        }
    }
    for name in taught::NAMES {
        assert!(templates.contains(&format!("\n| `{name}` |")), "{name}");
    }
    for name in filters::names() {
        let row = templates.lines().find(|line| line.starts_with(&format!("| `{name}")));
        assert!(row.is_some() || name == "trim", "{name}");
    }
}

#[test]
fn the_manual_has_every_built_in_profile() {
    let (_, profiles) = MANUAL.split_once("\n## The built-in profiles\n").unwrap();
    for profile in ProfileSet::built_in().iter() {
        let name = profile.name.as_str();
        assert!(profiles.contains(&format!("`{name}`")) || profiles.contains(&format!("\n### {name}\n")), "{name}");
    }
}
