//! `promptd record`: what is in a folder of records, and removing a user's requests from it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Subcommand, builder::NonEmptyStringValueParser};
use promptd::config::Overrides;
use promptd_core::finding::escape;
use promptd_record::Folder;

use super::{
    CommandResult, Failure, counted, print,
    settings::{self, ConfigFile},
};

/// Shows what was recorded, and removes what was recorded of a user.
///
/// The folder is that of the setting `record.dir`, or given by `--dir`.
#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Removes every request of a user, with the files that no other request needs, and says how many it was.
    ///
    /// A request is of the user whose id is its `turn.user.id` or its `turn.channel.user_id`. Where these fields are not
    /// recorded (`record.redact`), no request can be found by its user. Exits with 1 if some requests cannot be read, so that
    /// they may be the user's too.
    Delete {
        /// The user's id.
        #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
        user: String,
        #[command(flatten)]
        place: Place,
    },
    /// Counts the requests by workspace, and says from when the oldest and the newest are.
    Stat {
        #[command(flatten)]
        place: Place,
    },
}

#[derive(clap::Args)]
struct Place {
    /// The folder of the records; default: the setting `record.dir`.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    config: ConfigFile,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    match &arguments.command {
        Command::Delete { user, place } => delete(&place.open()?, user),
        Command::Stat { place } => stat(&place.open()?),
    }
}

impl Place {
    fn open(&self) -> Result<Folder, Failure> {
        let dir = match &self.dir {
            Some(dir) => dir.clone(),
            None => {
                let config = settings::load(&self.config, &Overrides::default(), true)?.config;
                let dir = config.record.map(|options| options.dir);
                dir.ok_or_else(|| Failure::run("no folder of records: set `record.dir` in the config, or give --dir"))?
            }
        };
        open(&dir)
    }
}

/// Opens a folder of records.
pub(super) fn open(dir: &Path) -> Result<Folder, Failure> {
    Folder::open(dir).map_err(Failure::run)
}

fn delete(folder: &Folder, user: &str) -> CommandResult {
    let deleted = folder.delete_user(user).map_err(|error| Failure::run(format!("cannot remove requests: {error}")))?;
    print(format_args!("removed {}\n", counted(deleted.requests, "request")))?;
    for damage in &deleted.unread {
        eprintln!("error: {damage}; it may be of this user: remove the file");
    }
    Ok(if deleted.unread.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn stat(folder: &Folder) -> CommandResult {
    let failure = |error: std::io::Error| Failure::run(format!("cannot read the records: {error}"));
    let requests = folder.requests().map_err(failure)?;
    let mut workspaces: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let mut revisions = BTreeMap::new();
    let mut is_whole = true;
    for request in &requests {
        let workspace = revisions.entry(request.revision).or_insert_with(|| {
            let read = folder.workspace_of(request.revision);
            read.map_err(|damage| {
                is_whole = false;
                eprintln!("error: {damage}");
            })
        });
        if let Ok(workspace) = workspace {
            let counts = workspaces.entry(workspace.clone()).or_default();
            counts.0 += 1;
        }
    }
    for workspace in revisions.values().flatten() {
        workspaces.entry(workspace.clone()).or_default().1 += 1;
    }
    for (workspace, (requests, revisions)) in &workspaces {
        let (requests, revisions) = (counted(*requests, "request"), counted(*revisions, "revision"));
        print(format_args!("{}: {requests}, {revisions}\n", escape(workspace)))?;
    }
    let time = |at: u64| i64::try_from(at).ok().and_then(|at| jiff::Timestamp::from_microsecond(at).ok());
    if let Some((first, last)) = requests.first().zip(requests.last())
        && let Some((first, last)) = time(first.at).zip(time(last.at))
    {
        print(format_args!("from {first:.0} to {last:.0}\n"))?;
    } else {
        print("no requests\n")?;
    }
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
