//! `promptd profile`: the recipes that prompts are assembled by.

use std::process::ExitCode;

use clap::Subcommand;
use promptd::profile::{Profile, ProfileSet};

use super::{Failure, Outcome, load::Offline, settings::ConfigFile};

/// Lists, shows and checks profiles, the operator's own included.
#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    config: ConfigFile,
}

#[derive(Subcommand)]
enum Command {
    /// Names every profile.
    List,
    /// Prints a profile's YAML.
    Show {
        /// Its name.
        name: String,
    },
    /// Checks every profile; exits with 1 if one is at fault.
    Check,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let offline = Offline::open(&arguments.config, &[])?;
    match &arguments.command {
        Command::List => list(&offline.profiles),
        Command::Show { name } => print!("{}", find(&offline.profiles, name)?.source),
        // Opening has checked them: a fault would have ended the command.
        Command::Check => println!("{} profiles, nothing to report", offline.profiles.iter().len()),
    }
    Ok(ExitCode::SUCCESS)
}

fn list(profiles: &ProfileSet) {
    let width = profiles.iter().map(|profile| profile.name.as_str().len()).max().unwrap_or_default();
    for profile in profiles.iter() {
        let own = if profile.built_in { "built in" } else { "own" };
        println!("{:width$}  {own:8}  {}", profile.name.as_str(), profile.description.trim());
    }
}

/// The profile of that name, or an error that names the nearest.
pub(super) fn find<'p>(profiles: &'p ProfileSet, name: &str) -> Result<&'p Profile, Failure> {
    if let Some(profile) = profiles.get(name) {
        return Ok(profile);
    }
    let names: Vec<_> = profiles.iter().map(|profile| profile.name.as_str()).collect();
    let hint = match promptd::yaml::nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", names.join(", ")),
    };
    Err(Failure::input(format!("error: there is no profile `{name}`: {hint}")))
}
