//! etcd itself, where no promptd runs yet, or for those who hold its credentials.

use std::{path::PathBuf, time::Duration};

use promptd::config::{self, EtcdCredentials};
use promptd_core::id::Id;
use promptd_etcd::{
    Client, Error, ErrorKind, Options,
    canary::{self, End},
    history::{self, Past},
    layout::Prefix,
    publish::{Note, Publication, Published, Trial, publish, return_to},
};

use super::{Address, Files, NotPublished};
use crate::cli::{Failure, serve::etcd::reader, settings};

/// A connection to etcd.
pub(in crate::cli::fleet) struct Etcd {
    pub(in crate::cli::fleet) client: Client,
    pub(in crate::cli::fleet) prefix: Prefix,
}

/// The etcd that the arguments name.
pub(super) fn given(address: &Address, member: &str, prefix: &Prefix) -> Result<config::Etcd, Failure> {
    let absolute = |path: &PathBuf| settings::absolute_folder(path);
    let ca = address.ca.as_ref().map(absolute).transpose()?;
    let identity =
        address.cert.as_ref().map(absolute).transpose()?.zip(address.key.as_ref().map(absolute).transpose()?);
    let login = address.user.clone().zip(address.password_file.as_ref().map(absolute).transpose()?);
    let (endpoints, prefix) = (vec![member.to_owned()], prefix.clone());
    Ok(config::Etcd {
        options: Options { endpoints, prefix, cache: None, max_age: Duration::ZERO },
        credentials: EtcdCredentials { ca, identity, login },
        files: None,
        require_approval: 0,
    })
}

impl Etcd {
    pub(super) async fn connect(config::Etcd { options, credentials, .. }: config::Etcd) -> Result<Self, Failure> {
        let client = Client::connect(&options, &reader(credentials), 0).await.map_err(|e| failure(&e))?;
        Ok(Self { client, prefix: options.prefix })
    }

    pub(super) async fn newest(&self, id: &Id) -> Result<Option<Past>, Failure> {
        found(history::newest(&self.client, &self.prefix, id).await)
    }

    pub(super) async fn find(&self, id: &Id, name: &str) -> Result<Option<Past>, Failure> {
        found(history::find(&self.client, &self.prefix, id, name).await)
    }

    pub(super) async fn list(&self, id: &Id, count: usize) -> Result<Vec<Past>, Failure> {
        history::list(&self.client, &self.prefix, id, count).await.map_err(|e| failure(&e))
    }

    pub(super) async fn files(&self, past: &Past) -> Result<Files, Failure> {
        history::files(&self.client, &self.prefix, &past.manifest.files).await.map_err(|e| failure(&e))
    }

    pub(super) async fn publish(
        &self,
        all: &[Publication],
        note: &Note,
        trial: Option<Trial>,
    ) -> Result<Vec<Published>, NotPublished> {
        publish(&self.client, &self.prefix, all, note, trial)
            .await
            .map_err(|error| NotPublished { is_conflict: error.kind == ErrorKind::Conflict, failure: failure(&error) })
    }

    pub(super) async fn rollback(
        &self,
        id: &Id,
        name: &str,
        message: Option<&str>,
        author: &str,
    ) -> Result<Vec<Published>, Failure> {
        let done = async {
            let (client, prefix) = (&self.client, &self.prefix);
            let (publication, reason) = return_to(client, prefix, id, name).await?;
            let message = message.map_or(reason, str::to_owned);
            publish(client, prefix, &[publication], &Note { author: author.to_owned(), message }, None).await
        };
        done.await.map_err(|e| failure(&e))
    }

    pub(super) async fn end_canary(
        &self,
        end: End,
        id: &Id,
        message: Option<&str>,
        author: &str,
    ) -> Result<Published, Failure> {
        let message = message.unwrap_or_else(|| end.reason()).to_owned();
        let note = Note { author: author.to_owned(), message };
        canary::end(&self.client, &self.prefix, end, id, &note).await.map_err(|e| failure(&e))
    }
}

fn found(past: Result<Past, Error>) -> Result<Option<Past>, Failure> {
    match past {
        Ok(past) => Ok(Some(past)),
        Err(error) if error.kind == ErrorKind::Missing => Ok(None),
        Err(error) => Err(failure(&error)),
    }
}

/// What etcd says, as the end of a command: a conflict and what cannot be used are faults of the input.
pub(in crate::cli::fleet) fn failure(error: &Error) -> Failure {
    match error.kind {
        ErrorKind::Conflict | ErrorKind::CanaryRuns | ErrorKind::NoCanary | ErrorKind::Invalid => {
            Failure::input(format!("error: {error}"))
        }
        _ => Failure::run(error),
    }
}
