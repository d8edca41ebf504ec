//! `promptd mcp`: one workspace for a client of the Model Context Protocol that starts this command.

use std::{
    io::IsTerminal as _,
    process::ExitCode,
    sync::{Arc, OnceLock},
};

use promptd::{
    config::{Config, Overrides},
    grpc::{Access, NoTelemetry, Server},
};
use promptd_mcp::serve_stdio;
use promptd_source::store::Store;

use super::{
    CommandResult, Failure,
    logs::Logs,
    serve::{self, Served, StopSignals},
};

/// Serves skills, context files and prompts to an agent or editor, by the Model Context Protocol.
///
/// The client starts this command and speaks with it on standard input and output; it ends when the client closes them. Files are
/// served as they are saved. The log goes to standard error. Without --config, --workspaces and --workspace it reads
/// `config/promptd.yaml` of the current folder. A running `promptd serve` serves the same at `/mcp`.
#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    served: Served,
    /// Which workspace, where there are several.
    #[arg(long, value_name = "ID")]
    id: Option<String>,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let (loaded, _) = arguments.served.load(Overrides::default())?;
    if std::io::stdin().is_terminal() {
        eprintln!(
            "note: this is for clients of the Model Context Protocol, which start it: it waits for their requests, as JSON"
        );
    }
    serve::run_to_end(&loaded.config.log, |logs| serve(&loaded.config, arguments.id.clone(), logs))
}

/// That it is clear which workspace is meant, and that it is there.
fn known(store: &Store, id: Option<&str>) -> Result<(), Failure> {
    let all = store.list();
    let ids: Vec<_> = all.iter().map(|(id, _)| id.as_str()).collect();
    let there_are =
        || if ids.is_empty() { "there is none".to_owned() } else { format!("there are {}", ids.join(", ")) };
    match id {
        Some(id) if !ids.contains(&id) => Err(Failure::run(format!("no workspace `{id}`; {}", there_are()))),
        None if ids.len() > 1 => Err(Failure::run(format!("several workspaces: say which with --id; {}", there_are()))),
        _ => Ok(()),
    }
}

async fn serve(config: &Config, id: Option<String>, logs: Logs) -> CommandResult {
    let mut stop = StopSignals::listen()?;
    let (store, source) = (Arc::new(serve::store(config)), Arc::new(OnceLock::new()));
    serve::rescan_on_hangup(Arc::clone(&source))?;
    let backend = serve::backend(config, None, &store, &source, &Arc::new(Access::open()), Arc::new(NoTelemetry));
    let server = Server::of_process(config.grpc.clone(), backend);
    let calls = server.mcp_calls().map_err(|error| serve::server_failure(&error))?;
    let status = Arc::default();
    let loaded = serve::load(config, config.source.clone(), None, &store, &status, &logs, &mut stop).await?;
    let Some(started) = loaded else { return Ok(ExitCode::SUCCESS) };
    source.get_or_init(|| started);
    known(&store, id.as_deref())?;
    server.lifecycle().ready();
    tokio::select! {
        ended = serve_stdio(calls, id) => {
            ended.map(|()| ExitCode::SUCCESS).map_err(|error| Failure::input(format!("error: {error}")))
        }
        () = stop.next() => Ok(ExitCode::SUCCESS),
    }
}
