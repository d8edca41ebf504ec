//! The gRPC service: the only code that knows tonic.

mod options;

pub use options::{Options, Web};
