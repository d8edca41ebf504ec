//! The commands of published workspaces: `publish`, `pull`, `history`, `rollback`, `gc`.

mod base;
pub(super) mod gc;
pub(super) mod history;
pub(super) mod publish;
pub(super) mod pull;
pub(super) mod rollback;

use std::{path::PathBuf, time::Duration};

use promptd::config::{Etcd, EtcdCredentials, Overrides, etcd_member};
use promptd_core::{digest::Digest, id::Id};
use promptd_etcd::{Client, Error, ErrorKind, Options, layout::Prefix, publish::Published};

use super::{
    Failure,
    serve::etcd::reader,
    settings::{self, ConfigFile},
};

/// Where workspaces are published.
#[derive(clap::Args)]
pub(super) struct Place {
    /// Where workspaces are published: `etcd://HOST:PORT/PREFIX`; default: `workspaces.etcd` of the config.
    #[arg(long, visible_alias = "from", value_name = "URL", value_parser = url)]
    to: Option<Url>,
    /// The authority that signs the certificates of etcd, a PEM file; without it connections are not encrypted.
    #[arg(long, value_name = "FILE", requires = "to")]
    ca: Option<PathBuf>,
    /// The certificate that etcd knows you by, a PEM file.
    #[arg(long, value_name = "FILE", requires = "ca", requires = "key")]
    cert: Option<PathBuf>,
    /// The private key of the certificate, a PEM file.
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// The user that etcd knows you by.
    #[arg(long, value_name = "NAME", requires = "to", requires = "password_file")]
    user: Option<String>,
    /// The file of the user's password: its first line.
    #[arg(long, value_name = "FILE", requires = "user")]
    password_file: Option<PathBuf>,
    #[command(flatten)]
    config: ConfigFile,
}

/// A member of etcd, and the prefix.
#[derive(Debug, Clone)]
struct Url {
    member: String,
    prefix: Prefix,
}

fn url(text: &str) -> Result<Url, String> {
    let wanted = || "it must be `etcd://HOST:PORT/PREFIX`, such as `etcd://127.0.0.1:2379/promptd`".to_owned();
    let rest = text.strip_prefix("etcd://").ok_or_else(wanted)?;
    let (member, prefix) = rest.find('/').map(|at| rest.split_at(at)).ok_or_else(wanted)?;
    Ok(Url { member: etcd_member(member).map_err(|_| wanted())?, prefix: Prefix::parse(prefix).map_err(|_| wanted())? })
}

/// A connection to where workspaces are published.
struct Connection {
    client: Client,
    prefix: Prefix,
}

impl Place {
    /// Does something there, on a runtime of its own.
    fn run<T>(&self, work: impl AsyncFnOnce(&Connection) -> Result<T, Failure>) -> Result<T, Failure> {
        let Etcd { options, credentials } = self.etcd()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|e| Failure::run(format!("cannot start: {e}")))?;
        runtime.block_on(async {
            let client = Client::connect(&options, &reader(credentials), 0).await.map_err(|e| failure(&e))?;
            work(&Connection { client, prefix: options.prefix }).await
        })
    }

    fn etcd(&self) -> Result<Etcd, Failure> {
        let Some(Url { member, prefix }) = self.to.clone() else {
            let loaded = settings::load(&self.config, &Overrides::default(), true)?;
            return loaded.config.etcd.ok_or_else(|| {
                Failure::run(
                    "nowhere to publish: give --to etcd://HOST:PORT/PREFIX, or set `workspaces.etcd` in the config",
                )
            });
        };
        let absolute = |path: &PathBuf| settings::absolute_folder(path);
        let ca = self.ca.as_ref().map(absolute).transpose()?;
        let identity = self.cert.as_ref().map(absolute).transpose()?.zip(self.key.as_ref().map(absolute).transpose()?);
        let login = self.user.clone().zip(self.password_file.as_ref().map(absolute).transpose()?);
        Ok(Etcd {
            options: Options { endpoints: vec![member], prefix, cache: None, max_age: Duration::ZERO },
            credentials: EtcdCredentials { ca, identity, login },
        })
    }
}

/// What etcd says, as the end of a command: a conflict and what cannot be used are faults of the input.
fn failure(error: &Error) -> Failure {
    match error.kind {
        ErrorKind::Conflict | ErrorKind::Invalid => Failure::input(format!("error: {error}")),
        _ => Failure::run(error),
    }
}

/// The first digits of a revision, as they are shown.
fn short(revision: Digest) -> String {
    revision.to_hex()[..12].to_owned()
}

fn shown(published: &Published) -> String {
    let Published { id, revision, sequence, is_new } = published;
    let note = if *is_new { "" } else { ", as it was: nothing is published" };
    format!("{id}: revision {sequence} ({}){note}\n", short(*revision))
}

/// An id, for clap.
fn id(text: &str) -> Result<Id, String> {
    Id::parse(text).map_err(|invalid| format!("an id {invalid}"))
}

/// Who publishes: `--author`, else the user that runs the command.
#[derive(clap::Args)]
struct Author {
    /// Who publishes; default: the user that runs the command.
    #[arg(long, value_name = "NAME", env = "USER", hide_env_values = true, default_value = "unknown")]
    author: String,
}
