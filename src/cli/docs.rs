//! `promptd docs`: the tables of the README, written from the code.

use std::process::ExitCode;

use clap::ValueEnum;
use promptd::{config, finding};

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

pub(super) fn run(arguments: &Arguments) -> ExitCode {
    match arguments.table {
        Table::Settings => print!("{}", config::markdown()),
        Table::Findings => print!("{}", finding::markdown()),
    }
    ExitCode::SUCCESS
}
