//! `promptd history`: what was published of a workspace.

use std::process::ExitCode;

use promptd_core::id::Id;
use promptd_etcd::history::Past;

use super::{canary, one_line, place::Place};
use crate::cli::{CommandResult, Failure, print};

/// Lists the revisions of a published workspace that are held, the newest first: number, revision, time, author, message; and
/// whether a canary tries it out, on which turns.
#[derive(clap::Args)]
pub(in crate::cli) struct Arguments {
    /// The workspace.
    #[arg(value_name = "ID", value_parser = super::id)]
    id: Id,
    /// How many, at most.
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20)]
    count: usize,
    #[command(flatten)]
    place: Place,
}

pub(in crate::cli) fn run(arguments: &Arguments) -> CommandResult {
    let Arguments { id, count, place } = arguments;
    let past = place.run(async |connection| connection.list(id, *count).await)?;
    if past.is_empty() {
        return Err(Failure::run(format!("nothing was published of {id}")));
    }
    for Past { revision, manifest, trial } in &past {
        let (author, message) = (one_line(&manifest.author), one_line(&manifest.message));
        let mark = trial.map(canary::mark).unwrap_or_default();
        print(format_args!(
            "{:>5}  {}  {:.0}  {author}  {message}{mark}\n",
            manifest.sequence,
            revision.short(),
            manifest.time
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}
