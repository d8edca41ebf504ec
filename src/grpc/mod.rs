//! The gRPC service: the only code that knows tonic.
//!
//! Four strata, each of which uses those below: [`protocols`] makes a gRPC call of what comes by Connect or gRPC-Web, and has
//! the pages of the inspector, [`services`] answer, [`pipeline`] is what happens around every call, and [`transport`] accepts connections. [`server`] puts
//! them together; [`options`], [`limits`], [`lifecycle`], [`telemetry`] and [`tracer`] are used by all. `remote` calls the service of another
//! promptd, for the command line.

mod budget;
mod deadline;
mod envelope;
mod hosts;
#[cfg(feature = "inspector")]
mod inspector;
mod lifecycle;
mod limits;
mod options;
mod origin;
mod pipeline;
mod protocols;
#[cfg(feature = "etcd")]
mod remote;
mod server;
mod services;
mod telemetry;
mod tracer;
mod transport;

pub use hosts::Host;
#[cfg(feature = "inspector")]
pub use inspector::Inspector;
pub use lifecycle::{Lifecycle, Phase};
pub use limits::Limits;
pub use options::Options;
pub use origin::{Origin, Origins};
pub use pipeline::{
    DOMAIN,
    auth::{Access, Token, Tokens},
    method_names,
};
#[cfg(feature = "etcd")]
pub use remote::{Remote, RemoteAddress, RemoteError};
pub use server::{Ended, Server, ServerError};
#[cfg(feature = "memory")]
pub use services::Memory;
pub use services::{Answered, Backend, Clock, FinishRecord, Notice, Profiles, ReadWorkspaceFile, Record, api};
#[cfg(feature = "etcd")]
pub use services::{CheckPublications, Publisher};
pub use telemetry::{FinishedCall, NoTelemetry, REFUSALS, Telemetry};
pub use tracer::{TraceParent, TracedCall, TracedPrompt, Tracer};
pub use transport::{Pem, Tls, TlsError};
