//! What the value of a setting is.

use promptd_core::{
    settings::RiskPolicy,
    yaml::shape::{Text, names},
};
use promptd_source::WatchMode;

use super::LogFormat;

/// What the value of a setting is, with its bounds.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// `true` or `false`.
    Bool,
    /// A whole number.
    Count {
        /// The lowest.
        least: u64,
    },
    /// A whole number between two.
    #[cfg(any(feature = "etcd", feature = "memory"))]
    Range {
        /// The lowest.
        least: u64,
        /// The highest.
        most: u64,
    },
    /// A number of bytes: a whole number, or text with a unit.
    Size {
        /// The lowest.
        least: u64,
    },
    /// A duration.
    Span {
        /// The shortest, as a config would have it.
        least: &'static str,
    },
    /// A number from 0 to 1.
    #[cfg(any(feature = "memory", feature = "otlp", feature = "record"))]
    Share,
    /// A list of fields of the contract's turn, except for its time.
    #[cfg(feature = "record")]
    TurnFields,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Text.
    Text(Text),
    /// A list of texts.
    Texts(Text),
}

pub(super) const RISKS: [(&str, RiskPolicy); 3] =
    [("report", RiskPolicy::Report), ("strip", RiskPolicy::Strip), ("refuse", RiskPolicy::Refuse)];
pub(super) const WATCH_MODES: [(&str, WatchMode); 3] =
    [("auto", WatchMode::Auto), ("events", WatchMode::Events), ("poll", WatchMode::Poll)];
pub(super) const LOG_FORMATS: [(&str, LogFormat); 2] = [("text", LogFormat::Text), ("json", LogFormat::Json)];

pub(super) const RISK_WORDS: [&str; 3] = names(&RISKS);
pub(super) const WATCH_WORDS: [&str; 3] = names(&WATCH_MODES);
pub(super) const FORMAT_WORDS: [&str; 2] = names(&LOG_FORMATS);

const PATH_TEXT: Text = Text::like(r"^[^\u0000]+$");
pub(super) const PATH: Shape = Shape::Text(PATH_TEXT);
pub(super) const PATHS: Shape = Shape::Texts(PATH_TEXT);
pub(super) const HOME: Shape = Shape::Text(Text::like("^/"));

macro_rules! octet {
    () => {
        "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
    };
}
macro_rules! port {
    () => {
        "(0|[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
    };
}

macro_rules! address {
    () => {
        concat!("(localhost|", octet!(), r"(\.", octet!(), r"){3}|\[[0-9A-Fa-f:.]+(%[0-9]+)?\]):0*", port!())
    };
}

/// An IP address, or `localhost`, and a port.
pub(super) const ADDRESS: Shape = Shape::Text(Text::like(concat!("^", address!(), "$")));

/// The same, or that there is none.
#[cfg(feature = "inspector")]
pub(super) const ADDRESS_OR_OFF: Shape = Shape::Text(Text::like(concat!("^(off|", address!(), ")$")));

/// `ID=DIR`, or the path of a folder whose name is an id; without a `=` before its first `/`.
pub(super) const SINGLE: Text = Text::like(
    r"^([A-Za-z0-9][A-Za-z0-9._-]{0,63}=[^\u0000]+|([^=/\u0000]*/([^\u0000]*/)?)?([A-Za-z0-9][A-Za-z0-9._-]{0,63}|\.{1,2})/*)$",
);

/// A host without scheme and port.
pub(super) const HOST: Text = Text::like(r"^([A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*|\[[0-9A-Fa-f:.]+\])$");

/// A scheme and a host, perhaps with a port; or `*`.
pub(super) const ORIGIN: Text = Text::like(concat!(
    r"^(\*|[Hh][Tt][Tt][Pp][Ss]?://([A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*|\[[0-9A-Fa-f:.]+\])(:",
    port!(),
    ")?)$"
));

/// A collector: `http://`, a host and a port.
#[cfg(feature = "otlp")]
pub(super) const ENDPOINT: Shape =
    Shape::Text(Text::like(concat!(r"^http://([A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*|\[[0-9A-Fa-f:.]+\]):", port!(), "/?$")));

/// A server of models: `http://` or `https://`, a host, perhaps a port and a path.
#[cfg(feature = "memory")]
pub(super) const MODEL_SERVER: Shape = Shape::Text(Text::like(concat!(
    r"^https?://([A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*|\[[0-9A-Fa-f:.]+\])(:",
    port!(),
    r")?(/[A-Za-z0-9._~/-]*)?$"
)));

/// A text that is not empty.
#[cfg(feature = "memory")]
pub(super) const NAME: Shape = Shape::Text(Text::like(r"^[\s\S]"));

/// An id.
#[cfg(any(feature = "etcd", feature = "memory"))]
pub(super) const ID: Shape = Shape::Text(Text::like("^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"));

/// A path below a workspace, with `?` in the file's name.
#[cfg(feature = "memory")]
pub(super) const NOTES: Shape = Shape::Text(Text::like(r"^([^/?\\]+/)*[^/?\\]*\?[^/\\]*$"));

/// Members of etcd: hosts, each with a port.
#[cfg(feature = "etcd")]
pub(super) const MEMBERS: Shape =
    Shape::Texts(Text::like(concat!(r"^([A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*|\[[0-9A-Fa-f:.]+\]):", port!(), "$")));

/// The start of keys in etcd.
#[cfg(feature = "etcd")]
pub(super) const PREFIX: Shape = Shape::Text(Text::like(promptd_etcd::layout::PREFIX_PATTERN));

/// Levels, or modules with perhaps a level each, with commas between them.
pub(super) const LEVELS: Text = Text::like(
    "^[^=,]*(=([Oo][Ff][Ff]|[Ee][Rr][Rr][Oo][Rr]|[Ww][Aa][Rr][Nn]|[Ii][Nn][Ff][Oo]|[Dd][Ee][Bb][Uu][Gg]|[Tt][Rr][Aa][Cc][Ee]|[0-5])?)?(,[^=,]*(=([Oo][Ff][Ff]|[Ee][Rr][Rr][Oo][Rr]|[Ww][Aa][Rr][Nn]|[Ii][Nn][Ff][Oo]|[Dd][Ee][Bb][Uu][Gg]|[Tt][Rr][Aa][Cc][Ee]|[0-5])?)?)*$",
);
