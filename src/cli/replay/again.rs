//! Whether each request gives the prompt that was recorded.

use std::{collections::BTreeMap, fmt::Write as _, process::ExitCode};

use promptd_core::{
    diff::Change,
    digest::Digest,
    prompt::{Prepared, Size},
    text::thousands,
};
use promptd_record::{Damage, Folder, Recorded, RequestFile, SectionOutline, outline};
use serde_json::{Value, json};

use super::{
    Arguments, Faults, Format, Outcome, exit_code, name, print_json, tally,
    work::{self, Made},
};
use crate::cli::{
    Failure, counted,
    diff::words::{self, headline},
    print,
};

/// A revision to assemble from.
struct Revision {
    prepared: Prepared,
    /// The version of its prompts, if this promptd assembles another one.
    other_prompts: Option<String>,
}

/// A request whose prompt is not the recorded one.
struct Difference {
    name: String,
    /// Without its turn and its sections.
    recorded: Recorded,
    digest: String,
    sections: Vec<Section>,
}

/// A section that differs.
struct Section {
    id: String,
    change: Change,
    /// Each with its outcome, if it is there.
    before: Option<SectionOutline>,
    after: Option<SectionOutline>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let (folder, requests) = arguments.open()?;
    let make = |sha256| revision(&folder, sha256);
    let each = |revision: &Made<Revision>, file: &RequestFile| {
        Outcome::read(&folder, file, revision)
            .map_or_else(|unread| unread, |(recorded, revision)| again(&folder, file, revision, &recorded))
    };
    let outcomes = work::for_each(&requests, arguments.jobs(), make, each);
    let mut faults = Faults::default();
    let (same, differences) = tally(outcomes, &mut faults);
    faults.report(&folder)?;
    match arguments.format {
        Format::Human => print(human(same, &differences, &faults, arguments.examples))?,
        Format::Json => print_json(&to_json(same, &differences, &faults))?,
    }
    Ok(exit_code(!differences.is_empty(), &faults))
}

fn revision(folder: &Folder, sha256: Digest) -> Made<Revision> {
    let damage = |found: Vec<Damage>| found.iter().map(ToString::to_string).collect::<Vec<_>>();
    let revision = folder.revision(sha256).map_err(damage)?;
    let other_prompts = (!revision.has_same_prompts).then_some(revision.prompts);
    let snapshot = revision.origin.load().map_err(|_| {
        vec![format!("the revision {} cannot be loaded: its workspace.yaml is not valid", sha256.to_hex())]
    })?;
    Ok(Revision { prepared: snapshot.into(), other_prompts })
}

fn again(folder: &Folder, file: &RequestFile, revision: &Revision, recorded: &Recorded) -> Outcome<Difference> {
    if let Some(prompts) = &revision.other_prompts {
        return Outcome::Failed(vec![format!(
            "recorded by a promptd whose prompts are of the version `{}`, which this one does not assemble: use that \
             promptd, or --against",
            words::visible(prompts)
        )]);
    }
    let prompt = match recorded.assemble(&revision.prepared) {
        Ok(prompt) => prompt,
        Err(why) => return Outcome::without_prompt(folder, file, &why),
    };
    if prompt.digest == recorded.digest {
        return Outcome::Same;
    }
    let sections = sections(&recorded.sections, &outline(&prompt));
    let name = name(&recorded.workspace, recorded.at, folder, file);
    let digest = prompt.digest.to_hex();
    let recorded = Recorded { turn: Recorded::default().turn, sections: Vec::new(), ..recorded.clone() };
    Outcome::Differs(Box::new(Difference { name, recorded, digest, sections }))
}

/// The sections that differ, in the order of the second prompt; then those that it does not have.
fn sections(before: &[SectionOutline], after: &[SectionOutline]) -> Vec<Section> {
    let of = |sections: &[SectionOutline]| {
        sections.iter().map(|section| (section.id.clone(), section.clone())).collect::<BTreeMap<_, _>>()
    };
    let (first, second) = (of(before), of(after));
    let gone = before.iter().filter(|section| !second.contains_key(&section.id));
    let one = |section: &SectionOutline| {
        let (before, after) = (first.get(&section.id), second.get(&section.id));
        let text = |state: Option<&SectionOutline>| state.and_then(|state| state.sha256);
        let change = match (text(before), text(after)) {
            (None, Some(_)) => Change::Added,
            (Some(_), None) => Change::Removed,
            (before, after) if before != after => Change::Changed,
            _ if before.map(|state| state.outcome) == after.map(|state| state.outcome) => return None,
            _ => Change::Reported,
        };
        Some(Section { id: section.id.clone(), change, before: before.cloned(), after: after.cloned() })
    };
    after.iter().chain(gone).filter_map(one).collect()
}

fn human(same: usize, differences: &[Difference], faults: &Faults, examples: usize) -> String {
    let mut out = String::new();
    for Difference { name, sections, .. } in differences.iter().take(examples) {
        let _ = writeln!(out, "differs: {name}");
        for section in sections {
            let size = |state: &Option<SectionOutline>| Size {
                chars: state.as_ref().map(|state| state.chars).unwrap_or_default(),
                ..Size::default()
            };
            let _ = writeln!(
                out,
                "  {}",
                headline(section.change, &section.id, size(&section.before), size(&section.after))
            );
        }
        if sections.is_empty() {
            let _ = writeln!(out, "  {}, or their order", words::ONLY_BETWEEN);
        }
    }
    if differences.len() > examples {
        let _ = writeln!(out, "and {} more", thousands((differences.len() - examples) as u64));
    }
    let count = |count: usize| thousands(count as u64);
    let all = same + differences.len() + faults.requests;
    let _ = writeln!(
        out,
        "{}: {} the same, {} differ, {} could not be replayed",
        counted(all as u64, "request"),
        count(same),
        count(differences.len()),
        count(faults.requests)
    );
    out
}

fn to_json(same: usize, differences: &[Difference], faults: &Faults) -> Value {
    let state = |state: &Option<SectionOutline>| {
        state.as_ref().map(|state| json!({ "outcome": state.outcome.as_str(), "chars": state.chars }))
    };
    let section = |section: &Section| {
        json!({
            "id": section.id,
            "change": words::word(section.change),
            "before": state(&section.before),
            "after": state(&section.after),
        })
    };
    let difference = |one: &Difference| {
        json!({
            "request": one.name,
            "workspace": one.recorded.workspace,
            "profile": one.recorded.profile,
            "revision": one.recorded.revision,
            "at": one.recorded.at.to_string(),
            "digest_before": one.recorded.digest.to_hex(),
            "digest_after": one.digest,
            "sections": one.sections.iter().map(section).collect::<Vec<_>>(),
        })
    };
    json!({
        "requests": same + differences.len() + faults.requests,
        "same": same,
        "differences": differences.iter().map(difference).collect::<Vec<_>>(),
        "faults": faults.to_json(),
    })
}
