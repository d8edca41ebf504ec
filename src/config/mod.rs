//! The server's config: from the text of `config/promptd.yaml` and the flags to a checked [`Config`].
//!
//! Reading a config touches nothing but its text: every fault is reported at once, with line, column and the nearest
//! known key, before a port is bound or a file opened. [`TABLE`] has every setting with its default.
//!
//! A setting has one validator: the function here, or the type, that its text becomes. The options of the other parts
//! hold values that are already checked.

mod decode;
mod defaults;
mod known_keys;
mod schema;
mod shape;
mod table;
mod unused;
mod values;

#[cfg(feature = "etcd")]
pub use decode::etcd_member;
pub use schema::schema;
pub use shape::Shape;
pub use table::{Setting, TABLE, markdown};
#[cfg(feature = "inspector")]
pub use values::inspector_listen;
pub use values::{Base, address, bytes, log_level};

#[cfg(feature = "inspector")]
use std::fmt;
#[cfg(feature = "memory")]
use std::time::Duration;
use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use serde_json::Value;
use tracing_subscriber::filter::Targets;

use crate::grpc;
use promptd_core::{
    finding::{Finding, Place},
    id::Id,
    yaml,
};
use promptd_source::store::History;

/// The server's settings, checked. [`TABLE`] says what each one does.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// `listen`, `grpc`, `drain`, and the limits of calls.
    pub grpc: grpc::Options,
    /// Where workspaces, skills and profiles are, and how they are read and watched. All paths are absolute.
    pub source: promptd_source::Options,
    /// `workspaces.etcd`; `None`: all workspaces are folders.
    #[cfg(feature = "etcd")]
    pub etcd: Option<Etcd>,
    /// `revisions`.
    pub revisions: History,
    /// `workspaces.resident`, in bytes of text; `None`: all workspaces stay loaded.
    pub resident: Option<usize>,
    /// `auth.tokens_file`; absolute.
    pub tokens_file: Option<PathBuf>,
    /// `tls`.
    pub tls: Option<Tls>,
    /// `admin.listen`.
    pub admin: Option<SocketAddr>,
    /// `inspector.listen`.
    #[cfg(feature = "inspector")]
    pub inspector: InspectorListen,
    /// `memory`; `None`: no conversations are stored.
    #[cfg(feature = "memory")]
    pub memory: Option<Memory>,
    /// `otlp`; `None`: no spans are sent.
    #[cfg(feature = "otlp")]
    pub otlp: Option<promptd_otlp::Options>,
    /// `record`; `None`: nothing is recorded.
    #[cfg(feature = "record")]
    pub record: Option<promptd_record::Options>,
    /// `log`.
    pub log: Log,
    /// The value of every setting in use, by its key in [`TABLE`]: for `/debug/config`, and to compare configs.
    pub effective: BTreeMap<&'static str, Value>,
    /// Settings that are allowed and probably a mistake: those without effect.
    pub warnings: Vec<Finding>,
}

/// A workspace of `workspaces.single` or `--workspace`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SingleWorkspace {
    /// Its id.
    pub id: Id,
    /// Its folder; absolute.
    pub folder: PathBuf,
}

/// An etcd that has workspaces.
#[cfg(feature = "etcd")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Etcd {
    /// Where it is, and what of it is used.
    pub options: promptd_etcd::Options,
    /// The files of its credentials.
    pub credentials: EtcdCredentials,
    /// Files of the server's own that are published there.
    pub files: Option<ServerFiles>,
    /// How many others must approve what is published through this service.
    pub require_approval: usize,
}

/// Files of the server's own, such as profiles and tokens, that are published like a workspace.
#[cfg(feature = "etcd")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFiles {
    /// What they are published as; it is not served as a workspace.
    pub id: Id,
    /// Where they are written to.
    pub folder: promptd_etcd::checkout::Checkout,
}

/// The files that this process proves itself to etcd with; all paths are absolute.
#[cfg(feature = "etcd")]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EtcdCredentials {
    /// The authority that signs etcd's certificates; `None`: connections are not encrypted.
    pub ca: Option<PathBuf>,
    /// The certificate of this process and its key.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// A user's name and the file of the password.
    pub login: Option<(String, PathBuf)>,
}

/// What is stored of conversations, and what is made of it.
#[cfg(feature = "memory")]
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    /// Where the store is, and how much it keeps.
    pub store: promptd_memory::Options,
    /// How messages are divided into segments.
    pub thresholds: promptd_core::history::Thresholds,
    /// The model that says where topics shift; `None`: the words of the messages do.
    pub embed: Option<Model>,
    /// The model that makes summaries; `None`: none are made.
    pub summarise: Option<SummariseModel>,
    /// Which notes are summed up.
    pub notes: Notes,
}

/// A model of a server.
#[cfg(feature = "memory")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// The server.
    pub address: promptd_memory_pipeline::Address,
    /// Its name.
    pub name: String,
    /// The file of the server's key; absolute.
    pub key_file: Option<PathBuf>,
    /// The longest that a request may take.
    pub timeout: Duration,
    /// The most tokens an hour; `None`: no bound.
    pub tokens_per_hour: Option<u64>,
}

/// A model that makes summaries.
#[cfg(feature = "memory")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummariseModel {
    /// The model.
    pub model: Model,
    /// How many summaries are made at once.
    pub concurrency: usize,
    /// The profile of requests for the summary of a segment.
    pub segment_profile: Id,
    /// The profile of requests for the summary of summaries.
    pub rollup_profile: Id,
    /// The profile of requests for the summary of notes.
    pub notes_profile: Id,
}

/// Which notes of a workspace are summed up.
#[cfg(feature = "memory")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notes {
    /// Where they are.
    pub files: promptd_core::profile::FilePattern,
    /// How many: the last ones before the newest.
    pub most: usize,
    /// How many tokens their summary may have.
    pub target_tokens: u32,
}

/// Absolute paths of PEM files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// The server's certificate chain.
    pub cert: PathBuf,
    /// The private key of the certificate.
    pub key: PathBuf,
    /// The authority that signs clients' certificates; without it clients need none.
    pub client_ca: Option<PathBuf>,
}

/// Where the inspector listens.
#[cfg(feature = "inspector")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InspectorListen {
    /// Nowhere.
    Off,
    /// At the address that it has by default: where that is taken, the service goes on without it.
    Default(SocketAddr),
    /// At the address that a setting or a flag names.
    At(SocketAddr),
}

#[cfg(feature = "inspector")]
impl fmt::Display for InspectorListen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Default(address) | Self::At(address) => address.fmt(f),
        }
    }
}

/// What is logged, and how.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Log {
    /// By module.
    pub level: Targets,
    /// How a line is written.
    pub format: LogFormat,
}

/// How a line of the log is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// The port of the inspector where none is named.
#[cfg(feature = "inspector")]
pub const INSPECTOR_PORT: u16 = 50052;

/// What flags and environment set; each wins over the file.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// `--listen`.
    pub listen: Option<SocketAddr>,
    /// `--admin`.
    pub admin: Option<SocketAddr>,
    /// `--inspector`: `Off` or `At`.
    #[cfg(feature = "inspector")]
    pub inspector: Option<InspectorListen>,
    /// `--memory`; absolute.
    #[cfg(feature = "memory")]
    pub memory: Option<PathBuf>,
    /// `--workspaces`; absolute.
    pub root: Option<PathBuf>,
    /// `--workspace`: added to those of the file, of which it replaces the one of the same id.
    pub single: Vec<SingleWorkspace>,
    /// `--resident`: as it is written, and in bytes.
    pub resident: Option<(String, usize)>,
    /// `PROMPTD_LOG`.
    pub log_level: Option<(String, Targets)>,
}

impl Config {
    /// Reads a config file's text. `name` is the file's name for findings; relative paths start at `folder`, which
    /// is absolute. The error case has every fault.
    pub fn read(text: &str, name: &str, folder: &Path, overrides: &Overrides) -> Result<Self, Vec<Finding>> {
        let finding = |fault: yaml::Fault| match fault.at {
            decode::BY_FLAG => Finding::new(fault.code, Place::Unplaced, fault.message),
            _ => fault.into_finding(name),
        };
        let findings = |faults: Vec<yaml::Fault>| faults.into_iter().map(finding).collect();
        let decoded = yaml::read(text, |given, faults| {
            let config = decode::decode(given, folder, overrides, faults);
            let warnings = unused::warnings(given, &config.effective);
            Self { warnings: warnings.into_iter().map(finding).collect(), ..config }
        });
        decoded.map_err(findings)
    }

    /// The settings that differ from these, which are by key.
    #[must_use]
    pub fn changes(&self, from: &BTreeMap<&'static str, Value>) -> Vec<&'static Setting> {
        TABLE.iter().filter(|setting| from.get(setting.key) != self.effective.get(setting.key)).collect()
    }

    /// Whether the config names no workspace.
    #[must_use]
    pub fn has_no_workspaces(&self) -> bool {
        #[cfg(feature = "etcd")]
        if self.etcd.is_some() {
            return false;
        }
        self.source.roots.is_empty() && self.source.workspaces.is_empty()
    }
}

impl SingleWorkspace {
    /// Reads `DIR` or `ID=DIR`; without an id the folder's name is the id.
    pub fn parse(text: &str, base: &Base<'_>) -> Result<Self, String> {
        let named = text.split_once('=').filter(|(id, _)| !id.contains('/'));
        let (id, folder) = match named {
            Some((id, folder)) => (Some(id), base.path(folder)?),
            None => (None, base.path(text)?),
        };
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let id = id.unwrap_or(name);
        let id = Id::parse(id).map_err(|e| format!("`ID=DIR`, since `{id}` is not an id: an id {e}"))?;
        Ok(Self { id, folder })
    }
}

#[cfg(test)]
mod tests;
