//! What happens around every call, whatever it calls: who calls, whether they may, for how long, and how it ended.

pub(super) mod auth;
mod blocking;
mod body;
mod call;
mod error;
mod failure;
mod metadata;
mod method;
mod receive;
mod record;
mod status;
mod trace;

pub use error::DOMAIN;
pub use method::method_names;

pub(super) use blocking::{run_blocking, run_heavy};
pub(super) use call::{Calls, ResponseFuture};
pub(super) use error::{Error, code_name};
pub(super) use method::{MAX_REFLECTION_BYTES, Method, Service};
#[cfg(feature = "mcp")]
pub(super) use receive::REQUEST_TIMEOUT;
#[cfg(feature = "memory")]
pub(super) use receive::{LARGE_BYTES, MANY_VALUES};
pub(super) use receive::{TakesLong, collect, gunzip};
pub(super) use status::respond;
