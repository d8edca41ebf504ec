//! `promptd publish`: workspaces from folders to where services read them.

use std::{collections::BTreeMap, process::ExitCode};

use promptd_core::{
    digest::Digest,
    finding::{Counts, human},
    id::Id,
    workspace::{EntryKind, Tree},
};
use promptd_etcd::{
    MAX_FILE_BYTES, MAX_FILES, history,
    publish::{MAX_WORKSPACES, Note, Publication, heads, publish},
};

use super::{Author, Connection, Place, base, failure, pull, shown};
use crate::cli::{
    CommandResult, Failure, check, diff, is_styled,
    load::{Offline, WorkspaceArgument},
    print,
};

/// Publishes workspaces to etcd: all that are given, or none.
///
/// It checks them first, and an error stops it; then it shows what prompts change, as `promptd diff` does. Every file is published but those whose name, or a folder's on the way, begins
/// with a dot. Where a folder was made by `promptd pull` and someone has published since, nothing is published.
///
/// Exits with 1 if a workspace has errors or someone has published since, 2 if it could not be done.
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
    #[command(flatten)]
    author: Author,
    #[command(flatten)]
    place: Place,
}

pub(in crate::cli) fn run(arguments: &Arguments) -> CommandResult {
    let workspaces = named(arguments)?;
    let offline = Offline::open(&arguments.place.config, &workspaces)?;
    check_all(&offline)?;
    let before = arguments.place.run(async |connection| published_before(connection, offline.workspaces()).await)?;
    let mut publications = Vec::new();
    for (workspace, before) in offline.workspaces().iter().zip(&before) {
        let (id, files) = (workspace.id_of().clone(), files(workspace)?);
        if let Some(before) = before {
            print(difference(&offline, workspace, before, &files)?)?;
        }
        // What is shown is what is published, unless it is forced.
        let known = if arguments.force { None } else { base::read(workspace.path(), &id)? };
        let shown = before.as_ref().map(|before| before.revision).filter(|_| !arguments.force);
        publications.push(Publication { id, files, base: known.or(shown) });
    }
    if arguments.dry_run {
        return Ok(ExitCode::SUCCESS);
    }
    let note = Note { author: arguments.author.author.clone(), message: arguments.message.clone() };
    let published = arguments.place.run(async |connection| {
        publish(&connection.client, &connection.prefix, &publications, &note).await.map_err(|e| failure(&e))
    })?;
    for one in &published {
        print(shown(one))?;
        let workspace = offline.workspaces().iter().find(|workspace| *workspace.id_of() == one.id);
        if let Some(workspace) = workspace.filter(|workspace| base::is_known(workspace.path())) {
            base::write(workspace.path(), &one.id, one.revision)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A state that was published, and its files.
struct Before {
    revision: Digest,
    files: BTreeMap<String, Vec<u8>>,
}

/// The newest published state of each workspace; `None`: there is none.
async fn published_before(
    connection: &Connection,
    workspaces: &[WorkspaceArgument],
) -> Result<Vec<Option<Before>>, Failure> {
    let Connection { client, prefix } = connection;
    let ids: Vec<Id> = workspaces.iter().map(|workspace| workspace.id_of().clone()).collect();
    let mut before = Vec::new();
    for ids in ids.chunks(MAX_WORKSPACES) {
        for head in heads(client, prefix, ids).await.map_err(|e| failure(&e))? {
            let Some(head) = head else {
                before.push(None);
                continue;
            };
            let files = history::files(client, prefix, &head.manifest).await.map_err(|e| failure(&e))?;
            before.push(Some(Before { revision: head.revision, files }));
        }
    }
    Ok(before)
}

/// What publishing does to the prompts of the workspace's turns, for people.
fn difference(
    offline: &Offline,
    workspace: &WorkspaceArgument,
    before: &Before,
    files: &BTreeMap<String, Vec<u8>>,
) -> Result<String, Failure> {
    if before.files == *files {
        return Ok(String::new());
    }
    let failed = |error: std::io::Error| Failure::run(format!("cannot compare with what is published: {error}"));
    let folder = tempfile::tempdir().map_err(failed)?;
    pull::write_all(folder.path(), &before.files)?;
    let published = workspace.at(folder.path().to_owned(), "what is published".to_owned());
    let (Ok(before), Ok(after)) = (offline.load_as(workspace, &published), offline.load_as(workspace, workspace))
    else {
        return Ok(format!("{}: what is published has no prompt to compare with\n", workspace.id_of()));
    };
    let turns = diff::turns_of(workspace.path())?;
    let compared = diff::of_turns(offline, turns, |file| file.display().to_string(), None, &[before, after])?;
    Ok(format!("{}:\n{}", workspace.id_of(), diff::human::render(&compared, is_styled(&std::io::stdout()))))
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
fn files(workspace: &WorkspaceArgument) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
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
                EntryKind::Other => return Err(failed(&path, "it is no file and no folder".to_owned())),
            }
            if files.len() > MAX_FILES {
                return Err(failed("", format!("it has more than {MAX_FILES} files")));
            }
        }
    }
    Ok(files)
}
