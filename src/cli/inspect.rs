//! `promptd inspect`: one folder, in the inspector.

use std::{
    io::Write as _,
    net::{Ipv4Addr, SocketAddr},
    process::{Command, ExitCode, Stdio},
    sync::{Arc, OnceLock},
    time::Duration,
};

use promptd::{
    config::{Config, INSPECTOR_PORT, Overrides},
    grpc::{Access, Inspector, NoTelemetry, Options, Server},
};

use super::{
    CommandResult, Failure, folder, load,
    logs::Logs,
    serve::{self, StopSignals, inspector},
    settings::{self, ConfigFile},
};

/// Shows in a browser what the model is told from one folder, live while its files are edited.
///
/// It prints `inspector at URL` to standard output, and serves that page alone until SIGINT or SIGTERM; the log goes to standard
/// error. Settings such as `profiles` are those of the config; its workspaces are not served.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// A workspace, or a folder of workspaces; `ID=DIR` gives a workspace an id other than its name.
    #[arg(value_name = "DIR")]
    folder: String,
    /// The address, which only this machine reaches; port 0 picks a free one. Default: 127.0.0.1:50052, or a free port where that is taken.
    #[arg(long, value_name = "ADDR", value_parser = own_address)]
    listen: Option<SocketAddr>,
    /// Opens the page in the browser.
    #[arg(long)]
    open: bool,
    #[command(flatten)]
    config: ConfigFile,
}

/// An address that only this machine reaches: here nobody needs a token.
fn own_address(text: &str) -> Result<SocketAddr, String> {
    let address = settings::address(text)?;
    if address.ip().is_loopback() {
        Ok(address)
    } else {
        Err("must be an address of this machine alone, such as `127.0.0.1:50052`; for others, `promptd serve --inspector` asks for tokens".to_owned())
    }
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let mut config = settings::load(&arguments.config, &Overrides::default(), true)?.config;
    serve_only(&arguments.folder, &mut config)?;
    serve::run_to_end(&config.log, |logs| inspect(&config, arguments, logs))
}

/// Makes a folder all that a config serves.
fn serve_only(argument: &str, config: &mut Config) -> Result<(), Failure> {
    let (single, shown) = (load::single(argument, config)?, settings::folder_of(argument));
    folder::must_exist(&single.folder, shown)?;
    let is_root = folder::is_not_a_workspace(&single.folder, shown).is_some();
    if let Some(note) = folder::lacks_files(&single.folder, shown).filter(|_| !is_root) {
        eprintln!("note: {note}");
    }
    (config.source.roots, config.source.workspaces) =
        if is_root { (vec![single.folder], Vec::new()) } else { (Vec::new(), vec![(single.id, single.folder)]) };
    Ok(())
}

async fn inspect(config: &Config, arguments: &Arguments, logs: Logs) -> CommandResult {
    let mut stop = StopSignals::listen()?;
    let (store, source) = (Arc::new(serve::store(config)), Arc::new(OnceLock::new()));
    serve::rescan_on_hangup(Arc::clone(&source))?;
    let inspector = bind(arguments.listen, &logs).await?;
    let url = inspector::url(inspector.address(), false);
    let backend = serve::backend(config, None, &store, &source, &Arc::new(Access::open()), Arc::new(NoTelemetry));
    // No balancer is waited for at the end.
    let options = Options { drain_delay: Duration::ZERO, ..serve::within_limit(&config.grpc) };
    let server = Server::of_inspector(inspector, options, backend);
    let lifecycle = server.lifecycle();
    let serving = tokio::spawn(server.serve());
    let status = Arc::default();
    let loaded = serve::load(config, config.source.clone(), None, &store, &status, &logs, &mut stop).await?;
    let Some(started) = loaded else { return Ok(ExitCode::SUCCESS) };
    source.get_or_init(|| started);
    lifecycle.ready();
    // A closed standard output is not an error: then nobody waits for the line.
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "inspector at {url}").and_then(|()| out.flush());
    drop(out);
    if arguments.open {
        open(url, logs);
    }
    serve::until_stopped(serving, &lifecycle, &mut stop).await
}

/// Takes the address that is given, or the default one, or any where that is taken.
async fn bind(listen: Option<SocketAddr>, logs: &Logs) -> Result<Inspector, Failure> {
    let own = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let bound = inspector::at(listen.unwrap_or(own(INSPECTOR_PORT))).await;
    match (bound, listen) {
        (Err(error), None) => {
            logs.print(&format!("note: {error}: a free port is used instead"));
            inspector::at(own(0)).await.map_err(|error| serve::server_failure(&error))
        }
        (bound, _) => bound.map_err(|error| serve::server_failure(&error)),
    }
}

/// Opens the page in the browser that the desktop has chosen. Where there is none, the reader has the address.
fn open(url: String, logs: Logs) {
    const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    tokio::task::spawn_blocking(move || {
        let mut command = Command::new(OPENER);
        command.arg(&url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let opened = command.status();
        let why = match opened {
            Ok(status) if status.success() => return,
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        logs.print(&format!("note: {OPENER} did not open {url}: {why}"));
    });
}
