//! The arguments of `promptd serve`, and whether the folders that they name are what was meant.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

#[cfg(feature = "inspector")]
use promptd::config::InspectorListen;
use promptd::config::{Config, Overrides, SingleWorkspace, log_level};
use tracing_subscriber::filter::Targets;

use crate::cli::{
    Failure, folder,
    settings::{self, ConfigFile},
};

/// Runs the service.
///
/// Without --config, --workspaces and --workspace it reads `config/promptd.yaml` of the current folder. When it is ready
/// it prints one line to standard output, `promptd listening on ADDRESS`; the log goes to standard error, and so does the line
/// `inspector at URL`. SIGTERM and SIGINT stop it once the calls in flight have ended.
#[derive(clap::Args)]
pub(in crate::cli) struct Arguments {
    #[command(flatten)]
    pub(super) config: ConfigFile,
    /// A folder of workspaces: each folder in it is one, and its name is the id.
    #[arg(long, value_name = "DIR")]
    workspaces: Option<PathBuf>,
    /// The folder of a single workspace; its name is the id if none is given. Can be repeated.
    #[arg(long, value_name = "[ID=]DIR")]
    workspace: Vec<String>,
    /// The address to listen on; port 0 picks a free one.
    #[arg(long, value_name = "ADDR", env = "PROMPTD_LISTEN", hide_env_values = true, value_parser = settings::address)]
    listen: Option<SocketAddr>,
    /// The address of the HTTP server for metrics, readiness and the settings.
    #[arg(long, value_name = "ADDR", value_parser = settings::address)]
    admin: Option<SocketAddr>,
    /// The address of the inspector, a page that shows what the model is told; or `off`.
    #[cfg(feature = "inspector")]
    #[arg(long, value_name = "ADDR|off", value_parser = settings::inspector_listen)]
    inspector: Option<InspectorListen>,
    /// The log level, such as `debug` or `info,promptd::source=debug`.
    #[arg(long, value_name = "LEVEL", env = "PROMPTD_LOG", hide_env_values = true, value_parser = level)]
    log: Option<(String, Targets)>,
}

fn level(text: &str) -> Result<(String, Targets), String> {
    log_level(text).map(|level| (text.to_owned(), level)).map_err(|wanted| format!("must be {wanted}"))
}

impl Arguments {
    /// The settings that flags give.
    pub(super) fn overrides(&self) -> Result<Overrides, Failure> {
        Ok(Overrides {
            listen: self.listen,
            admin: self.admin,
            #[cfg(feature = "inspector")]
            inspector: self.inspector,
            root: self.workspaces.as_deref().map(root).transpose()?,
            single: self.workspace.iter().map(|text| single(text)).collect::<Result<_, _>>()?,
            log_level: self.log.clone(),
        })
    }
}

/// The folder of `--workspaces`.
pub(in crate::cli) fn root(path: &Path) -> Result<PathBuf, Failure> {
    let (absolute, shown) = (settings::absolute_folder(path)?, path.display().to_string());
    folder::must_exist(&absolute, &shown)?;
    match folder::is_not_a_root(&absolute, &shown) {
        None => Ok(absolute),
        Some(mistake) => Err(Failure::run(format!("{mistake}; did you mean --workspace {shown}?"))),
    }
}

/// The workspace of a `--workspace`.
pub(in crate::cli) fn single(text: &str) -> Result<SingleWorkspace, Failure> {
    let (single, shown) = (settings::workspace(text)?, settings::folder_of(text));
    folder::must_exist(&single.folder, shown)?;
    match folder::is_not_a_workspace(&single.folder, shown) {
        None => Ok(single),
        Some(mistake) => Err(Failure::run(format!("{mistake}; did you mean --workspaces {shown}?"))),
    }
}

/// Warns of folders that are not what their setting says. They may get their files later, so it is no fault.
pub(super) fn warn_of_folders(config: &Config) {
    for path in &config.source.roots {
        if let Some(mistake) = folder::is_not_a_root(path, &path.display().to_string()) {
            tracing::warn!(setting = "workspaces.root", "{mistake}; did you mean `workspaces.single`?");
        }
    }
    for (id, path) in &config.source.workspaces {
        if let Some(mistake) = folder::is_not_a_workspace(path, &path.display().to_string()) {
            tracing::warn!(setting = "workspaces.single", workspace = %id, "{mistake}; did you mean `workspaces.root`?");
        }
    }
}
