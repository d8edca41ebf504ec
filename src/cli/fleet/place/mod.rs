//! Where workspaces are published: etcd, or a promptd that publishes to its own. Commands are written once, for both.

mod answers;
mod etcd;
mod service;
mod url;

use std::{collections::BTreeMap, path::PathBuf};

use promptd::config::Overrides;
use promptd_core::id::Id;
use promptd_etcd::{
    canary::End,
    history::Past,
    proposal::Proposal,
    publish::{Note, Publication, Published, Trial},
};

pub(super) use self::etcd::{Etcd, failure};
use self::{
    service::Service,
    url::{Url, url},
};
use crate::cli::{
    Failure,
    settings::{self, ConfigFile},
};

/// Where workspaces are published, by the arguments or the config.
#[derive(clap::Args)]
pub(in crate::cli) struct Place {
    #[command(flatten)]
    address: Address,
    #[command(flatten)]
    pub(super) config: ConfigFile,
}

/// Where workspaces are published, by the arguments.
#[derive(clap::Args)]
pub(in crate::cli) struct Address {
    /// Where workspaces are published: `etcd://HOST:PORT/PREFIX`, or the `http://HOST:PORT` or `https://HOST:PORT` of a promptd;
    /// default: `workspaces.etcd` of the config.
    #[arg(long, visible_alias = "from", value_name = "URL", value_parser = url)]
    to: Option<Url>,
    /// The authority that signs the certificates of etcd or promptd, a PEM file; without it connections are not encrypted.
    #[arg(long, value_name = "FILE", requires = "to")]
    ca: Option<PathBuf>,
    /// The certificate that etcd or promptd knows you by, a PEM file.
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
    /// The file of the token that promptd knows you by: its first line.
    #[arg(long, value_name = "FILE", requires = "to", conflicts_with = "user")]
    token_file: Option<PathBuf>,
}

/// What became of what was to be published.
pub(super) enum Outcome {
    /// It is published, or was already.
    Published(Vec<Published>),
    /// It waits for others.
    Waits(Waiting),
}

/// A proposal, without its files, and how many must approve it.
pub(super) struct Waiting {
    pub(super) proposal: Proposal,
    pub(super) needed: i32,
}

/// The files of a state, by path.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// A connection to where workspaces are published.
pub(super) enum Connection {
    Etcd(Etcd),
    Service(Service),
}

impl Place {
    /// Does something there.
    pub(super) fn run<T>(&self, work: impl AsyncFnOnce(&Connection) -> Result<T, Failure>) -> Result<T, Failure> {
        self.address.run(&self.config, work)
    }
}

impl Address {
    /// Whether there is one.
    pub(in crate::cli) fn is_given(&self) -> bool {
        self.to.is_some()
    }

    /// Does something there, on a runtime of its own; the config says where it is if no argument does.
    pub(super) fn run<T>(
        &self,
        config: &ConfigFile,
        work: impl AsyncFnOnce(&Connection) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|e| Failure::run(format!("cannot start: {e}")))?;
        runtime.block_on(async { work(&self.connect(config).await?).await })
    }

    async fn connect(&self, config: &ConfigFile) -> Result<Connection, Failure> {
        match &self.to {
            Some(Url::Service(_)) if self.user.is_some() => {
                Err(Failure::run("--user is for etcd: a promptd knows you by --token-file"))
            }
            Some(Url::Service(url)) => Ok(Connection::Service(Service::connect(self, url).await?)),
            Some(Url::Etcd { .. }) if self.token_file.is_some() => {
                Err(Failure::run("--token-file is for a promptd: etcd knows you by --user"))
            }
            Some(Url::Etcd { member, prefix }) => {
                Ok(Connection::Etcd(Etcd::connect(etcd::given(self, member, prefix)?).await?))
            }
            None => {
                let loaded = settings::load(config, &Overrides::default(), true)?;
                let etcd = loaded.config.etcd.ok_or_else(|| {
                    Failure::run(
                        "nowhere to publish: give --to etcd://HOST:PORT/PREFIX or --to http://HOST:PORT, or set `workspaces.etcd` in the config",
                    )
                })?;
                Ok(Connection::Etcd(Etcd::connect(etcd).await?))
            }
        }
    }
}

impl Connection {
    /// etcd itself, for `what` a promptd does not do.
    pub(super) fn etcd(&self, what: &str) -> Result<&Etcd, Failure> {
        match self {
            Self::Etcd(etcd) => Ok(etcd),
            Self::Service(_) => {
                Err(Failure::run(format!("{what} needs etcd itself: give --to etcd://HOST:PORT/PREFIX")))
            }
        }
    }

    /// A promptd, for `what` etcd alone does not do.
    pub(super) fn service(&self, what: &str) -> Result<&Service, Failure> {
        match self {
            Self::Etcd(_) => Err(Failure::run(format!(
                "{what} needs a promptd, which knows who approves it: give --to https://HOST:PORT"
            ))),
            Self::Service(service) => Ok(service),
        }
    }

    /// The newest state of a workspace; `None`: there is none.
    pub(super) async fn newest(&self, id: &Id) -> Result<Option<Past>, Failure> {
        match self {
            Self::Etcd(etcd) => etcd.newest(id).await,
            Self::Service(service) => service.newest(id).await,
        }
    }

    /// A state by its number or its first digits; `None`: there is none.
    pub(super) async fn find(&self, id: &Id, name: &str) -> Result<Option<Past>, Failure> {
        match self {
            Self::Etcd(etcd) => etcd.find(id, name).await,
            Self::Service(service) => service.find(id, name).await,
        }
    }

    /// A state by name, or the newest.
    pub(super) async fn state(&self, id: &Id, name: Option<&str>) -> Result<Past, Failure> {
        let found = match name {
            Some(name) => self.find(id, name).await?,
            None => self.newest(id).await?,
        };
        found.ok_or_else(|| match name {
            Some(name) => Failure::run(format!(
                "{id} has no revision `{name}`: give a number, or eight digits or more of a revision, as `promptd history` shows them"
            )),
            None => Failure::run(format!("nothing was published of {id}")),
        })
    }

    /// The newest states that are held, the newest first, without their files.
    pub(super) async fn list(&self, id: &Id, count: usize) -> Result<Vec<Past>, Failure> {
        match self {
            Self::Etcd(etcd) => etcd.list(id, count).await,
            Self::Service(service) => service.list(id, count).await,
        }
    }

    /// The files of a state.
    pub(super) async fn files(&self, id: &Id, past: &Past) -> Result<Files, Failure> {
        match self {
            Self::Etcd(etcd) => etcd.files(past).await,
            Self::Service(service) => service.files(id, past).await,
        }
    }

    /// Publishes workspaces: all, or none; with a trial to some turns alone. A promptd knows the author by itself.
    pub(super) async fn publish(
        &self,
        all: &[Publication],
        note: &Note,
        trial: Option<Trial>,
    ) -> Result<Outcome, NotPublished> {
        match self {
            Self::Etcd(etcd) => etcd.publish(all, note, trial).await.map(Outcome::Published),
            Self::Service(service) => service.publish(all, note, trial).await,
        }
    }

    /// Publishes an earlier state again.
    pub(super) async fn rollback(
        &self,
        id: &Id,
        name: &str,
        message: Option<&str>,
        author: &str,
    ) -> Result<Outcome, Failure> {
        match self {
            Self::Etcd(etcd) => etcd.rollback(id, name, message, author).await.map(Outcome::Published),
            Self::Service(service) => service.rollback(id, name, message).await,
        }
    }

    /// Ends a canary.
    pub(super) async fn end_canary(
        &self,
        end: End,
        id: &Id,
        message: Option<&str>,
        author: &str,
    ) -> Result<Outcome, Failure> {
        match self {
            Self::Etcd(etcd) => {
                etcd.end_canary(end, id, message, author).await.map(|one| Outcome::Published(vec![one]))
            }
            Self::Service(service) => service.end_canary(end, id, message).await,
        }
    }
}

/// Why nothing was published.
pub(super) struct NotPublished {
    pub(super) failure: Failure,
    /// Someone else was faster.
    pub(super) is_conflict: bool,
}
