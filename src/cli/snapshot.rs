//! `promptd snapshot`: the prompts that a workspace's turns are expected to give, as files beside the turns.

use std::{
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use jiff::Timestamp;
use promptd_core::{
    diff::{LineKind, TextDiff},
    finding::{Code, Finding, Place, escape},
    prompt::{self, Message, Prepared, Prompt},
    tokens::Encoding,
};

use super::{
    CommandResult, Failure,
    diff::words::visible,
    load::{Offline, WorkspaceArgument},
    print,
    settings::{self, ConfigFile},
    turn_file::{self, EXTENSIONS, TURNS_FOLDER},
};

/// Writes the expected prompts of a workspace's turns.
///
/// For each turn file in `.promptd/turns`, such as `hello.yaml`, `hello.yml` or `hello.json`, it writes `hello.prompt` beside it. Keep both with the workspace:
/// `promptd check --snapshots` compares the prompts as they are now with them, and a review shows what an edit changed.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The folders of the workspaces; `ID=DIR` gives one an id other than its name.
    #[arg(required = true, value_name = "DIR")]
    workspaces: Vec<String>,
    #[command(flatten)]
    config: ConfigFile,
}

/// What the names of snapshots end with.
const SNAPSHOT: &str = "prompt";
/// The first line of each, by which one without its turn is known.
const HEADER: &str = "# The expected prompt. `promptd snapshot` writes it, `promptd check --snapshots` compares.\n";
/// The time of a turn that sets none: 2026-01-01T00:00:00Z. The clock of the machine would be another each time.
const NOW: i64 = 1_767_225_600;
/// Where every workspace is, as far as its snapshots say: the path is another on each machine.
const HOME: &str = "/workspaces";

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let offline = Offline::open(&arguments.config, &arguments.workspaces)?;
    let mut is_complete = true;
    for workspace in offline.workspaces() {
        workspace.must_exist()?;
        let Snapshots { turns, unused } = Snapshots::of(&offline, workspace)?;
        if turns.is_empty() {
            return Err(Failure::run(format!(
                "{0} has no turns: there is no file {TURNS_FOLDER}/NAME.yaml in it\n  write one with the fields of a \
                 request's turn, such as `user: {{name: Ada}}`",
                workspace.folder
            )));
        }
        for Turn { path, fresh, kept, .. } in turns {
            match fresh {
                Ok(text) if kept.as_deref() == Some(&*text) => {
                    print(format_args!("unchanged {}\n", shown(workspace, &path)))?;
                }
                Ok(text) => write(workspace, &path, &text)?,
                Err(findings) => {
                    is_complete = false;
                    eprintln!("{}", settings::report_files(&offline.report(workspace, &findings)));
                }
            }
        }
        for path in unused {
            let file = workspace.path().join(&path);
            fs::remove_file(&file).map_err(|e| Failure::run(format!("cannot remove {}: {e}", file.display())))?;
            print(format_args!("removed {}: its turn is gone\n", shown(workspace, &path)))?;
        }
    }
    Ok(if is_complete { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// What comparing the snapshots of a workspace found.
pub(super) struct Differing {
    pub(super) finding: Finding,
    /// What differs; empty where there is nothing to compare with.
    pub(super) diff: TextDiff,
}

/// Compares the prompts of a workspace with its snapshots. Without turns there is nothing to compare.
pub(super) fn compare(offline: &Offline, workspace: &WorkspaceArgument) -> Result<Vec<Differing>, Failure> {
    let mut found = Vec::new();
    let mut add = |finding, diff| found.push(Differing { finding, diff });
    let Snapshots { turns, unused } = Snapshots::of(offline, workspace)?;
    for Turn { file, path, fresh, kept } in turns {
        match (fresh, kept) {
            (Err(findings), _) => findings.into_iter().for_each(|finding| add(finding, TextDiff::default())),
            (Ok(_), None) => {
                let message = format!("the turn {file} has no snapshot");
                add(Finding::new(Code::SnapshotMissing, Place::file(path), message), TextDiff::default());
            }
            (Ok(fresh), Some(kept)) if fresh != kept => {
                let diff = TextDiff::of(&kept, &fresh);
                let message = format!("the prompt of {file} is not the expected one");
                add(Finding::new(Code::SnapshotDiffers, Place::at(path, first_line(&diff), 1), message), diff);
            }
            (Ok(_), Some(_)) => {}
        }
    }
    for path in unused {
        let turn = Path::new(&path).with_extension(EXTENSIONS[0]);
        let message = format!("there is no turn {}", turn.display());
        add(Finding::new(Code::SnapshotUnused, Place::file(path), message), TextDiff::default());
    }
    Ok(found)
}

/// The first line that differs, of what is kept.
fn first_line(diff: &TextDiff) -> u32 {
    let Some(hunk) = diff.hunks.first() else { return 1 };
    let same = hunk.lines.iter().take_while(|line| line.kind == LineKind::Same).count();
    hunk.before_line + u32::try_from(same).unwrap_or_default()
}

/// A workspace's turns and snapshots.
struct Snapshots {
    turns: Vec<Turn>,
    /// Snapshots without a turn, relative to the workspace.
    unused: Vec<String>,
}

struct Turn {
    /// Its file, relative to the workspace.
    file: String,
    /// Its snapshot, relative to the workspace.
    path: String,
    /// The snapshot as it would be written now; the error has why there is no prompt.
    fresh: Result<String, Vec<Finding>>,
    /// The snapshot that is there.
    kept: Option<String>,
}

impl Snapshots {
    fn of(offline: &Offline, workspace: &WorkspaceArgument) -> Result<Self, Failure> {
        let files = turn_file::of_workspace(workspace.path(), &EXTENSIONS)?;
        let kept = turn_file::of_workspace(workspace.path(), &[SNAPSHOT])?;
        let mut snapshots = Self { turns: Vec::with_capacity(files.len()), unused: Vec::new() };
        if files.is_empty() && kept.is_empty() {
            return Ok(snapshots);
        }
        let at = workspace.at(Path::new(HOME).join(workspace.id()), workspace.folder.clone());
        let snapshot = offline.load_as(&at, workspace).map_err(|findings| {
            let report = settings::report_files(&offline.report(workspace, &findings));
            Failure::input(format!("{report}\n{} has no prompts until that is fixed", workspace.folder))
        })?;
        for file in &files {
            let path = relative(&file.with_extension(SNAPSHOT));
            let kept = read(&workspace.path().join(&path))?;
            let fresh = match snapshots.turns.iter().find(|turn| turn.path == path) {
                Some(other) => Err(vec![taken(file, other)]),
                None => fresh(offline, &snapshot, file),
            };
            snapshots.turns.push(Turn { file: relative(file), path, fresh, kept });
        }
        let has_turn =
            |file: &PathBuf| EXTENSIONS.iter().any(|extension| files.contains(&file.with_extension(extension)));
        for file in kept.iter().filter(|file| !has_turn(file)) {
            if read(file)?.is_some_and(|text| text.starts_with(HEADER)) {
                snapshots.unused.push(relative(file));
            }
        }
        Ok(snapshots)
    }
}

/// That another turn has the snapshot that a turn file would have.
fn taken(file: &Path, other: &Turn) -> Finding {
    let message =
        format!("its snapshot would be {}, which is that of {}: rename one of the two", other.path, other.file);
    Finding::new(Code::InvalidValue, Place::file(relative(file)), message)
}

/// The path of a file of the folder of turns, relative to the workspace.
fn relative(file: &Path) -> String {
    format!("{TURNS_FOLDER}/{}", file.file_name().unwrap_or_default().to_string_lossy())
}

fn shown(workspace: &WorkspaceArgument, path: &str) -> String {
    Path::new(&workspace.folder).join(path).display().to_string()
}

/// `None`: there is no such file.
fn read(path: &Path) -> Result<Option<String>, Failure> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::run(format!("cannot read {}: {error}", path.display()))),
    }
}

fn write(workspace: &WorkspaceArgument, path: &str, text: &str) -> Result<(), Failure> {
    let file: PathBuf = workspace.path().join(path);
    fs::write(&file, text).map_err(|error| Failure::run(format!("cannot write {}: {error}", file.display())))?;
    print(format_args!("wrote {}\n", shown(workspace, path)))
}

/// The snapshot of a turn file.
fn fresh(offline: &Offline, snapshot: &Prepared, file: &Path) -> Result<String, Vec<Finding>> {
    let path = relative(file);
    let fault = |message: String| vec![Finding::new(Code::InvalidValue, Place::file(path.clone()), message)];
    let now = Timestamp::from_second(NOW).unwrap_or_default();
    let text = fs::read_to_string(file).map_err(|error| fault(format!("cannot be read: {error}")))?;
    let given = turn_file::parse(&text, &path, now, &offline.config, &offline.profiles)?;
    let name = given.profile.as_deref().unwrap_or(snapshot.manifest.profile.as_str());
    let profile = snapshot.profiles.named(name).map_err(fault)?;
    let mut prompt = prompt::assemble(snapshot, profile, &given.turn).map_err(|error| fault(error.to_string()))?;
    prompt::count_tokens(&mut prompt, snapshot, profile, Encoding::DEFAULT);
    Ok(written(&prompt, name))
}

/// A prompt as text: what the model reads behind `| `, then what became of each section, then the findings.
fn written(prompt: &Prompt<'_>, profile: &str) -> String {
    let mut out = HEADER.to_owned();
    let tokens = prompt.size.tokens.unwrap_or_default();
    let _ = writeln!(
        out,
        "profile {profile}\ndigest {}\n{} chars, {tokens} tokens",
        prompt.digest.to_hex(),
        prompt.size.chars
    );
    for message in &prompt.messages {
        written_message(&mut out, message);
    }
    out.push_str("\n== sections\n");
    for section in &prompt.sections {
        let outcome = section.outcome.as_str();
        let reason = if section.reason.is_empty() { String::new() } else { format!(": {}", escape(&section.reason)) };
        let _ = writeln!(out, "{outcome} {}{reason}", escape(&section.id));
    }
    if !prompt.findings.is_empty() {
        out.push_str("\n== findings\n");
    }
    for finding in &prompt.findings {
        let (severity, code) = (finding.severity.as_str(), finding.code.as_str());
        let _ = writeln!(out, "{severity} {code} {}", escape(&finding.to_string()));
    }
    out
}

fn written_message(out: &mut String, message: &Message<'_>) {
    let name = if message.origin.is_some() { "conversation" } else { message.name };
    let ephemeral = if message.ephemeral { ", ephemeral" } else { "" };
    let _ = writeln!(out, "\n== {} {}{ephemeral}", message.role.as_str(), escape(name));
    let calls = message.origin.map_or(&[][..], |origin| origin.message.calls());
    for line in message.content.split('\n') {
        // The digest above is another for text that reads the same.
        let _ = writeln!(out, "{}", format!("| {}", visible(line)).trim_end());
    }
    for call in calls {
        let _ = writeln!(out, "> {} {} {}", escape(&call.id), escape(&call.name), escape(&call.arguments_json));
    }
}
