//! `promptd rollback`: an earlier state of a published workspace, again.

use std::process::ExitCode;

use promptd_core::id::Id;
use promptd_etcd::{
    history,
    publish::{Note, Publication, heads, publish},
};

use super::{Author, Place, failure, shown};
use crate::cli::{CommandResult, print};

/// Publishes an earlier revision of a workspace again. The history keeps what was published in between.
#[derive(clap::Args)]
pub(in crate::cli) struct Arguments {
    /// The workspace.
    #[arg(value_name = "ID", value_parser = super::id)]
    id: Id,
    /// A number or the first digits of a revision, as `promptd history` shows them.
    #[arg(value_name = "REVISION")]
    revision: String,
    /// Why, for the history.
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    #[command(flatten)]
    author: Author,
    #[command(flatten)]
    place: Place,
}

pub(in crate::cli) fn run(arguments: &Arguments) -> CommandResult {
    let Arguments { id, revision, message, author, place } = arguments;
    let published = place.run(async |connection| {
        let (client, prefix) = (&connection.client, &connection.prefix);
        let done = async {
            let head = heads(client, prefix, std::slice::from_ref(id)).await?.pop().flatten();
            let past = history::find(client, prefix, id, revision).await?;
            let files = history::files(client, prefix, &past.manifest).await?;
            let sequence = past.manifest.sequence;
            let message = message.clone().unwrap_or_else(|| format!("Back to revision {sequence}."));
            let publication = Publication { id: id.clone(), files, base: head.map(|head| head.revision) };
            publish(client, prefix, &[publication], &Note { author: author.author.clone(), message }).await
        };
        done.await.map_err(|e| failure(&e))
    })?;
    for one in &published {
        print(shown(one))?;
    }
    Ok(ExitCode::SUCCESS)
}
