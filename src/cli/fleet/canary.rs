//! Canaries: what only some turns get of a published workspace. `promptd publish --canary` begins one, `promptd promote` and
//! `promptd abort` end it.

use std::process::ExitCode;

use promptd_core::{
    canary::{Key, Share},
    id::Id,
};
use promptd_etcd::{canary::End, publish::Trial};

use super::{Author, place::Place, show};
use crate::cli::CommandResult;

/// Which turns get what is published, where not all do.
#[derive(clap::Args)]
pub(super) struct Canary {
    /// Only this share of the turns gets what is published, such as 10% or 0.5%, until `promptd promote` or `promptd abort`.
    #[arg(long, value_name = "SHARE", value_parser = Share::parse, requires = "by")]
    canary: Option<Share>,
    /// The field of a turn that decides: user.id, channel.user_id, channel.group_id or session_id.
    #[arg(long, value_name = "FIELD", value_parser = key, requires = "canary")]
    by: Option<Key>,
}

impl Canary {
    pub(super) fn trial(&self) -> Option<Trial> {
        self.canary.zip(self.by).map(|(share, by)| Trial { share, by })
    }
}

/// How lists say which turns get something.
pub(super) fn mark(Trial { share, by }: Trial) -> String {
    format!("  [canary: {share} by {}]", by.name())
}

fn key(name: &str) -> Result<Key, String> {
    Key::parse(name).ok_or_else(|| format!("one of {}", Key::ALL.map(Key::name).join(", ")))
}

/// Gives the candidate of a workspace's canary to all turns.
///
/// It becomes the newest revision.
#[derive(clap::Args)]
pub(in crate::cli) struct Promote {
    #[command(flatten)]
    ended: Ended,
}

/// Ends a workspace's canary: all turns get what they got before it.
///
/// The history keeps the candidate: `promptd pull ID DIR --revision R` gives it back.
#[derive(clap::Args)]
pub(in crate::cli) struct Abort {
    #[command(flatten)]
    ended: Ended,
}

#[derive(clap::Args)]
struct Ended {
    /// The workspace.
    #[arg(value_name = "ID", value_parser = super::id)]
    id: Id,
    /// Why, for the history.
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    #[command(flatten)]
    author: Author,
    #[command(flatten)]
    place: Place,
}

pub(in crate::cli) fn promote(Promote { ended }: &Promote) -> CommandResult {
    ended.run(End::Promote)
}

pub(in crate::cli) fn abort(Abort { ended }: &Abort) -> CommandResult {
    ended.run(End::Abort)
}

impl Ended {
    fn run(&self, end: End) -> CommandResult {
        let Self { id, message, author, place } = self;
        let ended =
            place.run(async |connection| connection.end_canary(end, id, message.as_deref(), &author.author).await)?;
        show(&ended)?;
        Ok(ExitCode::SUCCESS)
    }
}
