//! `promptd replay`: recorded requests, assembled again.

mod again;
mod against;
mod gate;
mod work;

use std::{collections::BTreeMap, path::PathBuf, process::ExitCode};

use clap::ValueEnum;
use promptd_core::finding::escape;
use promptd_record::{Folder, Recorded, RequestFile};
use serde_json::{Value, json};

#[cfg(feature = "etcd")]
pub(super) use self::against::passes;
pub(super) use self::gate::Gate;
use self::work::Made;
use super::{CommandResult, Failure, counted, print, record, settings::ConfigFile};

/// Assembles recorded requests again, and compares the prompts.
///
/// Without --against each prompt must be the one that was recorded, whatever the host, its zone and its locale. With it, the
/// prompts of the recorded files are compared with those of a folder: what an edit would do to the requests of the past.
///
/// Exits with 0 if all is the same, or within --max-changed and --max-lost where they are given; 1 if not; 2 if something could
/// not be replayed. What is damaged is reported, and everything else is replayed.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The folder of the records: the setting `record.dir`, or a copy of it.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// The folder of an edited workspace, or `DIR@REVISION` of git; `ID=DIR` if its name is not the workspace's id.
    /// Everything else stays as recorded: profiles, shared skills, settings, the workspace's path.
    #[arg(long, value_name = "NEWDIR")]
    against: Option<String>,
    /// The most requests that may change, as a number or in per cent: `20`, `1.5%`.
    #[arg(long, value_name = "N", requires = "against")]
    max_changed: Option<Gate>,
    /// The most requests of which more may be lost to limits than before, as a number or in per cent.
    #[arg(long, value_name = "N", requires = "against")]
    max_lost: Option<Gate>,
    /// How many examples are shown, the worst first.
    #[arg(long, value_name = "N", default_value_t = 3)]
    examples: usize,
    /// How many threads assemble; default: as many as there are cores.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// The format of the report.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    #[command(flatten)]
    config: ConfigFile,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Human,
    /// One JSON document.
    Json,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let replayed = match &arguments.against {
        None => again::run(arguments),
        Some(folder) => against::run(arguments, folder),
    };
    replayed.map_err(|failure| Failure { code: ExitCode::from(2), ..failure })
}

impl Arguments {
    /// The folder and its requests, the oldest first. Without one there is nothing to replay.
    fn open(&self) -> Result<(Folder, Vec<RequestFile>), Failure> {
        let folder = record::open(&self.dir)?;
        let requests = folder.requests();
        let requests = requests.map_err(|e| Failure::run(format!("cannot read {}: {e}", self.dir.display())))?;
        if requests.is_empty() {
            return Err(Failure::run(format!("{} has no requests: nothing was recorded yet", self.dir.display())));
        }
        Ok((folder, requests))
    }

    fn jobs(&self) -> usize {
        self.jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
    }
}

/// What became of a request.
enum Outcome<D> {
    Same,
    Differs(Box<D>),
    /// Why it could not be replayed.
    Failed(Vec<String>),
    /// It was removed since the folder was listed.
    Gone,
}

impl<D> Outcome<D> {
    /// The request and what was made of its revision; the error is what becomes of it without them.
    fn read<'r, R>(folder: &Folder, file: &RequestFile, revision: &'r Made<R>) -> Result<(Recorded, &'r R), Self> {
        match (folder.request(file), revision) {
            (Err(damage), _) if damage.is_gone => Err(Self::Gone),
            (Ok(recorded), Ok(revision)) => Ok((recorded, revision)),
            (recorded, revision) => {
                let of_request = recorded.err().map(|damage| damage.to_string());
                let of_revision = revision.as_ref().err().into_iter().flatten().cloned();
                Err(Self::Failed(of_request.into_iter().chain(of_revision).collect()))
            }
        }
    }

    /// The recorded files give no prompt.
    fn without_prompt(folder: &Folder, file: &RequestFile, why: &str) -> Self {
        Self::Failed(vec![format!("{} has no prompt: {why}", folder.path_of_request(file).display())])
    }
}

/// How many requests are the same, and those that differ. The faults of the others are added.
fn tally<D>(outcomes: Vec<Outcome<D>>, faults: &mut Faults) -> (usize, Vec<D>) {
    let (mut same, mut differ) = (0, Vec::new());
    for outcome in outcomes {
        match outcome {
            Outcome::Same => same += 1,
            Outcome::Differs(difference) => differ.push(*difference),
            Outcome::Failed(found) => faults.add(found),
            Outcome::Gone => {}
        }
    }
    (same, differ)
}

/// What could not be replayed.
#[derive(Default)]
struct Faults {
    /// How many requests.
    requests: usize,
    /// Each fault with the number of requests that it costs; one request may have several.
    found: BTreeMap<String, usize>,
}

impl Faults {
    /// Adds those of one request.
    fn add(&mut self, found: impl IntoIterator<Item = String>) {
        self.requests += 1;
        for fault in found {
            *self.found.entry(fault).or_default() += 1;
        }
    }

    /// Reports them on standard error.
    fn report(&self, folder: &Folder) -> Result<(), Failure> {
        for (fault, requests) in &self.found {
            eprintln!("error: {fault}\n  {} could not be replayed", counted(*requests as u64, "request"));
        }
        if self.requests > 0 {
            eprintln!(
                "  what is damaged can be restored from a copy of the folder, or removed; the other requests were replayed"
            );
        }
        let unfinished = folder.unfinished().map_err(|e| Failure::run(format!("cannot read the records: {e}")))?;
        if unfinished > 0 {
            eprintln!(
                "note: {} incomplete and ignored: being written now, or left by a process that was killed",
                counted(unfinished as u64, "file")
            );
        }
        Ok(())
    }

    fn to_json(&self) -> Value {
        self.found.iter().map(|(fault, requests)| json!({ "fault": fault, "requests": requests })).collect()
    }
}

/// A request as a person finds it: the workspace, the time, the file.
fn name(workspace: &str, at: jiff::Timestamp, folder: &Folder, file: &RequestFile) -> String {
    format!("{} {at:.0} {}", escape(workspace), folder.path_of_request(file).display())
}

fn print_json(document: &Value) -> Result<(), Failure> {
    print(format_args!("{document:#}\n"))
}

/// The exit code: whether something is not as it must be, then whether something could not be replayed.
fn exit_code(differs: bool, faults: &Faults) -> ExitCode {
    match (differs, faults.requests) {
        (true, _) => ExitCode::from(1),
        (false, 0) => ExitCode::SUCCESS,
        (false, _) => ExitCode::from(2),
    }
}
