//! The server's own files, reloaded as they are saved: the reloadable part of the config, tokens and certificates.
//!
//! A file with a fault changes nothing: the last good version stays in use, the log says why, and a metric shows it
//! until the file is fixed. So it is with one that is emptied, or left with comments alone.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use promptd::{
    admin::Metrics,
    config::{Config, Overrides, Setting},
    grpc::Limits,
};
use promptd_core::{finding::Finding, yaml};
use promptd_source::{Contents, FileSet, Source};
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::{Secrets, arguments, descriptors, secrets};
use crate::cli::{logs::Logs, settings};

/// The settings in use, for `/debug/config` and to compare a saved config with: those that wait for a restart are as they were at
/// the start.
#[derive(Clone)]
pub(super) struct CurrentConfig(Arc<Mutex<InUse>>);

struct InUse {
    effective: BTreeMap<&'static str, Value>,
    source: promptd_source::Options,
    warnings: Vec<Finding>,
}

impl CurrentConfig {
    pub(super) fn new(Config { effective, source, warnings, .. }: &Config) -> Self {
        let (effective, source, warnings) = (effective.clone(), source.clone(), warnings.clone());
        Self(Arc::new(Mutex::new(InUse { effective, source, warnings })))
    }

    /// By key. Secrets are in files of their own, of which the settings have only the paths.
    pub(super) fn to_json(&self) -> Value {
        let in_use = self.lock();
        in_use.effective.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect::<Map<_, _>>().into()
    }

    /// What loading depends on.
    #[cfg(feature = "etcd")]
    pub(super) fn source(&self) -> promptd_source::Options {
        self.lock().source.clone()
    }

    fn lock(&self) -> MutexGuard<'_, InUse> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over what a saved config changes at once; what it differs in.
    fn take(&self, next: &Config) -> Differing {
        let mut in_use = self.lock();
        let settings = next.changes(&in_use.effective);
        for setting in settings.iter().filter(|setting| setting.reloads) {
            if let Some(value) = next.effective.get(setting.key) {
                in_use.effective.insert(setting.key, value.clone());
            }
        }
        let loading = in_use.source.settings != next.source.settings;
        in_use.source.settings = next.source.settings.clone();
        let warnings = std::mem::replace(&mut in_use.warnings, next.warnings.clone());
        Differing { settings, loading, warnings }
    }
}

/// What a saved config differs in from the settings in use.
struct Differing {
    settings: Vec<&'static Setting>,
    /// In what loading depends on.
    loading: bool,
    /// What was warned of before.
    warnings: Vec<Finding>,
}

/// The parts of the service that a reload changes.
pub(super) struct Reload {
    pub(super) source: Arc<OnceLock<Source>>,
    pub(super) limits: Arc<Limits>,
    pub(super) logs: Logs,
    pub(super) metrics: Arc<Metrics>,
    pub(super) current: CurrentConfig,
    pub(super) overrides: Overrides,
}

/// Follows the files that the config names, and its own, for as long as the runtime lives.
pub(super) fn start(file: Option<PathBuf>, config: &Config, secrets: &Secrets, reload: Reload) {
    let Some(source) = reload.source.get() else { return };
    let metrics = &reload.metrics;
    if let Some(path) = config.tokens_file.clone() {
        let access = Arc::clone(&secrets.access);
        on_change(source.follow(secrets::only(&path)), "tokens", metrics, move |contents| {
            let tokens = secrets::tokens(&path, contents).map_err(|findings| on_a_line(&findings))?;
            access.replace(tokens);
            Ok(())
        });
    }
    if let (Some(paths), Some(tls)) = (config.tls.clone(), secrets.tls.clone()) {
        on_change(source.follow(secrets::pem_files(&paths)), "tls", metrics, move |contents| {
            secrets::pem(&paths, contents).and_then(|pem| tls.replace(pem).map_err(|e| e.to_string()))
        });
    }
    if let Some(path) = file {
        let absolute = std::path::absolute(&path).unwrap_or_else(|_| path.clone());
        let set = FileSet::Paths(vec![absolute.clone()]);
        let contents = source.follow(set);
        on_change(contents, "config", &Arc::clone(metrics), move |contents| {
            let bytes = match contents.get(&absolute) {
                Some(Ok(bytes)) => bytes,
                Some(Err(error)) => return Err(format!("{} {error}", path.display())),
                None => return Err(format!("{} does not exist", path.display())),
            };
            let text = std::str::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8", path.display()))?;
            let next = settings::check(Some(&path), text, &reload.overrides).map_err(|failure| failure.text)?;
            apply(&next.map_err(|findings| on_a_line(&findings))?, &reload);
            Ok(())
        });
    }
}

/// Takes the file's contents now and after each change, and reports how that went.
fn on_change(
    mut contents: watch::Receiver<Arc<Contents>>,
    file: &'static str,
    metrics: &Arc<Metrics>,
    take: impl Fn(&Contents) -> Result<(), String> + Send + 'static,
) {
    let metrics = Arc::clone(metrics);
    tokio::spawn(async move {
        // The file may have been edited since the start.
        let mut good = Arc::clone(&contents.borrow_and_update());
        if let Err(fault) = take(&good) {
            reject(file, &fault, &metrics);
        }
        while contents.changed().await.is_ok() {
            let now = Arc::clone(&contents.borrow_and_update());
            match has_no_emptied(&good, &now).and_then(|()| take(&now)) {
                Ok(()) => {
                    good = now;
                    metrics.server_file(file, true);
                    tracing::info!(file, "reloaded");
                }
                Err(fault) => reject(file, &fault, &metrics),
            }
        }
    });
}

/// That each file with content still has some: one that is emptied by accident would turn limits off, or all callers away.
fn has_no_emptied(before: &Contents, now: &Contents) -> Result<(), String> {
    let blank_at = |contents: &Contents, path: &PathBuf| match contents.get(path) {
        Some(Ok(bytes)) => blank(bytes),
        _ => None,
    };
    let emptied = |path: &PathBuf| {
        let how = blank_at(now, path).filter(|_| before.contains_key(path) && blank_at(before, path).is_none())?;
        Some(format!("{} {how}: save it with content", path.display()))
    };
    now.keys().find_map(emptied).map_or(Ok(()), Err)
}

/// How a file has no content, if it has none.
fn blank(bytes: &[u8]) -> Option<&'static str> {
    if bytes.trim_ascii().is_empty() {
        return Some("is empty");
    }
    let root = yaml::parse(std::str::from_utf8(bytes).ok()?).ok()?;
    root.is_null().then_some("has no settings")
}

fn reject(file: &'static str, fault: &str, metrics: &Metrics) {
    metrics.server_file(file, false);
    tracing::error!(file, "the last good version stays in use: {fault}");
}

fn on_a_line(findings: &[Finding]) -> String {
    findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Applies the settings that can change while the service runs, and logs those that wait for a restart.
fn apply(next: &Config, reload: &Reload) {
    reload.logs.set_level(&next.log.level);
    reload.limits.replace(&descriptors::within_limit(&next.grpc));
    let differing = reload.current.take(next);
    if let Some(source) = reload.source.get().filter(|_| differing.loading) {
        source.set_settings(next.source.settings.clone());
    }
    arguments::warn_of_settings(next, &differing.warnings);
    for setting in differing.settings {
        if setting.reloads {
            tracing::info!(setting = setting.key, "changed");
        } else {
            tracing::warn!(setting = setting.key, "changed in the config: takes effect at the next start");
        }
    }
}
