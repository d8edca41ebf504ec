//! `promptd memory`: what operators do with stored conversations.

use std::{
    fs::File,
    io::BufReader,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Subcommand;
use promptd::config::Overrides;
use promptd_core::{finding::escape, id::Id, text::thousands, turn::ConversationMessage};
use promptd_memory::{Checked, Lines, Options, Refused, SessionKey, SqliteStore, Store, StoreError};

use super::{
    CommandResult, Failure, counted, print,
    settings::{self, ConfigFile},
};

/// The most messages that are stored at once.
const BATCH: usize = 500;
/// After how many messages progress is shown.
const SHOWN_EVERY: u64 = 50_000;

/// Copies, checks and fills the store of conversations.
///
/// The folder is that of the setting `memory.store`, or given by `--dir`. `backup` and `check` work while the service runs; the
/// other commands need the store for themselves.
#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Copies the store, as it is at this moment, to a new file.
    Backup {
        /// The file; it must not exist.
        file: PathBuf,
        #[command(flatten)]
        place: Place,
    },
    /// Puts a backup in the place of the store, once it is checked.
    Restore {
        /// The backup.
        file: PathBuf,
        /// Replaces a store that has sessions.
        #[arg(long)]
        replace: bool,
        #[command(flatten)]
        place: Place,
    },
    /// Gives the room of removed sessions back to the disk.
    Vacuum {
        #[command(flatten)]
        place: Place,
    },
    /// Checks the store's files, and counts what is in them. Exits with 1 if something is wrong.
    Check {
        #[command(flatten)]
        place: Place,
    },
    /// Stores the messages of a file: kern's session files, or messages in the form of OpenAI's Chat Completions, one a line or as
    /// a list. An import that was interrupted is run again: what is stored already is not stored twice.
    Import {
        /// The file.
        file: PathBuf,
        /// The workspace.
        #[arg(long, value_name = "ID", value_parser = id)]
        workspace: Id,
        /// The session; default: the name of the file, without its ending.
        #[arg(long, value_name = "ID", value_parser = id)]
        session: Option<Id>,
        #[command(flatten)]
        place: Place,
    },
}

#[derive(clap::Args)]
struct Place {
    /// The folder of the store; default: the setting `memory.store`.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    config: ConfigFile,
}

impl Place {
    fn dir(&self) -> Result<PathBuf, Failure> {
        if let Some(dir) = &self.dir {
            return Ok(dir.clone());
        }
        let config = settings::load(&self.config, &Overrides::default(), true)?.config;
        let dir = config.memory.map(|memory| memory.store.dir);
        dir.ok_or_else(|| Failure::run("no store of conversations: set `memory.store` in the config, or give --dir"))
    }
}

fn id(text: &str) -> Result<Id, String> {
    Id::parse(text).map_err(|fault| fault.to_string())
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    match &arguments.command {
        Command::Backup { file, place } => {
            promptd_memory::backup(&place.dir()?, file).map_err(Failure::run)?;
            print(format_args!("copied to {}\n", file.display()))?;
        }
        Command::Restore { file, replace, place } => {
            let restored = promptd_memory::restore(&place.dir()?, file, *replace).map_err(|error| match error {
                StoreError::Unusable(why) if why.ends_with("would be lost") => {
                    Failure::run(format!("{why}; give --replace to replace them"))
                }
                error => Failure::run(error),
            })?;
            print(format_args!("restored {}\n", held(&restored)))?;
        }
        Command::Vacuum { place } => {
            let [before, after] = promptd_memory::vacuum(&place.dir()?).map_err(Failure::run)?;
            print(format_args!("{} bytes became {}\n", thousands(before), thousands(after)))?;
        }
        Command::Check { place } => return check(&place.dir()?),
        Command::Import { file, workspace, session, place } => {
            let session = session.clone().map_or_else(|| named_after(file), Ok)?;
            import(&place.dir()?, file, &SessionKey { workspace: workspace.clone(), session })?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// `2 sessions, 1,200 messages`
fn held(checked: &Checked) -> String {
    format!("{}, {}", counted(checked.sessions, "session"), counted(checked.messages, "message"))
}

fn check(dir: &Path) -> CommandResult {
    let checked = promptd_memory::check(dir).map_err(|error| match error {
        StoreError::Damaged(_) => Failure::input(format!("error: {error}")),
        error => Failure::run(error),
    })?;
    for fault in &checked.faults {
        eprintln!("error: {}", escape(fault));
    }
    // Where pages are damaged nothing was counted.
    if checked.faults.is_empty() || checked.sessions > 0 {
        print(format_args!("{}\n", held(&checked)))?;
    }
    Ok(if checked.faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn named_after(file: &Path) -> Result<Id, Failure> {
    let name = file.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    Id::parse(name)
        .map_err(|fault| Failure::run(format!("the file's name is not a session's id: it {fault}; give --session")))
}

fn import(dir: &Path, file: &Path, key: &SessionKey) -> Result<(), Failure> {
    let cannot = |error: &dyn std::fmt::Display| Failure::run(format!("cannot import {}: {error}", file.display()));
    let input = File::open(file).map_err(|error| cannot(&error))?;
    let store = SqliteStore::open(&Options::new(dir.to_owned())).map_err(Failure::run)?;
    let (mut batch, mut read, mut stored, mut shown) = (Vec::new(), 0, 0, 0);
    let flush = |batch: &mut Vec<ConversationMessage>| {
        let appended = if batch.is_empty() { return Ok(0) } else { store.append(key, std::mem::take(batch), None) };
        appended.wait().map(|appended| appended.stored).map_err(|error| match error {
            StoreError::Differs(Refused { id, .. }) => clash(key, &id, "has another message with the id"),
            StoreError::OutOfOrder(Refused { id, .. }) => clash(key, &id, "lacks messages that the file has before"),
            error => Failure::run(error),
        })
    };
    for line in Lines::new(BufReader::new(input)) {
        let (_, message) =
            line.map_err(|fault| Failure::input(format!("error: {}:{}: {}", file.display(), fault.line, fault.why)))?;
        batch.push(message);
        read += 1;
        if batch.len() == BATCH {
            stored += flush(&mut batch)?;
        }
        if read - shown >= SHOWN_EVERY {
            shown = read;
            eprintln!("{} so far", counted(read, "message"));
        }
    }
    stored += flush(&mut batch)?;
    let known = if stored < read { format!(", {} had been before", thousands(read - stored)) } else { String::new() };
    print(format_args!("stored {} in `{key}`{known}\n", counted(stored, "message")))
}

/// The error for a message that the session cannot take.
fn clash(key: &SessionKey, id: &str, how: &str) -> Failure {
    let (session, id) = (&key.session, escape(id));
    Failure::input(format!(
        "error: session `{session}` {how} `{id}`: import the file to another session with --session"
    ))
}
