//! The files that mistakes are made of: the project's own, and one of each kind that has every key.

use std::{fs, path::Path};

use promptd::{config::TABLE, features::FEATURES};
use promptd_core::yaml;
use serde_json::{Value, json};

use crate::readers::Kind;

/// Whether the config has the keys of all optional features.
pub(crate) fn with_every_feature() -> bool {
    FEATURES.iter().all(|feature| feature.is_built)
}

pub(crate) fn files(kind: Kind) -> Vec<Value> {
    let mut files = match kind {
        Kind::Workspace => {
            let own = ["workspace-example/workspace.yaml", "src/cli/init/workspace.yaml"].map(read);
            own.into_iter().chain(cases("workspace.yaml")).collect()
        }
        Kind::Profile => in_folder("examples/profiles").chain(cases(".profiles/harbour.yaml")).collect(),
        Kind::Config => vec![read("config/promptd.yaml"), defaults()],
        Kind::Turn => in_folder("examples/turns").collect(),
        Kind::Skill => vec![front_matter("src/cli/init/SKILL.md")],
    };
    files.push(read(&format!("tests/schema/whole/{}.yaml", kind.name())));
    if kind == Kind::Config && with_every_feature() {
        files.push(read("tests/schema/whole/config-of-features.yaml"));
    }
    files
}

/// Files that are large or many, and have nothing that those above have not: only as they are.
pub(crate) fn unchanged(kind: Kind) -> Vec<Value> {
    match kind {
        Kind::Profile => in_folder("config/profiles").collect(),
        Kind::Skill => skills().collect(),
        Kind::Workspace | Kind::Config | Kind::Turn => Vec::new(),
    }
}

fn skills() -> impl Iterator<Item = Value> {
    let mut paths: Vec<_> =
        fs::read_dir("workspace-example/skills").unwrap().map(|entry| entry.unwrap().path().join("SKILL.md")).collect();
    paths.sort();
    paths.into_iter().map(|path| front_matter(path.to_str().unwrap()))
}

fn read(path: &str) -> Value {
    parse(&fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}")))
        .unwrap_or_else(|| panic!("{path} is not YAML"))
}

fn parse(text: &str) -> Option<Value> {
    yaml::parse(text).ok().map(|node| node.to_json())
}

fn in_folder(folder: &str) -> impl Iterator<Item = Value> {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| read(path.to_str().unwrap()))
}

fn front_matter(path: &str) -> Value {
    let text = fs::read_to_string(path).unwrap();
    parse(text.split("---\n").nth(1).unwrap()).unwrap()
}

/// The file of that name in every case that has it as text.
fn cases(name: &str) -> impl Iterator<Item = Value> {
    let mut folders: Vec<_> = fs::read_dir("tests/cases").unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    folders.into_iter().filter_map(move |folder| {
        let plain = fs::read_to_string(folder.join("workspace").join(name)).ok();
        let text = plain.or_else(|| in_files(&folder, name));
        parse(&text?)
    })
}

fn in_files(case: &Path, name: &str) -> Option<String> {
    let files = parse(&fs::read_to_string(case.join("files.yaml")).ok()?)?;
    files.get(name)?.as_str().map(str::to_owned)
}

/// The config that sets every setting to its default.
fn defaults() -> Value {
    let mut config = json!({});
    for setting in TABLE {
        let node = setting.key.split('.').fold(&mut config, |node, part| &mut node[part]);
        *node = parse(setting.default).unwrap_or_default();
    }
    config
}
