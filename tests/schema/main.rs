//! The JSON Schemas and the readers agree: neither accepts what the other refuses, on the project's own files and on
//! mistakes made of them. `exceptions.yaml` lists what a schema cannot say, with the reasons.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "tests")]

mod corpus;
mod exceptions;
mod mistakes;
mod readers;

use std::collections::{BTreeMap, BTreeSet};

use jsonschema::Validator;
use serde_json::Value;

use exceptions::Exceptions;
use readers::Kind;

#[test]
fn workspaces_agree() {
    agree(Kind::Workspace);
}

#[test]
fn profiles_agree() {
    agree(Kind::Profile);
}

#[test]
fn configs_agree() {
    agree(Kind::Config);
}

#[test]
fn turns_agree() {
    agree(Kind::Turn);
}

#[test]
fn skills_agree() {
    agree(Kind::Skill);
}

/// A profile takes longer than the others: one mistake of so many is tried. It has no common factor with the number of changes
/// at a place.
const PROFILE_STEP: usize = 3;

/// The most differences that a failure shows.
const MAX_SHOWN: usize = 20;

fn agree(kind: Kind) {
    let schema = kind.schema();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let mut exceptions = Exceptions::of(kind);
    let mut seen = BTreeSet::new();
    let mut differences = BTreeMap::new();
    let (mut accepted, mut refused) = (0, 0);
    let files = corpus::files(kind);
    let mistakes = files.iter().flat_map(mistakes::of);
    let step = if kind == Kind::Profile { PROFILE_STEP } else { 1 };
    let mistakes = mistakes.step_by(step);
    for value in corpus::unchanged(kind).into_iter().chain(files.iter().cloned()).chain(mistakes) {
        if !seen.insert(value.to_string()) {
            continue;
        }
        let faults = kind.faults(&value);
        *(if faults.is_empty() { &mut accepted } else { &mut refused }) += 1;
        if let Some(difference) = difference(&faults, &validator, &value, &mut exceptions) {
            differences.entry(without_values(&difference)).or_insert_with(|| format!("{difference}\n  in {value}"));
        }
    }
    eprintln!("{}: {accepted} accepted, {refused} refused", kind.name());
    let shown = differences.values().take(MAX_SHOWN).cloned().collect::<Vec<_>>().join("\n\n");
    assert!(differences.is_empty(), "{} differences:\n\n{shown}", differences.len());
    assert!(accepted > 50 && refused > 50, "too little was tried");
    let every_exception_is_tried = step == 1 && corpus::with_every_feature();
    assert!(
        !every_exception_is_tried || exceptions.unused().is_empty(),
        "exceptions that nothing needs: {:?}",
        exceptions.unused()
    );
}

/// What one of the two alone refuses and no exception allows.
fn difference(faults: &[String], schema: &Validator, value: &Value, exceptions: &mut Exceptions) -> Option<String> {
    let errors: Vec<String> =
        schema.iter_errors(value).map(|error| format!("{} at {}", error, error.instance_path())).collect();
    let (who, alone) = match (faults.is_empty(), errors.is_empty()) {
        (false, true) => ("reader", exceptions.not_allowed_to_reader(value, faults)),
        (true, false) => ("schema", exceptions.not_allowed_to_schema(value, &errors)),
        _ => return None,
    };
    (!alone.is_empty()).then(|| format!("refused by the {who} alone: {}", alone.join("\n  ")))
}

/// A difference without what the file has in it: one of each sort is shown.
fn without_values(difference: &str) -> String {
    let is_value = |c: char| c.is_ascii_digit();
    let sort: String = difference.split(['`', '"']).step_by(2).collect::<String>().replace(is_value, "");
    sort.chars().take(MAX_SORT).collect()
}

/// How many characters of a difference, without values, decide its sort.
const MAX_SORT: usize = 100;
