//! `promptd render`: a prompt, assembled offline.

use std::{
    fs,
    io::{self, IsTerminal as _, Read as _, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use clap::ValueEnum;
use jiff::Timestamp;
use promptd::{
    finding::{Finding, Place, Reported, human},
    profile::Profile,
    prompt::{self, Prompt, Role, Turn},
    proto, request,
    workspace::Snapshot,
};

use super::{
    Failure, Outcome, explain,
    load::{Named, Offline},
    profile,
    settings::{self, ConfigFile},
    turn,
};

/// Assembles one prompt and prints it, as `AssemblePrompt` would answer.
///
/// On a terminal it shows the layers, with a line of sizes for each section; piped, the text alone.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The workspace's folder; `ID=DIR` gives it an id other than its name.
    #[arg(value_name = "WORKSPACE_DIR")]
    workspace: String,
    /// The request's `turn` as YAML or JSON; `-` reads standard input.
    #[arg(long, value_name = "FILE")]
    turn: Option<PathBuf>,
    /// The turn was started by the heartbeat timer.
    #[arg(long)]
    heartbeat: bool,
    /// The turn's clock, RFC 3339; else the turn's own, else now.
    #[arg(long, value_name = "TIME")]
    now: Option<Timestamp>,
    /// The profile; else the workspace's own.
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// How the prompt is written.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Tells what became of every section, on standard error.
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    config: ConfigFile,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// All system messages, joined by a blank line.
    Text,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let offline = Offline::open(&arguments.config, std::slice::from_ref(&arguments.workspace))?;
    let turn = turn(arguments, &offline)?;
    for opened in offline.load() {
        let opened = opened?;
        let snapshot = opened.loaded.map_err(|findings| {
            let report = settings::report_files(&offline.report(&opened.named, &findings));
            Failure::input(format!("{report}\n{} has no prompt until that is mended", opened.named.folder))
        })?;
        let profile = chosen(arguments, &snapshot)?;
        let prompt =
            prompt::assemble(&snapshot, profile, &turn).map_err(|error| Failure::input(format!("error: {error}")))?;
        print(arguments, &prompt).map_err(|e| Failure::run(format!("the prompt cannot be written: {e}")))?;
        tell(arguments, &offline, &opened.named, &prompt);
    }
    Ok(ExitCode::SUCCESS)
}

fn turn(arguments: &Arguments, offline: &Offline) -> Result<Turn, Failure> {
    let (name, text) = match &arguments.turn {
        None => ("the turn".to_owned(), String::new()),
        Some(path) => (path.display().to_string(), read(path)?),
    };
    let raw = turn::read(&text, &name).map_err(|findings| Failure::input(report(&findings, &name, &text)))?;
    let raw = proto::Turn { heartbeat: raw.heartbeat || arguments.heartbeat, ..raw };
    let mut turn = request::turn(raw, &offline.config.grpc.request, Timestamp::now()).map_err(|violations| {
        let lines: Vec<_> = violations.iter().map(|violation| format!("error: {violation}")).collect();
        Failure::input(format!("{}\n  in {name}", lines.join("\n")))
    })?;
    turn.now = arguments.now.unwrap_or(turn.now);
    Ok(turn)
}

fn read(path: &Path) -> Result<String, Failure> {
    let told = |e: io::Error| Failure::run(format!("the turn {} cannot be read: {e}", path.display()));
    if path.as_os_str() != "-" {
        return fs::read_to_string(path).map_err(told);
    }
    let mut text = String::new();
    io::stdin().read_to_string(&mut text).map_err(told)?;
    Ok(text)
}

fn report(findings: &[Finding], name: &str, text: &str) -> String {
    let source: Arc<str> = text.into();
    let one = |finding: &Finding| Reported {
        finding: finding.clone(),
        subject: name.to_owned(),
        file: matches!(finding.place, Place::File { .. }).then(|| name.to_owned()),
        source: Some(Arc::clone(&source)),
    };
    settings::report_files(&findings.iter().map(one).collect::<Vec<_>>())
}

fn chosen<'s>(arguments: &Arguments, snapshot: &'s Snapshot) -> Result<&'s Profile, Failure> {
    let name = arguments.profile.as_deref().unwrap_or(snapshot.manifest.profile.as_str());
    profile::find(&snapshot.profiles, name)
}

fn print(arguments: &Arguments, prompt: &Prompt<'_>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match arguments.format {
        None if out.is_terminal() => explain::layers(&mut out, prompt)?,
        None | Some(Format::Text) => out.write_all(text(prompt).as_bytes())?,
    }
    out.flush()
}

/// Exactly the bytes of `RENDER_FORMAT_TEXT`: no line end is added.
fn text(prompt: &Prompt<'_>) -> String {
    let system = prompt.messages.iter().filter(|message| message.role == Role::System);
    system.map(|message| &*message.content).collect::<Vec<_>>().join("\n\n")
}

/// Says on standard error what was lost, and with `--explain` what became of every section.
fn tell(arguments: &Arguments, offline: &Offline, named: &Named, prompt: &Prompt<'_>) {
    if arguments.explain {
        eprint!("{}", explain::sections(prompt));
    }
    let findings: Vec<_> = prompt.findings.iter().map(|finding| finding.clone().into_owned()).collect();
    if !findings.is_empty() {
        eprint!("{}", human::render(&offline.report(named, &findings), io::stderr().is_terminal()));
    }
}
