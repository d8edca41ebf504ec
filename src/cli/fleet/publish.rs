//! `promptd publish`: workspaces from folders to where services read them.

use std::{collections::BTreeMap, process::ExitCode};

use promptd_core::{
    digest::Digest,
    finding::{Counts, human},
    id::Id,
    workspace::{EntryKind, Tree},
};
use promptd_etcd::{
    MAX_FILE_BYTES, MAX_FILES,
    publish::{Note, Publication},
};

#[cfg(feature = "record")]
use super::rehearsal::Rehearsal;
use super::{
    Author, base,
    canary::Canary,
    conflict,
    difference::difference,
    place::{Connection, Files, Outcome, Place},
    show,
};
use crate::cli::{
    CommandResult, Failure, check, is_styled,
    load::{Offline, WorkspaceArgument},
    print,
};

/// Publishes workspaces to etcd, or through a promptd: all that are given, or none.
///
/// It checks them first, and an error stops it; then it shows what prompts change, as `promptd diff` does. Every file is published but those whose name, or a folder's on the way, begins
/// with a dot. Where a folder was made by `promptd pull` and someone has published since, both changes are shown and nothing is published. With `--canary`
/// only some turns get it. A promptd that requires approval publishes it once others have approved it: `promptd approve`.
///
/// Exits with 1 if a workspace has errors, a gate is exceeded or someone has published since, 2 if it could not be done.
#[derive(clap::Args)]
pub(in crate::cli) struct Arguments {
    /// The folders of the workspaces; `ID=DIR` gives one an id other than its name.
    #[arg(required = true, value_name = "DIR")]
    workspaces: Vec<String>,
    /// The id of the workspace, if there is one.
    #[arg(long, value_name = "ID", value_parser = super::id)]
    id: Option<Id>,
    /// Why, for the history.
    #[arg(short, long, value_name = "TEXT")]
    message: String,
    /// Also where someone has published since the folder was made.
    #[arg(long)]
    force: bool,
    /// Only checks, and shows what would change.
    #[arg(long)]
    dry_run: bool,
    #[cfg(feature = "record")]
    #[command(flatten)]
    rehearsal: Rehearsal,
    #[command(flatten)]
    canary: Canary,
    #[command(flatten)]
    author: Author,
    #[command(flatten)]
    place: Place,
}

pub(in crate::cli) fn run(arguments: &Arguments) -> CommandResult {
    let Arguments { place, author, message, .. } = arguments;
    let offline = Offline::open(&place.config, &named(arguments)?)?;
    check_all(&offline)?;
    let changes = changes(&offline, arguments.force)?;
    let (conflicts, before) = place.run(async |connection| {
        let conflicts = conflict::find(connection, bases(&changes)).await?;
        let before = if conflicts.is_empty() { before(connection, &changes).await? } else { Vec::new() };
        Ok((conflicts, before))
    })?;
    conflict::must_be_none(&offline, &conflicts)?;
    for (change, before) in changes.iter().zip(&before) {
        change.show(&offline, before.as_ref())?;
    }
    #[cfg(feature = "record")]
    arguments.rehearsal.must_pass(offline.workspaces(), &place.config)?;
    if arguments.dry_run {
        return Ok(ExitCode::SUCCESS);
    }
    // What was shown is what is published, unless it is forced.
    let shown_before = |before: &Option<Before>| before.as_ref().filter(|_| !arguments.force).map(|(shown, _)| *shown);
    let changes: Vec<Change<'_>> =
        changes.into_iter().zip(&before).map(|(change, before)| change.after(shown_before(before))).collect();
    let publications: Vec<_> = changes.iter().map(Change::publication).collect();
    let note = Note { author: author.author.clone(), message: message.clone() };
    let (published, conflicts) = place.run(async |connection| {
        let published = connection.publish(&publications, &note, arguments.canary.trial()).await;
        let is_conflict = published.as_ref().is_err_and(|not| not.is_conflict);
        let conflicts = if is_conflict { conflict::find(connection, bases(&changes)).await? } else { Vec::new() };
        Ok((published, conflicts))
    })?;
    conflict::must_be_none(&offline, &conflicts)?;
    let outcome = published.map_err(|not| not.failure)?;
    show(&outcome)?;
    let Outcome::Published(published) = &outcome else { return Ok(ExitCode::SUCCESS) };
    for one in published {
        let workspace = offline.workspaces().iter().find(|workspace| *workspace.id_of() == one.id);
        if let Some(workspace) = workspace.filter(|workspace| base::is_known(workspace.path())) {
            base::write(workspace.path(), &one.id, one.revision)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A folder that is to be published.
struct Change<'w> {
    workspace: &'w WorkspaceArgument,
    files: Files,
    /// The revision that must be the newest: which the folder was made from, or which was shown; `None`: whichever is.
    base: Option<Digest>,
}

/// The newest revision of a workspace, and its files.
type Before = (Digest, Files);

fn changes(offline: &Offline, force: bool) -> Result<Vec<Change<'_>>, Failure> {
    let change = |workspace: &'_ WorkspaceArgument| {
        let base = if force { None } else { base::read(workspace.path(), workspace.id_of())? };
        Ok((files(workspace)?, base))
    };
    let all = offline.workspaces().iter();
    all.map(|workspace| change(workspace).map(|(files, base)| Change { workspace, files, base })).collect()
}

fn bases<'w>(changes: &[Change<'w>]) -> impl Iterator<Item = (&'w WorkspaceArgument, Digest)> {
    changes.iter().filter_map(|change| Some((change.workspace, change.base?)))
}

/// What is published of each workspace; `None`: nothing.
async fn before(connection: &Connection, changes: &[Change<'_>]) -> Result<Vec<Option<Before>>, Failure> {
    let mut all = Vec::new();
    for change in changes {
        let id = change.workspace.id_of();
        all.push(match connection.newest(id).await? {
            Some(newest) => Some((newest.revision, connection.files(id, &newest).await?)),
            None => None,
        });
    }
    Ok(all)
}

impl Change<'_> {
    /// Shows what it does to the prompts of what is published.
    fn show(&self, offline: &Offline, before: Option<&Before>) -> Result<(), Failure> {
        match before {
            Some((_, before)) if *before != self.files => {
                let difference = difference(offline, self.workspace, before, None)?;
                print(format_args!("{}:\n{difference}", self.workspace.id_of()))
            }
            _ => Ok(()),
        }
    }

    /// The same once it was shown what it changes of a revision.
    fn after(self, shown: Option<Digest>) -> Self {
        Self { base: self.base.or(shown), ..self }
    }

    fn publication(&self) -> Publication {
        Publication { id: self.workspace.id_of().clone(), files: self.files.clone(), base: self.base }
    }
}

/// The workspaces as they were given, with the id of `--id`.
fn named(arguments: &Arguments) -> Result<Vec<String>, Failure> {
    match (&arguments.id, &arguments.workspaces[..]) {
        (None, workspaces) => Ok(workspaces.to_vec()),
        (Some(id), [one]) if !one.contains('=') => Ok(vec![format!("{id}={one}")]),
        (Some(_), _) => Err(Failure::run("--id is for one folder: give several as ID=DIR")),
    }
}

/// Reports what is wrong with the workspaces; an error is a failure.
fn check_all(offline: &Offline) -> Result<(), Failure> {
    let mut reported = Vec::new();
    for loaded in offline.load() {
        let loaded = loaded?;
        loaded.argument.note_missing_files();
        reported.extend(offline.report(&loaded.argument, &check::findings(offline, &loaded)));
    }
    let counts = Counts::of(reported.iter().map(|one| &one.finding));
    let text = format!("{}{}", human::render(&reported, is_styled(&std::io::stderr())), human::summary(counts));
    if counts.errors > 0 {
        return Err(Failure::input(format!("{text}\nnothing is published")));
    }
    if !reported.is_empty() {
        eprintln!("{text}");
    }
    Ok(())
}

/// Every file of a workspace that is published, by path.
fn files(workspace: &WorkspaceArgument) -> Result<Files, Failure> {
    let folder = workspace.path();
    let failed =
        |path: &str, why: String| Failure::run(format!("cannot publish {}: {why}", folder.join(path).display()));
    let tree = promptd_source::open_tree(folder, &[]).map_err(|error| failed("", format!("it {error}")))?;
    let (mut files, mut folders) = (BTreeMap::new(), vec![String::new()]);
    while let Some(within) = folders.pop() {
        for entry in tree.list(&within).map_err(|error| failed(&within, format!("it {error}")))? {
            let path = if within.is_empty() { entry.name.clone() } else { format!("{within}/{}", entry.name) };
            match entry.kind {
                _ if entry.name.starts_with('.') => {}
                EntryKind::Folder => folders.push(path),
                EntryKind::File => {
                    let limit = usize::try_from(MAX_FILE_BYTES + 1).unwrap_or(usize::MAX);
                    let file = tree.read(&path, limit).map_err(|error| failed(&path, format!("it {error}")))?;
                    files.insert(path, file.bytes);
                }
                EntryKind::Other => return Err(failed(&path, "it is neither a file nor a folder".to_owned())),
            }
            if files.len() > MAX_FILES {
                return Err(failed("", format!("it has more than {MAX_FILES} files")));
            }
        }
    }
    Ok(files)
}
