//! Whether output has colour: `--color`, `NO_COLOR`, `CLICOLOR_FORCE` and `TERM`.

use anstream::{AutoStream, ColorChoice, stream::RawStream};
use clap::ValueEnum;

/// The values of `--color`.
#[derive(Clone, Copy, Default, ValueEnum)]
pub(super) enum Color {
    /// On a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`.
    #[default]
    Auto,
    Always,
    Never,
}

impl Color {
    /// Makes it the choice of the whole process.
    pub(super) fn apply(self) {
        let choice = match self {
            Self::Auto => ColorChoice::Auto,
            Self::Always => ColorChoice::Always,
            Self::Never => ColorChoice::Never,
        };
        choice.write_global();
    }
}

/// Whether what is written to the stream has colour.
pub(super) fn is_styled(stream: &impl RawStream) -> bool {
    AutoStream::choice(stream) != ColorChoice::Never
}
