//! `promptd rollback`: an earlier state of a published workspace, again.

use std::process::ExitCode;

use promptd_core::id::Id;

use super::{
    Author,
    place::{Connection, Place},
    show,
};
use crate::cli::CommandResult;

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
    let rollback =
        async |connection: &Connection| connection.rollback(id, revision, message.as_deref(), &author.author).await;
    show(&place.run(rollback)?)?;
    Ok(ExitCode::SUCCESS)
}
