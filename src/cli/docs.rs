//! `promptd docs`: the tables of the README, written from the code.

use std::process::ExitCode;

use clap::ValueEnum;
use promptd::config;
use promptd_core::finding;

use super::{Outcome, print};

/// Prints one of the README's tables as Markdown.
#[derive(clap::Args)]
pub(super) struct Arguments {
    table: Table,
}

#[derive(Clone, Copy, ValueEnum)]
enum Table {
    /// Every setting of the config file.
    Settings,
    /// Every finding code.
    Findings,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    print(match arguments.table {
        Table::Settings => config::markdown(),
        Table::Findings => finding::markdown(),
    })?;
    Ok(ExitCode::SUCCESS)
}
