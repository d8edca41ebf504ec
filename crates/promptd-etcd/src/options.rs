//! Where etcd is and what of it is used, already checked.

use std::{path::PathBuf, sync::Arc, time::Duration};

use crate::layout::Prefix;

/// Where etcd is, and what of it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The members, each `HOST:PORT`; at least one.
    pub endpoints: Vec<String>,
    /// Below which everything is.
    pub prefix: Prefix,
    /// The folder of the cache, absolute; `None`: nothing is kept for a restart.
    pub cache: Option<Cache>,
    /// `/readyz` says no once what is served of etcd is this old; zero: never.
    pub max_age: Duration,
}

/// What is kept on the disk for a start without etcd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    /// Its folder; absolute.
    pub dir: PathBuf,
    /// The most bytes of files in it.
    pub max_bytes: u64,
}

/// How this process proves who it is, and whom it trusts.
#[derive(Clone, Default)]
pub struct Credentials {
    /// `None`: connections are not encrypted.
    pub tls: Option<Tls>,
    /// Name and password of a user of etcd.
    pub login: Option<(String, String)>,
}

/// PEM texts.
#[derive(Clone)]
pub struct Tls {
    /// The authority that signs etcd's certificates.
    pub ca: Vec<u8>,
    /// The certificate and the key that etcd knows this process by.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
}

/// Reads the credentials; called for every connection, so that new files are used without a restart. The error says which
/// file cannot be read.
pub type ReadCredentials = Arc<dyn Fn() -> Result<Credentials, String> + Send + Sync>;
