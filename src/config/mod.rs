//! The server's config: from the text of `config/promptd.yaml` and the flags to a checked [`Config`].
//!
//! Reading a config touches nothing but its text: every fault is told at once, with line, column and the nearest
//! known key, before a port is bound or a file opened. [`TABLE`] has every setting with its default.

mod decode;
mod overlay;
mod source;
mod table;
mod values;

pub use decode::log_level;
pub use table::{Setting, TABLE, markdown};
pub use values::{Base, address};

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, time::Duration};

use serde_json::Value;
use tracing_subscriber::filter::Targets;

use crate::grpc;
use promptd_core::{finding::Finding, id::Id, settings::Settings, yaml};
use promptd_source::{WatchMode, store::History};

/// The server's settings, checked. [`TABLE`] says what each one does; the names here follow it.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// `listen`, `insecure`, `grpc`, `drain`, and `limits` but for those in `settings`.
    pub grpc: grpc::Options,
    /// `workspaces`.
    pub workspaces: Workspaces,
    /// `profiles`; absolute.
    pub profiles: PathBuf,
    /// `allowed_link_targets`; absolute.
    pub allowed_link_targets: Vec<PathBuf>,
    /// `skills.shared`; absolute.
    pub shared_skills: Vec<PathBuf>,
    /// What loading and assembling depend on.
    pub settings: Settings,
    /// `revisions`.
    pub revisions: History,
    /// `watch`.
    pub watch: Watch,
    /// `auth.tokens_file`; absolute.
    pub tokens_file: Option<PathBuf>,
    /// `tls`.
    pub tls: Option<Tls>,
    /// `admin.listen`.
    pub admin: Option<SocketAddr>,
    /// `log`.
    pub log: Log,
    /// Every setting as it holds, by its key in [`TABLE`]: for `/debug/config` and for telling what a reload changed.
    pub effective: BTreeMap<&'static str, Value>,
}

/// Where workspaces are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Workspaces {
    /// A folder whose folders are workspaces; absolute.
    pub root: Option<PathBuf>,
    /// Single ones; no id stands twice.
    pub single: Vec<SingleWorkspace>,
}

/// A workspace named by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SingleWorkspace {
    /// Its id.
    pub id: Id,
    /// Its folder; absolute.
    pub folder: PathBuf,
}

/// How edits are noticed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Watch {
    /// `watch.mode`.
    pub mode: WatchMode,
    /// `watch.poll_interval`.
    pub poll_interval: Duration,
    /// `watch.sweep_interval`.
    pub sweep_interval: Duration,
}

/// `tls`: absolute paths of PEM files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// `tls.cert`.
    pub cert: PathBuf,
    /// `tls.key`.
    pub key: PathBuf,
    /// `tls.client_ca`.
    pub client_ca: Option<PathBuf>,
}

/// What is logged, and how.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Log {
    /// `log.level`.
    pub level: Targets,
    /// `log.format`.
    pub format: LogFormat,
}

/// `log.format`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// What flags and environment say; each wins over the file.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// `--listen`.
    pub listen: Option<SocketAddr>,
    /// `--admin`.
    pub admin: Option<SocketAddr>,
    /// `--workspaces`; absolute.
    pub root: Option<PathBuf>,
    /// `--workspace`: added to those of the file, of which it replaces the one of the same id.
    pub single: Vec<SingleWorkspace>,
    /// `PROMPTD_LOG`.
    pub log_level: Option<(String, Targets)>,
}

impl Config {
    /// Reads a config file's text. `name` is the file's name for findings; relative paths start at `folder`, which
    /// is absolute. The error case has every fault.
    pub fn read(text: &str, name: &str, folder: &std::path::Path, overrides: &Overrides) -> Result<Self, Vec<Finding>> {
        let findings = |faults: Vec<yaml::Fault>| faults.into_iter().map(|fault| fault.into_finding(name)).collect();
        let given = yaml::parse(text).map_err(findings)?;
        decode::decode(&given, folder, overrides).map_err(findings)
    }

    /// The settings that differ in `next`, by key.
    #[must_use]
    pub fn changes(&self, next: &Self) -> Vec<&'static Setting> {
        TABLE.iter().filter(|setting| self.effective.get(setting.key) != next.effective.get(setting.key)).collect()
    }
}

impl Workspaces {
    /// Whether there is nothing to serve.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.root.is_none() && self.single.is_empty()
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
        let id = Id::parse(id).map_err(|e| format!("`ID=DIR` with an id, since `{id}` is none: an id {e}"))?;
        Ok(Self { id, folder })
    }
}

#[cfg(test)]
mod tests;
