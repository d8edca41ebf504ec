//! Spans: which bytes of a section came from where, and how.

use std::{ops::Range, sync::Arc};

use super::Source;

/// A run of bytes of a section's text, and where they came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Byte range of the text that the section is part of, as in [`Position`](super::Position).
    pub bytes: Range<u32>,
    /// What said it.
    pub origin: Arc<Origin>,
    /// Byte range of the origin's own bytes; empty where it has none. For a marker, what was left out.
    pub source: Range<u64>,
    /// How the origin's bytes became these.
    pub how: How,
}

/// What bytes of a prompt came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// What kind of thing it is.
    pub kind: OriginKind,
    /// Its name, as [`OriginKind`] says.
    pub name: String,
    /// The profile's name, of a [`OriginKind::Profile`]; else empty.
    pub profile: String,
    /// The file that it is, or that it is written in.
    pub file: Option<Source>,
}

/// The kinds of origins, and what their names are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OriginKind {
    /// A file, by its path. Ranges are of the file's bytes as they are on disk.
    File,
    /// A field of the turn, by its path: `turn.user.name`. Ranges are of the field's text as it was sent.
    Turn,
    /// An input that the turn gives: `inputs.topic`. Ranges are of the text as it was sent.
    Input,
    /// A setting of `workspace.yaml`, by its key: `agent.persona`. Ranges are of the value, not of the file.
    Setting,
    /// The profile's own text, by the section's id; `inputs.NAME`: an input's default; `reply.NAME`: what its reply
    /// contract says.
    Profile,
    /// What the service knows or works out: `now.local`, `workspace.root`.
    Fact,
    /// The service's own words around what it lists.
    Service,
}

/// How an origin's bytes became those of the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum How {
    /// The very same bytes.
    Verbatim,
    /// The very same bytes, of a text of which a limit kept a part out.
    Cut,
    /// Changed by a template: escaped, or made another text by a filter.
    Escaped,
    /// Changed before any template saw it: line ends, hidden or control characters, white space.
    Cleaned,
    /// Written by the profile's template, or worked out from the origin: a number, a list's length, a date.
    Template,
    /// Says that something was left out.
    Marker,
}

impl OriginKind {
    /// Lower-case name, as the command line writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Turn => "turn",
            Self::Input => "input",
            Self::Setting => "setting",
            Self::Profile => "profile",
            Self::Fact => "fact",
            Self::Service => "service",
        }
    }
}

impl How {
    /// Lower-case name, as the command line writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Verbatim => "verbatim",
            Self::Cut => "cut",
            Self::Escaped => "escaped",
            Self::Cleaned => "cleaned",
            Self::Template => "template",
            Self::Marker => "marker",
        }
    }

    /// Whether the bytes are those of the source, one by one.
    #[must_use]
    pub fn is_same(self) -> bool {
        matches!(self, Self::Verbatim | Self::Cut)
    }
}

impl Origin {
    /// An origin that is neither a file nor in one.
    #[must_use]
    pub(crate) fn new(kind: OriginKind, name: impl Into<String>) -> Self {
        Self { kind, name: name.into(), profile: String::new(), file: None }
    }

    /// A file.
    #[must_use]
    pub(crate) fn file(source: Source) -> Self {
        let name = source.path.to_string();
        Self { file: Some(source), ..Self::new(OriginKind::File, name) }
    }

    /// A setting, by its key, and the `workspace.yaml` that it is in.
    #[must_use]
    pub(crate) fn setting(key: impl Into<String>, file: &Arc<str>) -> Self {
        // The file's digest is not for callers: it would confirm a guess at what is locked or hidden.
        let file = Some(Source::new(Arc::clone(file), ""));
        Self { file, ..Self::new(OriginKind::Setting, key) }
    }

    /// A part of a profile.
    #[must_use]
    pub(crate) fn profile(profile: &str, name: impl Into<String>) -> Self {
        Self { profile: profile.to_owned(), ..Self::new(OriginKind::Profile, name) }
    }
}
