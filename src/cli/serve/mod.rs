//! `promptd serve`: bind, load, open the door, and stop in good order.

mod follow;
mod secrets;

use std::{
    io::Write as _,
    net::SocketAddr,
    path::PathBuf,
    process::ExitCode,
    sync::{Arc, OnceLock},
};

use jiff::Timestamp;
use prometheus_client::registry::Registry;
use promptd::{
    admin::{self, Census, Metrics, Pages},
    config::{Config, Overrides, log_level},
    grpc::{Access, Backend, Ended, Lifecycle, Phase, Server, ServerError, Tls},
};
use promptd_source::{Source, store::Store};
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
    task::JoinHandle,
};
use tracing_subscriber::filter::Targets;

use super::{
    Failure, Outcome,
    load::of_profiles,
    logs::{self, Logs},
    settings::{self, ConfigFile, Loaded},
};

/// Runs the service.
///
/// Without a word about workspaces it takes `config/promptd.yaml` of the current folder. Once it takes calls it prints
/// one line on standard output, `promptd listening on ADDRESS`; logs go to standard error. SIGTERM and SIGINT let
/// calls end, and stop it.
#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    config: ConfigFile,
    /// A folder; each folder in it is a workspace, its name the id.
    #[arg(long, value_name = "DIR")]
    workspaces: Option<PathBuf>,
    /// A single workspace; without an id the folder's name is the id. Can be repeated.
    #[arg(long, value_name = "[ID=]DIR")]
    workspace: Vec<String>,
    /// Where to listen; port 0 picks a free one.
    #[arg(long, value_name = "ADDR", env = "PROMPTD_LISTEN", hide_env_values = true, value_parser = settings::address)]
    listen: Option<SocketAddr>,
    /// Where to serve metrics, readiness and the settings by HTTP.
    #[arg(long, value_name = "ADDR", value_parser = settings::address)]
    admin: Option<SocketAddr>,
    /// The log level, such as `debug` or `info,promptd_source=debug`.
    #[arg(long, value_name = "LEVEL", env = "PROMPTD_LOG", hide_env_values = true, value_parser = level)]
    log: Option<(String, Targets)>,
}

fn level(text: &str) -> Result<(String, Targets), String> {
    log_level(text).map(|level| (text.to_owned(), level)).map_err(|wanted| format!("must be {wanted}"))
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let overrides = overrides(arguments)?;
    // Workspaces named by flags are a whole config of their own, wherever the command is run.
    let by_flags = arguments.config.path.is_none() && (overrides.root.is_some() || !overrides.single.is_empty());
    let loaded = if by_flags {
        Loaded { config: settings::parse(None, "", &overrides)?, file: None }
    } else {
        settings::load(&arguments.config, &overrides, false)?
    };
    if loaded.config.has_no_workspaces() {
        return Err(Failure::input(
            "error: nothing to serve: set `workspaces.root` or `workspaces.single`, or give --workspaces or --workspace",
        ));
    }
    let secrets = secrets::read(&loaded.config)?;
    let logs = logs::start(&loaded.config.log);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|e| Failure::input(format!("error: cannot start: {e}")))?;
    let ended = runtime.block_on(serve(loaded, overrides, secrets, logs));
    // A call that was cut off, or a load, must not hold the process.
    runtime.shutdown_background();
    ended
}

fn overrides(arguments: &Arguments) -> Result<Overrides, Failure> {
    Ok(Overrides {
        listen: arguments.listen,
        admin: arguments.admin,
        root: arguments.workspaces.as_deref().map(settings::folder).transpose()?,
        single: arguments.workspace.iter().map(|text| settings::workspace(text)).collect::<Result<_, _>>()?,
        log_level: arguments.log.clone(),
    })
}

/// The secrets that the settings name files of.
struct Secrets {
    access: Arc<Access>,
    tls: Option<Arc<Tls>>,
}

async fn serve(loaded: Loaded, overrides: Overrides, secrets: Secrets, logs: Logs) -> Outcome {
    let config = &loaded.config;
    let mut stop = Stop::listen()?;
    let store = Arc::new(Store::with_history(config.revisions));
    let source = Arc::new(OnceLock::new());
    look_again_on_hangup(Arc::clone(&source))?;
    let mut registry = Registry::with_prefix("promptd");
    let metrics = Metrics::register(&mut registry);
    registry.register_collector(Box::new(Census::new(Arc::clone(&store), Arc::clone(&source))));

    let backend = backend(config, &store, &source, &secrets, &metrics);
    let server = Server::bind(config.grpc.clone(), backend, secrets.tls.clone()).await.map_err(|e| cannot(&e))?;
    let (address, lifecycle, limits) = (server.local_addr(), server.lifecycle(), server.limits());
    let shown = follow::Shown::new(config);
    let admin = serve_admin(config, registry, &lifecycle, &shown).await?;
    let serving = tokio::spawn(server.serve());

    let loading = {
        let (options, store) = (config.source.clone(), Arc::clone(&store));
        tokio::task::spawn_blocking(move || Source::start(options, store))
    };
    let started = tokio::select! {
        started = loading => started.map_err(|e| Failure::input(format!("error: loading failed: {e}")))?,
        () = stop.asked() => return Ok(ExitCode::SUCCESS),
    };
    let started =
        started.map_err(|findings| Failure::input(settings::report_files(&of_profiles(&findings, config))))?;
    let started = source.get_or_init(|| started);
    let following = follow::Following { source: Arc::clone(&source), limits, logs, metrics, shown, overrides };
    follow::start(loaded.file.clone(), config, &secrets, following);

    lifecycle.ready();
    announce(address, admin.as_ref().map(|(address, _)| *address), started);
    let ended = until_stopped(serving, &lifecycle, &mut stop).await;
    if let Some((_, admin)) = admin {
        admin.abort();
    }
    ended
}

fn backend(
    config: &Config,
    store: &Arc<Store>,
    source: &Arc<OnceLock<Source>>,
    secrets: &Secrets,
    metrics: &Arc<Metrics>,
) -> Backend {
    let (source, options) = (Arc::clone(source), config.source.clone());
    Backend {
        store: Arc::clone(store),
        // Calls are let in only once the source has started.
        profiles: Arc::new(move || source.get().map(Source::profiles).unwrap_or_default()),
        read_skill_file: Arc::new(move |root, skill, file| {
            promptd_source::read_skill_file(root, skill, file, &options)
        }),
        clock: Arc::new(Timestamp::now),
        access: Arc::clone(&secrets.access),
        observer: Arc::clone(metrics) as _,
    }
}

/// Serves the admin pages, if they are wanted, from before the workspaces are loaded.
async fn serve_admin(
    config: &Config,
    registry: Registry,
    lifecycle: &Arc<Lifecycle>,
    shown: &follow::Shown,
) -> Result<Option<(SocketAddr, JoinHandle<()>)>, Failure> {
    let Some(address) = config.admin else { return Ok(None) };
    let told = |e: std::io::Error| Failure::input(format!("error: cannot listen on {address} for `admin.listen`: {e}"));
    let listener = TcpListener::bind(address).await.map_err(told)?;
    let address = listener.local_addr().map_err(told)?;
    let (lifecycle, shown) = (Arc::clone(lifecycle), shown.clone());
    let readiness = move || match lifecycle.phase() {
        Phase::Starting => Err("starting"),
        Phase::Serving => Ok(()),
        Phase::Leaving | Phase::Closing => Err("stopping"),
    };
    let pages = Pages { registry, readiness: Box::new(readiness), config: Box::new(move || shown.get()) };
    let serving = tokio::spawn(async move {
        if let Err(error) = admin::serve(listener, pages).await {
            tracing::error!(%error, "the admin pages ended");
        }
    });
    Ok(Some((address, serving)))
}

/// The one line on standard output, and one in the log.
fn announce(address: SocketAddr, admin: Option<SocketAddr>, source: &Source) {
    let status = source.status();
    let admin = admin.map(tracing::field::display);
    tracing::info!(%address, admin, workspaces = status.workspaces(), watch = ?status.mode(), "serving");
    // Whoever started the service may have closed its end: then nobody waits for the line.
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "promptd listening on {address}").and_then(|()| out.flush());
}

async fn until_stopped(
    mut serving: JoinHandle<Result<Ended, ServerError>>,
    lifecycle: &Lifecycle,
    stop: &mut Stop,
) -> Outcome {
    let ended = tokio::select! {
        ended = &mut serving => ended,
        () = stop.asked() => {
            tracing::info!("stopping: calls may end");
            lifecycle.drain();
            tokio::select! {
                ended = &mut serving => ended,
                () = stop.asked() => {
                    tracing::warn!("asked to stop again: calls are cut off");
                    return Ok(ExitCode::SUCCESS);
                }
            }
        }
    };
    match ended {
        Ok(Ok(ended)) => {
            tracing::info!(?ended, "stopped");
            Ok(ExitCode::SUCCESS)
        }
        Ok(Err(error)) => Err(cannot(&error)),
        Err(error) => Err(Failure::input(format!("error: the server ended: {error}"))),
    }
}

fn cannot(error: &ServerError) -> Failure {
    Failure::input(format!("error: {error}"))
}

/// SIGHUP, by which operators ask for a reload, looks at every file again; untouched it would end the process.
fn look_again_on_hangup(source: Arc<OnceLock<Source>>) -> Result<(), Failure> {
    let mut hangup = listen(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            tracing::info!("SIGHUP: looking at every file again");
            if let Some(source) = source.get() {
                source.rescan();
            }
        }
    });
    Ok(())
}

fn listen(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|e| Failure::input(format!("error: cannot wait for signals: {e}")))
}

/// SIGTERM and SIGINT.
struct Stop {
    terminate: Signal,
    interrupt: Signal,
}

impl Stop {
    fn listen() -> Result<Self, Failure> {
        Ok(Self { terminate: listen(SignalKind::terminate())?, interrupt: listen(SignalKind::interrupt())? })
    }

    /// Waits for the next one.
    async fn asked(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
