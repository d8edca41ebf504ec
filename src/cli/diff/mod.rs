//! `promptd diff`: what an edit of a workspace does to its prompts.

mod git;
mod github;
pub(super) mod human;
pub(super) mod lines;
mod markdown;
pub(super) mod version;
pub(super) mod words;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::ValueEnum;
use promptd_contract::encode::{self, Side};
use promptd_core::{
    diff::{PromptDiff, diff},
    prompt::{self, Prepared},
    tokens::Encoding,
};
use prost_reflect::DynamicMessage;

use self::version::Version;
#[cfg(feature = "etcd")]
use super::fleet::{self, Address};
use super::{
    CommandResult, Failure, is_styled,
    load::Offline,
    print, profile,
    settings::ConfigFile,
    turn_file::{self, TurnAndProfile},
};

/// Compares the prompts of two versions of a workspace: sections, words, sizes, findings, and what caches lose.
///
/// A version is a folder, or a folder as it is at a git revision: `DIR@REVISION`, such as `agents/harbor@main`. With `--from` (a
/// build with the feature `etcd`) it is a published revision: `ID@REVISION`, or `ID` for the newest. Both are assembled as if they were the second one, so
/// that a path or an id does not differ.
///
/// Exits with 0 if nothing differs, 1 if something does, 2 if the prompts could not be assembled.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The first version: `DIR` or `DIR@REVISION`.
    #[arg(value_name = "BEFORE")]
    before: String,
    /// The second version; `ID=DIR` gives it an id other than its name.
    #[arg(value_name = "AFTER")]
    after: String,
    /// A turn to compare the prompts of, as `promptd render` takes it; more than one can be given. Default: those in
    /// `.promptd/turns` of the second version, or a turn that sets nothing.
    #[arg(long = "turn", value_name = "FILE")]
    turns: Vec<PathBuf>,
    /// The profile; default: that of the turn file, or of each version.
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// The format of the difference.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    #[cfg(feature = "etcd")]
    #[command(flatten)]
    published: Address,
    #[command(flatten)]
    config: ConfigFile,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Human,
    /// One JSON document: for each turn what `DiffPrompt` would answer.
    Json,
    /// Annotations of a GitHub workflow, one for each section that differs.
    Github,
    /// For a comment on a pull request.
    Markdown,
}

/// The prompts of one turn, compared.
pub(super) struct Compared {
    /// The turn's file; `None`: a turn that sets nothing.
    pub(super) turn: Option<String>,
    pub(super) diff: PromptDiff,
    /// The revision and the profile of each version.
    pub(super) sides: [(String, String); 2],
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    compare(arguments).map_err(|failure| Failure { code: ExitCode::from(2), ..failure })
}

fn compare(arguments: &Arguments) -> CommandResult {
    let (offline, before, after) = versions(arguments)?;
    let snapshots = [before.load(&offline)?, after.load(&offline)?];
    let turns = if arguments.turns.is_empty() { turns_of(after.folder())? } else { arguments.turns.clone() };
    let profile = arguments.profile.as_deref();
    let compared = of_turns(&offline, turns, |file| after.shown(file), profile, &snapshots)?;
    print(rendered(arguments.format, &compared, [&before, &after])?)?;
    let is_same = compared.iter().all(|one| one.diff.is_same());
    Ok(if is_same { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn versions(arguments: &Arguments) -> Result<(Offline, Version, Version), Failure> {
    let Arguments { before, after, config, .. } = arguments;
    #[cfg(feature = "etcd")]
    if arguments.published.is_given() {
        return fleet::version::open(config, &arguments.published, before, after);
    }
    version::open(config, before, after)
}

/// The turns of a workspace, in `.promptd/turns`.
pub(super) fn turns_of(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    turn_file::of_workspace(folder, &turn_file::EXTENSIONS)
}

/// Compares the prompts of these turns, or of one that sets nothing where there are none.
pub(super) fn of_turns(
    offline: &Offline,
    turns: Vec<PathBuf>,
    shown: impl Fn(&Path) -> String,
    profile: Option<&str>,
    snapshots: &[Prepared; 2],
) -> Result<Vec<Compared>, Failure> {
    let files = if turns.is_empty() { vec![None] } else { turns.into_iter().map(Some).collect() };
    let one = |file: Option<PathBuf>| {
        let given = turn_file::read(file.as_deref(), &offline.config, &offline.profiles)?;
        let profile = profile.or(given.profile.as_deref());
        of_turn(file.as_deref().map(&shown), profile, &given, snapshots)
    };
    files.into_iter().map(one).collect()
}

fn of_turn(
    name: Option<String>,
    profile: Option<&str>,
    given: &TurnAndProfile,
    snapshots: &[Prepared; 2],
) -> Result<Compared, Failure> {
    let assemble = |snapshot| {
        let snapshot: &Prepared = snapshot;
        let profile = profile::find(&snapshot.profiles, profile.unwrap_or(snapshot.manifest.profile.as_str()))?;
        let mut prompt = prompt::assemble(snapshot, profile, &given.turn).map_err(|error| {
            let place = name.as_ref().map(|name| format!("\n  in {name}")).unwrap_or_default();
            Failure::input(format!("error: {error}{place}"))
        })?;
        prompt::count_tokens(&mut prompt, snapshot, profile, Encoding::DEFAULT);
        Ok((prompt, (snapshot.revision.as_str().to_owned(), profile.name.to_string())))
    };
    let [(before, one), (after, other)] = [assemble(&snapshots[0])?, assemble(&snapshots[1])?];
    let diff = diff(&before, &after);
    Ok(Compared { turn: name, diff, sides: [one, other] })
}

fn rendered(format: Format, compared: &[Compared], versions: [&Version; 2]) -> Result<String, Failure> {
    Ok(match format {
        Format::Human => human::render(compared, is_styled(&std::io::stdout())),
        Format::Markdown => markdown::render(compared, versions.map(Version::name)),
        Format::Github => github::render(compared, versions[1]),
        Format::Json => json(compared)?,
    })
}

fn json(compared: &[Compared]) -> Result<String, Failure> {
    let turns: Vec<_> = compared.iter().map(Compared::to_json).collect::<Result<_, Failure>>()?;
    let document = serde_json::json!({ "same": compared.iter().all(|one| one.diff.is_same()), "turns": turns });
    Ok(format!("{document:#}\n"))
}

impl Compared {
    /// The turn, and what `DiffPrompt` would answer.
    pub(super) fn to_json(&self) -> Result<serde_json::Value, Failure> {
        let failure =
            |error: &dyn std::fmt::Display| Failure::run(format!("cannot write the difference as JSON: {error}"));
        let [before, after] = &self.sides;
        let answer = encode::diff_prompt_response(
            self.diff.clone(),
            Side { revision: &before.0, profile: &before.1 },
            Side { revision: &after.0, profile: &after.1 },
        );
        let mut message = DynamicMessage::new(promptd::turn_file::descriptor("DiffPromptResponse"));
        message.transcode_from(&answer).map_err(|error| failure(&error))?;
        let diff = serde_json::to_value(&message).map_err(|error| failure(&error))?;
        Ok(serde_json::json!({ "turn": self.turn, "diff": diff }))
    }
}
