//! `promptd gc`: removes what was published and nothing needs any more.

use std::process::ExitCode;

use promptd_etcd::gc::{Removed, collect};

use super::place::{Place, failure};
use crate::cli::{CommandResult, counted, print};

/// Removes all but the newest revisions of each published workspace, proposals that have expired, and the files that none of those
/// left has.
///
/// Files that were written within the last hour stay: someone may be about to publish them. It needs etcd itself.
#[derive(clap::Args)]
pub(in crate::cli) struct Arguments {
    /// How many revisions of each workspace are kept.
    #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    keep: u32,
    #[command(flatten)]
    place: Place,
}

pub(in crate::cli) fn run(arguments: &Arguments) -> CommandResult {
    let Arguments { keep, place } = arguments;
    let Removed { revisions, blobs, proposals } = place.run(async |connection| {
        let etcd = connection.etcd("gc")?;
        let keep = usize::try_from(*keep).unwrap_or(usize::MAX);
        collect(&etcd.client, &etcd.prefix, keep).await.map_err(|e| failure(&e))
    })?;
    let removed = [(revisions, "revision"), (blobs, "file"), (proposals, "proposal")];
    let removed = removed.map(|(count, what)| counted(count as u64, what));
    print(format_args!("removed: {}\n", removed.join(", ")))?;
    Ok(ExitCode::SUCCESS)
}
