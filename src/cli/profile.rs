//! `promptd profile`: the recipes that prompts are assembled by.

use std::{path::PathBuf, process::ExitCode, sync::Arc};

use clap::Subcommand;
use promptd_core::{
    finding::{Counts, Finding, Place, Reported, human},
    profile::{self, Profile, ProfileFile, ProfileSet},
};
use promptd_source::{FileSet, read_files};

use super::{
    CommandResult, Failure, is_styled,
    load::Offline,
    print,
    settings::{self, ConfigFile},
};

/// Lists, prints, checks and documents profiles, built in and the operator's own.
#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    config: ConfigFile,
}

#[derive(Subcommand)]
enum Command {
    /// Lists every profile.
    List,
    /// Prints the YAML of a profile, and of those that it extends.
    Show {
        /// Its name.
        name: String,
    },
    /// Reports every fault of profiles, with file, line and excerpt; exits with 1 if there is one.
    Check {
        /// The files; default: those of the folder that the config names. They may extend those and one another.
        files: Vec<PathBuf>,
    },
    /// Prints Markdown tables: the sections of profiles that extend one another, and what gates each.
    Docs {
        /// One profile, for it and those that share a base with it, or several, for these; default: all.
        names: Vec<String>,
        /// Prints a table of the inputs of each instead.
        #[arg(long)]
        inputs: bool,
    },
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let offline = Offline::open(&arguments.config, &[])?;
    let profiles = &*offline.profiles;
    match &arguments.command {
        Command::List => print(list(profiles))?,
        Command::Show { name } => print(&find(profiles, name)?.source)?,
        // They have been checked already: a fault would have ended the command.
        Command::Check { files } if files.is_empty() => {
            print(format_args!("{} profiles, nothing to report\n", profiles.iter().len()))?;
        }
        Command::Check { files } => return check(&offline, files),
        Command::Docs { names, inputs } => print(docs(profiles, names, *inputs)?)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(profiles: &ProfileSet) -> String {
    let width = profiles.iter().map(|profile| profile.name.as_str().len()).max().unwrap_or_default();
    let line = |profile: &Arc<Profile>| {
        let own = if profile.built_in { "built in" } else { "own" };
        format!("{:width$}  {own:8}  {}\n", profile.name.as_str(), profile.description.trim())
    };
    profiles.iter().map(line).collect()
}

/// Checks files as if they were in the folder of profiles.
fn check(offline: &Offline, paths: &[PathBuf]) -> CommandResult {
    let given = paths.iter().map(given).collect::<Result<Vec<_>, _>>()?;
    let folder = offline.config.source.profiles.clone();
    let others = folder.map(|path| read_files(&FileSet::Folder { path, suffix: ".yaml" })).unwrap_or_default();
    let named = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let others = others.into_iter().filter_map(|(path, bytes)| Some((named(&path), bytes.ok()?)));
    let others = others.filter(|(name, _)| given.iter().all(|((other, _), _)| other != name));
    let all: Vec<ProfileFile> = others.chain(given.iter().map(|(file, _)| file.clone())).collect();

    let (_, findings) = profile::load(&all, None);
    let reported: Vec<Reported> = findings.iter().filter_map(|finding| reported(finding, &given)).collect();
    let findings = human::render(&reported, is_styled(&std::io::stdout()));
    let counts = Counts::of(reported.iter().map(|one| &one.finding));
    print(format_args!("{findings}{}\n", human::summary(counts)))?;
    Ok(ExitCode::from(u8::from(counts.errors > 0)))
}

/// A file as profiles are loaded, and its path as it was given.
type Given = (ProfileFile, String);

fn given(path: &PathBuf) -> Result<Given, Failure> {
    let failure = |why: &dyn std::fmt::Display| Failure::run(format!("the profile {} {why}", path.display()));
    let absolute = settings::current_folder()?.join(path);
    let bytes = match read_files(&FileSet::Paths(vec![absolute])).into_values().next() {
        Some(Ok(bytes)) => bytes,
        Some(Err(error)) => return Err(failure(&error)),
        None => return Err(failure(&"does not exist")),
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(((name, bytes), path.display().to_string()))
}

/// The finding with the path that was given; `None`: the finding is of another file.
fn reported(finding: &Finding, given: &[Given]) -> Option<Reported> {
    let Place::File { path, .. } = &finding.place else { return None };
    let name = path.strip_prefix("profiles/")?;
    let ((_, bytes), path) = given.iter().find(|((other, _), _)| other == name)?;
    let source: Arc<str> = String::from_utf8_lossy(bytes).into();
    let subject = "profiles".to_owned();
    Some(Reported { finding: finding.clone(), subject, file: Some(path.clone()), source: Some(source) })
}

fn docs(profiles: &ProfileSet, names: &[String], inputs: bool) -> Result<String, Failure> {
    let mut chosen = names.iter().map(|name| find(profiles, name)).collect::<Result<Vec<_>, _>>()?;
    if inputs {
        if chosen.is_empty() {
            chosen = profiles.iter().map(|profile| &**profile).collect();
        }
        let table = |one: &&Profile| (one.name.to_string(), profile::inputs_markdown(one));
        return Ok(titled(&chosen.iter().map(table).collect::<Vec<_>>()));
    }
    let groups: Vec<Vec<&Profile>> = match chosen.as_slice() {
        [] => {
            let trees = profiles.iter().map(|one| (one, profile::extension_tree(profiles, one)));
            trees.filter(|(one, tree)| tree[0].name == one.name).map(|(_, tree)| tree).collect()
        }
        [one] => vec![profile::extension_tree(profiles, one)],
        _ => vec![chosen],
    };
    let title = |group: &[&Profile]| group.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ");
    let tables: Vec<_> = groups.iter().map(|group| (title(group), profile::sections_markdown(group))).collect();
    Ok(titled(&tables))
}

/// Tables one below the other; a single one needs no title.
fn titled(tables: &[(String, String)]) -> String {
    match tables {
        [(_, table)] => table.clone(),
        _ => tables.iter().map(|(title, table)| format!("### {title}\n\n{table}")).collect::<Vec<_>>().join("\n"),
    }
}

/// The profile of that name, or a failure.
pub(super) fn find<'p>(profiles: &'p ProfileSet, name: &str) -> Result<&'p Profile, Failure> {
    profiles.named(name).map(|profile| &**profile).map_err(|message| Failure::input(format!("error: {message}")))
}
