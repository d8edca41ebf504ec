//! The server's own files, taken over as they are saved: the config's reloadable part, tokens and certificates.
//!
//! A file with a fault changes nothing: the last good version stays in use, the log says why, and a metric says so
//! until it is mended.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use promptd::{
    admin::Metrics,
    config::{Config, Overrides},
    grpc::Live,
};
use promptd_core::finding::Finding;
use promptd_source::{Contents, FileSet, Source};
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::{Secrets, secrets};
use crate::cli::{logs::Logs, settings};

/// The settings as they hold, for `/debug/config`.
#[derive(Clone)]
pub(super) struct Shown(Arc<Mutex<Config>>);

impl Shown {
    pub(super) fn new(config: &Config) -> Self {
        Self(Arc::new(Mutex::new(config.clone())))
    }

    /// As JSON, by key. Secrets stand in files; the settings have their paths alone.
    pub(super) fn get(&self) -> Value {
        let config = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        config.effective.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect::<Map<_, _>>().into()
    }

    fn set(&self, next: Config) -> Config {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), next)
    }
}

/// What following needs.
pub(super) struct Following {
    pub(super) source: Arc<OnceLock<Source>>,
    pub(super) limits: Arc<Live>,
    pub(super) logs: Logs,
    pub(super) metrics: Arc<Metrics>,
    pub(super) shown: Shown,
    pub(super) overrides: Overrides,
}

/// Follows the files that there are, for as long as the runtime lives.
pub(super) fn start(file: Option<PathBuf>, config: &Config, secrets: &Secrets, following: Following) {
    let Some(source) = following.source.get() else { return };
    let metrics = &following.metrics;
    if let Some(path) = config.tokens_file.clone() {
        let access = Arc::clone(&secrets.access);
        each(source.follow(secrets::only(&path)), "tokens", metrics, move |contents| {
            let tokens = secrets::tokens(&path, contents).map_err(|findings| in_a_line(&findings))?;
            access.replace(tokens);
            Ok(())
        });
    }
    if let (Some(paths), Some(tls)) = (config.tls.clone(), secrets.tls.clone()) {
        each(source.follow(secrets::pem_files(&paths)), "tls", metrics, move |contents| {
            secrets::pem(&paths, contents).and_then(|pem| tls.replace(pem).map_err(|e| e.to_string()))
        });
    }
    if let Some(path) = file {
        let absolute = std::path::absolute(&path).unwrap_or_else(|_| path.clone());
        let set = FileSet::Paths(vec![absolute.clone()]);
        let contents = source.follow(set);
        each(contents, "config", &Arc::clone(metrics), move |contents| {
            let bytes = match contents.get(&absolute) {
                Some(Ok(bytes)) => bytes,
                Some(Err(error)) => return Err(format!("{} {error}", path.display())),
                None => return Err(format!("{} is not there", path.display())),
            };
            let text = std::str::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8", path.display()))?;
            let next = settings::check(Some(&path), text, &following.overrides).map_err(|failure| failure.text)?;
            take_over(&next.map_err(|findings| in_a_line(&findings))?, &following);
            Ok(())
        });
    }
}

/// Takes over what each change gives, and tells how that went.
fn each(
    mut contents: watch::Receiver<Arc<Contents>>,
    file: &'static str,
    metrics: &Arc<Metrics>,
    take: impl Fn(&Contents) -> Result<(), String> + Send + 'static,
) {
    let metrics = Arc::clone(metrics);
    tokio::spawn(async move {
        // An edit since the start is taken over too; what is still the same changes nothing.
        let now = Arc::clone(&contents.borrow_and_update());
        if let Err(fault) = take(&now) {
            refuse(file, &fault, &metrics);
        }
        while contents.changed().await.is_ok() {
            let now = Arc::clone(&contents.borrow_and_update());
            match take(&now) {
                Ok(()) => {
                    metrics.server_file(file, true);
                    tracing::info!(file, "a changed file was taken over");
                }
                Err(fault) => refuse(file, &fault, &metrics),
            }
        }
    });
}

fn refuse(file: &'static str, fault: &str, metrics: &Metrics) {
    metrics.server_file(file, false);
    tracing::error!(file, "the last good version stays in use: {fault}");
}

fn in_a_line(findings: &[Finding]) -> String {
    findings.iter().map(|finding| format!("{}: {}", finding.place, finding.message)).collect::<Vec<_>>().join("; ")
}

/// Applies what can be changed while running, and says what waits for a restart.
fn take_over(next: &Config, following: &Following) {
    following.logs.set_level(&next.log.level);
    following.limits.replace(&next.grpc);
    let before = following.shown.set(next.clone());
    if before.source.settings != next.source.settings
        && let Some(source) = following.source.get()
    {
        source.set_settings(next.source.settings.clone());
    }
    for setting in before.changes(next) {
        if setting.reloads {
            tracing::info!(setting = setting.key, "changed");
        } else {
            tracing::warn!(setting = setting.key, "changed in the config: takes effect at the next start");
        }
    }
}
