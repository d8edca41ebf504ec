//! `inspector`.

use std::net::SocketAddr;

use promptd_core::{
    finding::Code,
    yaml::{Faults, Fields, Mark},
};

use super::{BY_FLAG, read::value};
use crate::config::{Config, INSPECTOR_PORT, InspectorListen, Overrides, inspector_listen};

/// Where it listens, and where that is said.
pub(super) fn listen(mut fields: Fields<'_, '_>, grpc: SocketAddr, overrides: &Overrides) -> (InspectorListen, Mark) {
    let at = fields.mark("listen");
    let given = value(&mut fields, "listen", inspector_listen);
    fields.finish();
    match overrides.inspector {
        Some(by_flag) => (by_flag, BY_FLAG),
        None => (given.unwrap_or_else(|| by_default(grpc)), at),
    }
}

/// Beside a service that is for this machine alone. One that picks its port is a program's own, which may run many.
fn by_default(grpc: SocketAddr) -> InspectorListen {
    if grpc.ip().is_loopback() && grpc.port() != 0 {
        InspectorListen::Default(SocketAddr::new(grpc.ip(), INSPECTOR_PORT))
    } else {
        InspectorListen::Off
    }
}

/// Where other machines reach it, it must know who reads, and nobody else may read along.
pub(super) fn check_is_private(config: &Config, at: Mark, faults: &Faults) {
    let InspectorListen::At(address) = config.inspector else { return };
    if address.ip().is_loopback() || config.tokens_file.is_some() && config.tls.is_some() {
        return;
    }
    let given = if at == BY_FLAG { format!("`--inspector {address}`") } else { address.to_string() };
    let message = format!(
        "{given} can be reached from other machines, which would see every prompt: set `auth.tokens_file` and `tls`, or \
         `insecure: true` to allow it"
    );
    faults.add(Code::InvalidValue, at, message);
}
