//! The commands of published workspaces: `publish`, `proposals`, `approve`, `reject`, `promote`, `abort`, `pull`, `history`,
//! `rollback`, `gc`.

mod base;
pub(super) mod canary;
mod conflict;
mod difference;
pub(super) mod gc;
pub(super) mod history;
mod place;
pub(super) mod proposals;
pub(super) mod publish;
pub(super) mod pull;
#[cfg(feature = "record")]
mod rehearsal;
pub(super) mod rollback;
pub(super) mod version;

use promptd_core::id::Id;
use promptd_etcd::publish::Published;

pub(super) use self::place::Address;
use self::place::Outcome;
use super::{Failure, print};

/// Prints what became of what was to be published.
fn show(outcome: &Outcome) -> Result<(), Failure> {
    match outcome {
        Outcome::Published(all) => all.iter().try_for_each(|one| print(shown(one))),
        Outcome::Waits(waiting) => print(proposals::waits(waiting)),
    }
}

fn shown(published: &Published) -> String {
    let Published { id, revision, sequence, is_new } = published;
    let note = if *is_new { "" } else { ", as it was: nothing is published" };
    format!("{id}: revision {sequence} ({}){note}\n", revision.short())
}

/// An id, for clap.
fn id(text: &str) -> Result<Id, String> {
    Id::parse(text).map_err(|invalid| format!("an id {invalid}"))
}

/// What others wrote, on one line, without what could move the cursor.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Who publishes: `--author`, else the user that runs the command.
#[derive(clap::Args)]
struct Author {
    /// Who publishes; default: the user that runs the command. A promptd takes the name of the token instead.
    #[arg(long, value_name = "NAME", env = "USER", hide_env_values = true, default_value = "unknown")]
    author: String,
}
