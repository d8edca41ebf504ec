//! The gRPC service: the only code that knows tonic.

pub mod api;
mod ask;
mod auth;
mod backend;
mod call;
mod codec;
mod encoded;
mod error;
mod findings;
mod gather;
mod health;
mod lifecycle;
mod listen;
mod live;
mod method;
mod observer;
mod options;
mod origin;
mod page;
mod profile_service;
mod prompt_service;
mod reflection;
mod reply;
mod server;
mod services;
mod skills;
mod socket;
mod stream;
mod tls;
mod view;
mod watch;
mod web;
mod workspace_service;

pub use auth::{Access, Token, Tokens};
pub use backend::{Backend, Clock, Profiles, ReadSkillFile};
pub use encoded::Encoded;
pub use error::DOMAIN;
pub use lifecycle::{Lifecycle, Phase};
pub use live::Live;
pub use observer::{Call, Observer, Unobserved};
pub use options::Options;
pub use origin::{Origin, Origins};
pub use server::{Ended, Server, ServerError};
pub use tls::{Pem, Tls, TlsError};

use self::{auth::Caller, error::Error};
use promptd_core::id::Id;

/// Who sent a request: [`call`] has put it there.
fn caller<T>(request: &tonic::Request<T>) -> Caller {
    request.extensions().get().cloned().unwrap_or_default()
}

/// The workspace that a request names, if its caller may see it.
fn workspace(raw: &str, caller: &Caller) -> Result<Id, Error> {
    let id = Id::parse(raw).map_err(|e| Error::invalid("workspace_id", e.to_string()))?;
    caller.must_see(&id)?;
    Ok(id)
}
