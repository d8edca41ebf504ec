//! `promptd serve`: bind, load, serve, and drain.

mod arguments;
mod descriptors;
#[cfg(feature = "etcd")]
pub(super) mod etcd;
#[cfg(feature = "inspector")]
pub(super) mod inspector;
#[cfg(feature = "memory")]
mod memory;
#[cfg(feature = "memory")]
mod notes;
#[cfg(feature = "otlp")]
mod otlp;
#[cfg(feature = "etcd")]
mod publisher;
#[cfg(feature = "record")]
mod record;
mod reload;
mod secrets;
mod signals;
#[cfg(feature = "memory")]
mod summaries;

use std::{
    convert::Infallible,
    fmt::Write as _,
    io::{self, Write as _},
    net::SocketAddr,
    process::ExitCode,
    sync::{Arc, OnceLock},
    time::Duration,
};

use jiff::Timestamp;
use prometheus_client::{metrics::gauge::Gauge, registry::Registry};
use promptd::{
    admin::{self, Metrics, Pages, SourceCollector},
    config::{Config, Log, LogFormat, Overrides},
    grpc::{Access, Backend, Ended, Lifecycle, Phase, Server, ServerError, Telemetry, Tls},
};
use promptd_core::text::thousands;
use promptd_source::{External, Source, Status, store::Store};
use tokio::{net::TcpListener, task::JoinHandle};

pub(super) use self::arguments::Arguments;
#[cfg(feature = "mcp")]
pub(super) use self::arguments::Served;
#[cfg(feature = "inspector")]
pub(super) use self::descriptors::within_limit;
pub(super) use self::signals::{StopSignals, rescan_on_hangup};
use super::{
    CommandResult, Failure,
    load::report_profiles,
    logs::{self, Logs},
    settings::{self, Loaded},
};

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let (loaded, overrides) = arguments.load()?;
    #[cfg(feature = "etcd")]
    etcd::check_out(&loaded.config)?;
    let secrets = secrets::read(&loaded.config)?;
    run_to_end(&loaded.config.log, |logs| serve(&loaded, overrides, secrets, logs))
}

/// Starts the log and a runtime, and runs a service to its end.
pub(super) fn run_to_end<F: Future<Output = CommandResult>>(
    log: &Log,
    service: impl FnOnce(Logs) -> F,
) -> CommandResult {
    let logs = logs::start(log).map_err(|e| Failure::input(format!("error: cannot start: {e}")))?;
    let _flushed = logs.flush_at_end();
    descriptors::raise_limit();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|e| Failure::input(format!("error: cannot start: {e}")))?;
    let ended = runtime.block_on(service(logs.clone()));
    // The process does not wait for a call that was cut off, or for a load.
    runtime.shutdown_background();
    // Nor for a reader of standard error, to which the failure goes like the log.
    Ok(ended.unwrap_or_else(|failure| {
        logs.print(failure.text.trim_end());
        failure.code
    }))
}

/// What was read from the files of tokens and certificates.
struct Secrets {
    access: Arc<Access>,
    tls: Option<Arc<Tls>>,
}

async fn serve(loaded: &Loaded, overrides: Overrides, secrets: Secrets, logs: Logs) -> CommandResult {
    let config = &loaded.config;
    arguments::warn_of_settings(config, &[]);
    arguments::warn_of_folders(config);
    let mut stop = StopSignals::listen()?;
    let (store, status) = (Arc::new(store(config)), Arc::new(Status::default()));
    let source = Arc::new(OnceLock::new());
    rescan_on_hangup(Arc::clone(&source))?;
    let mut registry = Registry::with_prefix("promptd");
    let metrics = Metrics::register(&mut registry);
    registry.register("log_lines_dropped", "Log lines that standard error did not take", logs.dropped());
    registry.register_collector(Box::new(SourceCollector::new(Arc::clone(&store), Arc::clone(&status))));

    #[cfg(feature = "record")]
    let recording = record::start(config, &mut registry)?;
    #[cfg(feature = "record")]
    let record = recording.as_ref().map(record::Recording::hook);
    #[cfg(not(feature = "record"))]
    let record = None;
    let keep_origins = record.is_some();
    #[cfg(feature = "otlp")]
    let spans = otlp::start(config, &mut registry)?;
    #[cfg(feature = "otlp")]
    let tracer = spans.as_ref().map(otlp::Spans::hook);
    #[cfg(not(feature = "otlp"))]
    let tracer = None;
    #[cfg(feature = "etcd")]
    let fleet = etcd::prepare(config, &mut registry);
    #[cfg(feature = "etcd")]
    let (external, notice) = (fleet.clone().map(|fleet| fleet as _), fleet.as_ref().map(|fleet| fleet.notice()));
    #[cfg(not(feature = "etcd"))]
    let (external, notice) = (None, None);
    let backend = Backend {
        record,
        tracer,
        notice,
        ..backend(config, external.clone(), &store, &source, &secrets.access, Arc::clone(&metrics) as _)
    };
    let current = reload::CurrentConfig::new(config);
    #[cfg(feature = "etcd")]
    let backend = Backend { publisher: fleet.as_ref().map(|fleet| publisher::of(fleet, &current, &source)), ..backend };
    #[cfg(feature = "memory")]
    let opening = memory::start(config, external.clone(), &store, &mut registry);
    #[cfg(feature = "memory")]
    let Some(remembering) = unless_stopped(opening, &mut stop).await? else { return Ok(ExitCode::SUCCESS) };
    #[cfg(feature = "memory")]
    let backend = Backend { memory: remembering.as_ref().map(|it| it.memory.clone()), ..backend };
    let options = descriptors::within_limit(&config.grpc);
    let server = Server::bind(options, backend, secrets.tls.clone()).await.map_err(|e| server_failure(&e))?;
    #[cfg(feature = "inspector")]
    let inspector = inspector::bind(config).await?;
    #[cfg(feature = "inspector")]
    let page = inspector.as_ref().map(|inspector| inspector::url(inspector.address(), secrets.tls.is_some()));
    #[cfg(feature = "inspector")]
    let server = server.with_inspector(inspector);
    #[cfg(not(feature = "inspector"))]
    let page = None;
    let (address, lifecycle, limits) = (server.local_addr(), server.lifecycle(), server.limits());
    #[cfg(feature = "etcd")]
    let unready = fleet.clone().map(|fleet| Box::new(move || fleet.unready()) as _);
    #[cfg(not(feature = "etcd"))]
    let unready = None;
    let admin = serve_admin(config, registry, &lifecycle, &status, &current, unready).await?;
    let serving = tokio::spawn(server.serve());

    let source_options = promptd_source::Options { keep_origins, ..config.source.clone() };
    #[cfg(feature = "etcd")]
    if etcd::start(fleet.as_ref(), &mut stop).await?.is_none() {
        return Ok(ExitCode::SUCCESS);
    }
    let loaded_all = load(config, source_options, external, &store, &status, &logs, &mut stop).await?;
    let Some(started) = loaded_all else { return Ok(ExitCode::SUCCESS) };
    let started = source.get_or_init(|| started);
    let reload =
        reload::Reload { source: Arc::clone(&source), limits, logs: logs.clone(), metrics, current, overrides };
    reload::start(loaded.file.clone(), config, &secrets, reload);
    #[cfg(feature = "etcd")]
    if let Some(fleet) = fleet {
        fleet.tell(Arc::clone(&source));
    }

    lifecycle.ready();
    #[cfg(feature = "memory")]
    let _working = remembering.and_then(|it| it.pipeline).map(promptd_memory_pipeline::Pipeline::start);
    if let Some(url) = page.as_ref().filter(|_| config.log.format == LogFormat::Text) {
        logs.print(&format!("inspector at {url}"));
    }
    announce(address, admin.as_ref().map(|(address, _)| *address), page, started);
    let ended = until_stopped(serving, &lifecycle, &mut stop).await;
    #[cfg(feature = "record")]
    if let Some(recording) = recording {
        recording.finish();
    }
    #[cfg(feature = "otlp")]
    if let Some(spans) = spans {
        spans.finish().await;
    }
    if let Some((_, admin)) = admin {
        admin.abort();
    }
    ended
}

/// What takes long at the start; `None`: the process is asked to stop meanwhile.
#[cfg(feature = "memory")]
async fn unless_stopped<T>(
    work: impl Future<Output = Result<T, Failure>>,
    stop: &mut StopSignals,
) -> Result<Option<T>, Failure> {
    tokio::select! {
        done = work => done.map(Some),
        () = stop.next() => Ok(None),
    }
}

/// Loads the workspaces, and starts to follow their files; `None`: the process is asked to stop meanwhile.
pub(super) async fn load(
    config: &Config,
    options: promptd_source::Options,
    external: Option<Arc<dyn External>>,
    store: &Arc<Store>,
    status: &Arc<Status>,
    logs: &Logs,
    stop: &mut StopSignals,
) -> Result<Option<Source>, Failure> {
    let (store, shared) = (Arc::clone(store), Arc::clone(status));
    let loading = tokio::task::spawn_blocking(move || match external {
        Some(external) => Source::start_beside(external, options, store, shared),
        None => Source::start(options, store, shared),
    });
    let started = tokio::select! {
        started = loading => started.map_err(|e| Failure::input(format!("error: loading failed: {e}")))?,
        () = stop.next() => return Ok(None),
        never = show_progress(status, logs) => match never {},
    };
    logs.show("");
    let report = |findings: Vec<_>| Failure::input(settings::report_files(&report_profiles(&findings, config)));
    started.map(Some).map_err(report)
}

/// Shows on a terminal how many workspaces are loaded, for as long as it is polled.
async fn show_progress(status: &Status, logs: &Logs) -> Infallible {
    const EVERY: Duration = Duration::from_millis(200);
    let mut ticks = tokio::time::interval(EVERY);
    loop {
        ticks.tick().await;
        logs.show(&loaded_so_far(status));
    }
}

fn loaded_so_far(status: &Status) -> String {
    let (loaded, known) = status.progress();
    format!("workspaces loaded: {} of {}", thousands(loaded), thousands(known))
}

/// How many workspaces there are, how much of what is followed cannot be watched, and what that means.
fn served(status: &Status) -> String {
    let count = |gauge: &Gauge| thousands(gauge.get().try_into().unwrap_or_default());
    let mut line = format!("workspaces: {}, polled: {}", count(&status.workspaces), count(&status.polled));
    if status.polled.get() > 0 && status.poll_round.get() > 0.0 {
        let _ = write!(line, ", their edits take up to {:.0} s", status.poll_round.get().ceil());
    }
    if status.watch_limit_needed.get() > 0 {
        let _ = write!(line, "; fs.inotify.max_user_watches must be at least {}", count(&status.watch_limit_needed));
    }
    line
}

/// What the workspaces are kept in.
pub(super) fn store(config: &Config) -> Store {
    Store::with_history(config.revisions).with_resident(config.resident)
}

pub(super) fn backend(
    config: &Config,
    external: Option<Arc<dyn External>>,
    store: &Arc<Store>,
    source: &Arc<OnceLock<Source>>,
    access: &Arc<Access>,
    telemetry: Arc<dyn Telemetry>,
) -> Backend {
    let (source, options) = (Arc::clone(source), config.source.clone());
    Backend {
        store: Arc::clone(store),
        // No call is served before the source has started.
        profiles: Arc::new(move || source.get().map(Source::profiles).unwrap_or_default()),
        read_workspace_file: Arc::new(move |snapshot, side, path| match &external {
            Some(external) => promptd_source::read_file_beside(&**external, snapshot, side, path, &options),
            None => promptd_source::read_workspace_file(snapshot, path, &options),
        }),
        clock: Arc::new(Timestamp::now),
        #[cfg(feature = "memory")]
        memory: None,
        #[cfg(feature = "etcd")]
        publisher: None,
        record: None,
        access: Arc::clone(access),
        telemetry,
        tracer: None,
        notice: None,
    }
}

/// Serves the admin pages, also while the workspaces are loaded.
async fn serve_admin(
    config: &Config,
    registry: Registry,
    lifecycle: &Arc<Lifecycle>,
    status: &Arc<Status>,
    current: &reload::CurrentConfig,
    unready: Option<Box<dyn Fn() -> Option<String> + Send + Sync>>,
) -> Result<Option<(SocketAddr, JoinHandle<()>)>, Failure> {
    let Some(address) = config.admin else { return Ok(None) };
    let failure = |e: io::Error| {
        let help = bind_help(&e, "--admin");
        Failure::input(format!("error: cannot listen on {address} for `admin.listen`: {e}{help}"))
    };
    let listener = TcpListener::bind(address).await.map_err(failure)?;
    let address = listener.local_addr().map_err(failure)?;
    let (lifecycle, status, current) = (Arc::clone(lifecycle), Arc::clone(status), current.clone());
    let readiness = move || match lifecycle.phase() {
        Phase::Starting => Err(format!("starting; {}", loaded_so_far(&status))),
        Phase::Serving => match unready.as_ref().and_then(|unready| unready()) {
            Some(why) => Err(why),
            None => Ok(format!("ready; {}", served(&status))),
        },
        Phase::Leaving | Phase::Closing => Err("stopping".to_owned()),
    };
    let pages = Pages { registry, readiness: Box::new(readiness), config: Box::new(move || current.to_json()) };
    let serving = tokio::spawn(async move {
        if let Err(error) = admin::serve(listener, pages).await {
            tracing::error!(%error, "the admin pages ended");
        }
    });
    Ok(Some((address, serving)))
}

/// The one line on standard output, and one in the log.
fn announce(address: SocketAddr, admin: Option<SocketAddr>, inspector: Option<String>, source: &Source) {
    let status = source.status();
    let (admin, inspector) = (admin.map(tracing::field::display), inspector.map(tracing::field::display));
    tracing::info!(%address, admin, inspector, workspaces = status.workspaces.get(), watch = ?status.mode(), "serving");
    // A closed standard output is not an error: then nobody waits for the line.
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "promptd listening on {address}").and_then(|()| out.flush());
}

pub(super) async fn until_stopped(
    mut serving: JoinHandle<Result<Ended, ServerError>>,
    lifecycle: &Lifecycle,
    stop: &mut StopSignals,
) -> CommandResult {
    let ended = tokio::select! {
        ended = &mut serving => ended,
        () = stop.next() => {
            tracing::info!("stopping: waiting for calls to end");
            lifecycle.drain();
            tokio::select! {
                ended = &mut serving => ended,
                () = stop.next() => {
                    tracing::warn!("stopping at once: calls are cut off");
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
        Ok(Err(error)) => Err(server_failure(&error)),
        Err(error) => Err(Failure::input(format!("error: the server ended: {error}"))),
    }
}

pub(super) fn server_failure(error: &ServerError) -> Failure {
    let help = match error {
        ServerError::Bind(_, error) => bind_help(error, "--listen"),
        ServerError::Failed(_) => String::new(),
    };
    Failure::input(format!("error: {error}{help}"))
}

/// What to do about an address that cannot be listened on.
fn bind_help(error: &io::Error, flag: &str) -> String {
    let why = match error.kind() {
        io::ErrorKind::AddrInUse => "another process has this port",
        io::ErrorKind::AddrNotAvailable => "this machine does not have this address",
        io::ErrorKind::PermissionDenied => "ports below 1024 need a privilege",
        _ => return String::new(),
    };
    format!("\n  {why}: give another with {flag}; port 0 picks a free one")
}
