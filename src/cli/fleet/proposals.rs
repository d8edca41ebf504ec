//! Proposals: what is published once others have approved it. `promptd proposals` lists them, `promptd approve` and `promptd reject`
//! end them.

use std::process::ExitCode;

use promptd_core::id::Id;
use promptd_etcd::proposal::{Action, Proposal};

use super::{
    canary, one_line,
    place::{Outcome, Place, Waiting},
    show,
};
use crate::cli::{CommandResult, print};

/// Lists the open proposals of a published workspace, the newest first: id, time, author, message, and who has approved it.
///
/// `promptd diff --from URL ID ID@PROPOSAL` shows what one would change, `promptd pull ID DIR --revision PROPOSAL` its files.
#[derive(clap::Args)]
pub(in crate::cli) struct Proposals {
    /// The workspace.
    #[arg(value_name = "ID", value_parser = super::id)]
    id: Id,
    #[command(flatten)]
    place: Place,
}

/// Approves a proposal: with the last approval that is needed, it is published.
///
/// Who made it cannot approve it, and nobody counts twice. Exits with 1 if someone has published since it was made.
#[derive(clap::Args)]
pub(in crate::cli) struct Approve {
    #[command(flatten)]
    named: Named,
}

/// Rejects a proposal, so that nobody can approve it any more.
#[derive(clap::Args)]
pub(in crate::cli) struct Reject {
    #[command(flatten)]
    named: Named,
    /// Why, for the log of the service.
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
}

#[derive(clap::Args)]
struct Named {
    /// The workspace, or one of them.
    #[arg(value_name = "ID", value_parser = super::id)]
    id: Id,
    /// The first digits of its id, as `promptd proposals` shows them.
    #[arg(value_name = "PROPOSAL")]
    proposal: String,
    #[command(flatten)]
    place: Place,
}

pub(in crate::cli) fn list(Proposals { id, place }: &Proposals) -> CommandResult {
    let open = place.run(async |connection| connection.service("a proposal")?.proposals(id).await)?;
    if open.is_empty() {
        print(format_args!("{id} has no open proposal\n"))?;
    }
    for waiting in &open {
        print(line(id, waiting))?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(in crate::cli) fn approve(Approve { named: Named { id, proposal, place } }: &Approve) -> CommandResult {
    let approved = place.run(async |connection| connection.service("a proposal")?.approve(id, proposal).await)?;
    match approved {
        Outcome::Waits(Waiting { proposal, needed }) => {
            let count = proposal.approved_by.len();
            print(format_args!("{id}: {count} of {needed} have approved {}\n", proposal.id.short()))?;
        }
        published @ Outcome::Published(_) => show(&published)?,
    }
    Ok(ExitCode::SUCCESS)
}

pub(in crate::cli) fn reject(Reject { named: Named { id, proposal, place }, message }: &Reject) -> CommandResult {
    let message = message.as_deref().unwrap_or_default();
    place.run(async |connection| connection.service("a proposal")?.reject(id, proposal, message).await)?;
    print(format_args!("{id}: rejected {proposal}\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// That something waits, and how it goes on.
pub(super) fn waits(Waiting { proposal, needed }: &Waiting) -> String {
    let ids: Vec<&str> = proposal.workspaces.keys().map(Id::as_str).collect();
    let (first, name) = (ids.first().copied().unwrap_or_default(), proposal.id.short());
    let others =
        if *needed == 1 { "another must approve it".to_owned() } else { format!("{needed} others must approve it") };
    format!("{}: proposed as {name}; {others}: `promptd approve {first} {name}`\n", ids.join(", "))
}

fn line(id: &Id, Waiting { proposal, needed }: &Waiting) -> String {
    let Proposal { author, message, time, action, workspaces, approved_by, .. } = proposal;
    let (author, message) = (one_line(author), one_line(message));
    let others: Vec<&str> = workspaces.keys().filter(|other| *other != id).map(Id::as_str).collect();
    let with = if others.is_empty() { String::new() } else { format!("  [with {}]", others.join(", ")) };
    let action = match action {
        Action::Publish => String::new(),
        Action::Canary(trial) => canary::mark(*trial),
        Action::Promote => "  [promotes the canary]".to_owned(),
    };
    let by = if approved_by.is_empty() { String::new() } else { format!(": {}", one_line(&approved_by.join(", "))) };
    let count = approved_by.len();
    format!(
        "{}  {time:.0}  {author}  {message}{action}{with}  [{count} of {needed} have approved it{by}]\n",
        proposal.id.short()
    )
}
