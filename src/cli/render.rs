//! `promptd render`: a prompt, assembled offline.

use std::{
    io::{self, IsTerminal as _, Write as _},
    path::PathBuf,
    process::ExitCode,
};

use anstream::AutoStream;
use clap::ValueEnum;
use promptd::turn_file as turn;
use promptd_contract::encode;
use promptd_core::{
    finding::human,
    profile::Profile,
    prompt::{self, Prompt},
    render::{RenderFormat, render},
    time::Moment,
    tokens::Encoding,
    workspace::Snapshot,
};

use prost_reflect::DynamicMessage;

use super::{
    CommandResult, Failure, check_written, explain, is_styled,
    load::{Loaded, Offline, WorkspaceArgument},
    profile, said,
    settings::{self, ConfigFile},
    turn_file::{self, TurnAndProfile},
};

/// Assembles one prompt and prints it, as `AssemblePrompt` would return it.
///
/// On a terminal it shows the layers, with the sizes of each section; otherwise only the text.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The folder of the workspace; `ID=DIR` gives it an id other than its name.
    #[arg(value_name = "WORKSPACE_DIR")]
    workspace: String,
    /// The request's `turn` as YAML or JSON, and perhaps a `profile` beside its fields; `-` reads standard input.
    #[arg(long, value_name = "FILE")]
    turn: Option<PathBuf>,
    /// The turn was started by the heartbeat timer.
    #[arg(long)]
    heartbeat: bool,
    /// The time of the turn, RFC 3339; default: that of the turn file, or now.
    #[arg(long, value_name = "TIME")]
    now: Option<Moment>,
    /// The profile; default: that of the turn file, or of the workspace.
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// The format of the prompt.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Prints the outcome and the size of every section to standard error; tokens are those of `o200k_base`.
    #[arg(long)]
    explain: bool,
    /// With `--explain`: instead of the prompt, prints who said what is at this place of its text: section, how, and the file
    /// with line and column, the field, or the profile.
    #[arg(long, value_name = "LINE[:COLUMN]", requires = "explain", conflicts_with_all = ["format", "find"])]
    at: Option<said::At>,
    /// The same for a text that the prompt has, at each of its places.
    #[arg(long, value_name = "TEXT", requires = "explain", conflicts_with = "format")]
    find: Option<String>,
    #[command(flatten)]
    config: ConfigFile,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// All system messages, joined by a blank line.
    Text,
    /// The whole response of `AssemblePrompt`, as protobuf JSON.
    Json,
    /// The `messages` of `OpenAI` Chat Completions.
    OpenaiChat,
    /// The `instructions` and `input` of `OpenAI` Responses.
    OpenaiResponses,
    /// The `system` and `messages` of Anthropic Messages.
    AnthropicMessages,
    /// The `system` and `messages` of Bedrock Converse, with cache points.
    BedrockConverse,
    /// The `messages` of `OpenRouter`, with cache breakpoints.
    OpenrouterChat,
    /// The `systemInstruction` and `contents` of Gemini.
    Gemini,
    /// The cards, which are for the user interface and in no other format but `json`, joined by a blank line.
    Cards,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let offline = Offline::open(&arguments.config, std::slice::from_ref(&arguments.workspace))?;
    let TurnAndProfile { turn, profile, .. } = turn_and_profile(arguments, &offline)?;
    for loaded in offline.load() {
        let Loaded { argument, result } = loaded?;
        argument.note_missing_files();
        let snapshot = result.map_err(|findings| {
            let report = settings::report_files(&offline.report(&argument, &findings));
            Failure::input(format!("{report}\n{} has no prompt until that is fixed", argument.folder))
        })?;
        let name = profile.as_deref().unwrap_or(snapshot.manifest.profile.as_str());
        let profile = profile::find(&snapshot.profiles, name)?;
        let failed = |error| Failure::input(format!("error: {error}"));
        if arguments.at.is_some() || arguments.find.is_some() {
            let prompt = prompt::assemble_with_spans(&snapshot, profile, &turn).map_err(failed)?;
            check_written(who_said(arguments, &offline, &argument, &prompt)?)?;
            continue;
        }
        let mut prompt = prompt::assemble(&snapshot, profile, &turn).map_err(failed)?;
        check_written(print(arguments, &snapshot, profile, &mut prompt))?;
        if arguments.explain {
            prompt::count_tokens(&mut prompt, &snapshot, profile, Encoding::DEFAULT);
            eprint!("{}", explain::sections(&prompt));
        }
        report(&offline, &argument, &prompt);
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints who said what is at a place, or a text.
fn who_said(
    arguments: &Arguments,
    offline: &Offline,
    argument: &WorkspaceArgument,
    prompt: &Prompt<'_>,
) -> Result<io::Result<()>, Failure> {
    let files = said::Files { offline, argument };
    let told = match (arguments.at, &arguments.find) {
        (Some(at), _) => said::at(at, prompt, &files)?,
        (None, text) => said::find(text.as_deref().unwrap_or_default(), prompt, &files)?,
    };
    let mut out = io::stdout().lock();
    Ok(out.write_all(told.as_bytes()).and_then(|()| out.flush()))
}

/// Reads the turn file and the flags that override it. Faults of both are reported together.
fn turn_and_profile(arguments: &Arguments, offline: &Offline) -> Result<TurnAndProfile, Failure> {
    let flag = arguments.profile.as_ref();
    let unknown_profile = flag.and_then(|name| profile::find(&offline.profiles, name).err());
    let file = turn_file::read(arguments.turn.as_deref(), &offline.config, &offline.profiles);
    let mut file = match (file, unknown_profile) {
        (Ok(file), None) => file,
        (Err(failure), None) | (Ok(_), Some(failure)) => return Err(failure),
        (Err(turn), Some(profile)) => {
            return Err(Failure { text: format!("{}\n\n{}", turn.text, profile.text), ..turn });
        }
    };
    file.turn.heartbeat |= arguments.heartbeat;
    file.turn.now = arguments.now.unwrap_or(file.turn.now);
    Ok(TurnAndProfile { profile: flag.cloned().or(file.profile), ..file })
}

fn print(arguments: &Arguments, snapshot: &Snapshot, profile: &Profile, prompt: &mut Prompt<'_>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let format = match arguments.format {
        None if out.is_terminal() => return explain::layers(&mut AutoStream::auto(out), prompt),
        // Exactly the bytes of the response's `rendered`: no newline is added.
        None | Some(Format::Text) => RenderFormat::Text,
        Some(Format::Cards) => {
            let cards: Vec<&str> = prompt.cards.iter().map(|card| &*card.content).collect();
            out.write_all(cards.join("\n\n").as_bytes())?;
            return out.flush();
        }
        Some(Format::Json) => return json(&mut out, snapshot, profile, prompt),
        Some(Format::OpenaiChat) => RenderFormat::OpenaiChat,
        Some(Format::OpenaiResponses) => RenderFormat::OpenaiResponses,
        Some(Format::AnthropicMessages) => RenderFormat::AnthropicMessages,
        Some(Format::BedrockConverse) => RenderFormat::BedrockConverse,
        Some(Format::OpenrouterChat) => RenderFormat::OpenrouterChat,
        Some(Format::Gemini) => RenderFormat::Gemini,
    };
    let rendered = render(prompt, format);
    out.write_all(rendered.text.as_bytes())?;
    prompt.add_findings(rendered.findings);
    out.flush()
}

fn json(out: &mut impl io::Write, snapshot: &Snapshot, profile: &Profile, prompt: &Prompt<'_>) -> io::Result<()> {
    let answer = encode::Answer {
        prompt,
        revision: snapshot.revision.as_str(),
        profile: profile.name.as_str(),
        rendered: "",
        session_position: None,
        recalled: &[],
        side: None,
        shape: &encode::Shape::default(),
    };
    let message = turn::descriptor("AssemblePromptResponse");
    let dynamic = DynamicMessage::decode(message, &*answer.encode().to_vec()).map_err(io::Error::other)?;
    serde_json::to_writer_pretty(&mut *out, &dynamic)?;
    writeln!(out)
}

/// Prints the findings to standard error.
fn report(offline: &Offline, argument: &WorkspaceArgument, prompt: &Prompt<'_>) {
    let findings: Vec<_> = prompt.findings.iter().map(|finding| finding.clone().into_owned()).collect();
    if !findings.is_empty() {
        eprint!("{}", human::render(&offline.report(argument, &findings), is_styled(&io::stderr())));
    }
}
