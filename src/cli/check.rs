//! `promptd check`: every finding of every workspace.

use std::{collections::BTreeSet, path::Path, process::ExitCode};

use clap::ValueEnum;
use promptd_core::{
    finding::{Counts, Finding, Place, Reported, github, human, json, sarif},
    workspace::MANIFEST,
};

use super::{
    CommandResult, Failure,
    diff::lines::{self, Marks},
    is_styled,
    load::{Loaded, Offline},
    print,
    settings::ConfigFile,
    snapshot::{self, Differing},
};

/// Reports every finding of workspaces, with file, line and excerpt.
///
/// The warnings of the config are reported too.
/// Exits with 0 if there are no errors, 1 if there are, 2 if a workspace cannot be read.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The folders of the workspaces; `ID=DIR` gives one an id other than its name.
    #[arg(required = true, value_name = "DIR")]
    workspaces: Vec<String>,
    /// Warnings count as errors.
    #[arg(long)]
    deny_warnings: bool,
    /// Also compares the prompts of the turns in `.promptd/turns` with what `promptd snapshot` wrote there.
    #[arg(long)]
    snapshots: bool,
    /// The format of the findings.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    #[command(flatten)]
    config: ConfigFile,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people: with excerpts, and a count at the end.
    Human,
    /// One JSON document.
    Json,
    /// Annotations of a GitHub workflow.
    Github,
    /// SARIF 2.1.0.
    Sarif,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let offline = Offline::open(&arguments.config, &arguments.workspaces)?;
    let mut reported = offline.warnings.clone();
    let mut differences = String::new();
    let mut failed: Option<Failure> = None;
    for loaded in offline.load() {
        match loaded {
            Ok(loaded) => {
                loaded.argument.note_missing_files();
                let mut found = findings(&offline, &loaded);
                if arguments.snapshots && loaded.result.is_ok() {
                    for differing in snapshot::compare(&offline, &loaded.argument)? {
                        differences += &shown(&differing, &loaded.argument.folder);
                        found.push(differing.finding);
                    }
                }
                reported.extend(offline.report(&loaded.argument, &found));
            }
            Err(failure) => match &mut failed {
                Some(first) => first.text = format!("{}\n{}", first.text.trim_end(), failure.text),
                None => failed = Some(failure),
            },
        }
    }
    // A workspace that could not be read is not one without findings.
    if failed.is_none() || !reported.is_empty() || arguments.format != Format::Human {
        print(rendered(arguments.format, &reported))?;
    }
    // Behind a document that a program reads, they would not be part of it.
    if arguments.format == Format::Human {
        print(&differences)?;
    } else {
        eprint!("{differences}");
    }
    let counts = Counts::of(reported.iter().map(|one| &one.finding));
    match failed {
        Some(failure) => Err(failure),
        None if counts.errors > 0 || (arguments.deny_warnings && counts.warnings > 0) => Ok(ExitCode::from(1)),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// What of a snapshot differs, below its name.
fn shown(differing: &Differing, folder: &str) -> String {
    if differing.diff.is_empty() {
        return String::new();
    }
    let marks = if is_styled(&std::io::stdout()) { Marks::Colour } else { Marks::Brackets };
    let Place::File { path, .. } = &differing.finding.place else { return String::new() };
    let file = Path::new(folder).join(path);
    format!("{}\n{}\n", file.display(), lines::render(&differing.diff, marks, "  "))
}

fn rendered(format: Format, reported: &[Reported]) -> String {
    match format {
        Format::Json => json::render(reported),
        Format::Github => github::render(reported),
        Format::Sarif => sarif::render(reported),
        Format::Human => {
            let findings = human::render(reported, is_styled(&std::io::stdout()));
            let counts = Counts::of(reported.iter().map(|one| &one.finding));
            format!("{findings}{}\n", human::summary(counts))
        }
    }
}

/// The findings of loading, and those that prompts of the workspace will have: most severe first, each once.
pub(super) fn findings(offline: &Offline, loaded: &Loaded) -> Vec<Finding> {
    let found: BTreeSet<Finding> = match &loaded.result {
        Err(faults) if faults.iter().all(is_of_manifest) => {
            faults.iter().cloned().chain(offline.findings_without_manifest(&loaded.argument)).collect()
        }
        Err(faults) => faults.iter().cloned().collect(),
        Ok(snapshot) => snapshot.findings.iter().cloned().chain(snapshot.forecast().iter().cloned()).collect(),
    };
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.place.cmp(&b.place)));
    found
}

fn is_of_manifest(finding: &Finding) -> bool {
    matches!(&finding.place, Place::File { path, .. } if &**path == MANIFEST)
}
