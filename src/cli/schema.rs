//! `promptd schema`: the JSON Schemas of the files that promptd reads, for editors and for checks without promptd.

use std::process::ExitCode;

use clap::ValueEnum;
use promptd::{config, turn_file};
use promptd_core::{profile, workspace};
use serde_json::Value;

use super::{CommandResult, print};

/// Prints the JSON Schema (draft 2020-12) of a kind of file: its keys, types, defaults and bounds, and what each key does.
///
/// Editors with yaml-language-server complete and check a file whose first line is
/// `# yaml-language-server: $schema=PATH`.
#[derive(clap::Args)]
pub(super) struct Arguments {
    #[arg(value_name = "NAME")]
    schema: Schema,
}

/// A kind of file that has a schema.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Schema {
    /// The server's config, `promptd.yaml`.
    Config,
    /// The settings of a workspace, `workspace.yaml`.
    Workspace,
    /// A profile.
    Profile,
    /// The turn file of `promptd render --turn`.
    Turn,
    /// The front matter of a SKILL.md.
    Skill,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    print(arguments.schema.text())?;
    Ok(ExitCode::SUCCESS)
}

impl Schema {
    /// The schema as indented JSON, with a newline at its end.
    pub(super) fn text(self) -> String {
        format!("{:#}\n", self.value())
    }

    fn value(self) -> Value {
        match self {
            Self::Config => config::schema(),
            Self::Workspace => workspace::manifest_schema(),
            Self::Profile => profile::schema(),
            Self::Turn => turn_file::schema(),
            Self::Skill => workspace::skill_schema(),
        }
    }
}
