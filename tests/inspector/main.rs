//! The inspector's address from outside: what it answers, to whom, and with which headers; and the commands that open it.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod commands;
mod drain;
mod headers;
#[allow(dead_code, reason = "shared with the tests of RPCs")]
#[path = "../rpc/http.rs"]
mod http;
mod limits;
mod paths;
#[allow(dead_code, reason = "shared with the tests of RPCs")]
#[path = "../rpc/rig.rs"]
mod rig;
#[allow(dead_code, reason = "shared with the tests of the command line")]
#[path = "../cli/support.rs"]
mod support;
mod tls;
mod tokens;
mod visitors;

use std::net::SocketAddr;

use promptd::grpc::{Access, Tokens};
use tonic::codegen::http::Version;

use self::{
    http::Caller,
    rig::{Rig, Setup},
};

const ASSEMBLE: &str = "/promptd.v1.PromptService/AssemblePrompt";
const LIST: &str = "/promptd.v1.WorkspaceService/ListWorkspaces";
const WATCH: &str = "/promptd.v1.WorkspaceService/WatchWorkspace";
const JSON: &str = "content-type: application/json";
const HARBOR: &str = r#"{"workspaceId": "harbor"}"#;

/// Sees everything.
const ALL: &str = "authorization: Bearer operator-token-0001";
/// Sees `harbor` alone.
const ONE: &str = "authorization: Bearer harbour-token-00002";

const TOKENS: &str = "tokens:
  - {name: operator, token: operator-token-0001}
  - {name: harbour, token: harbour-token-00002, workspaces: [harbor], skills: [git]}
";

/// A server with the inspector; with tokens, or without.
async fn start(tokens: bool) -> Rig {
    start_with(tokens, |_| ()).await
}

async fn start_with(tokens: bool, change: impl FnOnce(&mut Setup)) -> Rig {
    let access = if tokens { Access::with(Tokens::parse(TOKENS, "tokens.yaml").unwrap()) } else { Access::open() };
    let mut setup = Setup { access, inspected: true, ..Setup::default() };
    change(&mut setup);
    Rig::start_with(setup).await
}

fn address(rig: &Rig) -> SocketAddr {
    rig.inspector.unwrap()
}

/// A caller of the inspector.
fn browser(rig: &Rig) -> Caller {
    Caller::new(address(rig), Version::HTTP_11)
}
