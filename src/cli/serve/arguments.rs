//! The arguments of `promptd serve`, and whether the folders that they name are what was meant.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

#[cfg(feature = "inspector")]
use promptd::config::InspectorListen;
use promptd::config::{Config, Overrides, SingleWorkspace, bytes, log_level};
use promptd_core::finding::Finding;
use tracing_subscriber::filter::Targets;

use crate::cli::{
    Failure, folder,
    settings::{self, ConfigFile, Loaded},
};

/// Runs the service.
///
/// Without --config, --workspaces and --workspace it reads `config/promptd.yaml` of the current folder. When it is ready
/// it prints one line to standard output, `promptd listening on ADDRESS`; the log goes to standard error, and so does the line
/// `inspector at URL`. SIGTERM and SIGINT stop it once the calls in flight have ended.
#[derive(clap::Args)]
pub(in crate::cli) struct Arguments {
    #[command(flatten)]
    pub(super) served: Served,
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
    /// The folder that conversations are stored in.
    #[cfg(feature = "memory")]
    #[arg(long, value_name = "DIR")]
    memory: Option<PathBuf>,
    /// The log level, such as `debug` or `info,promptd::source=debug`.
    #[arg(long, value_name = "LEVEL", env = "PROMPTD_LOG", hide_env_values = true, value_parser = level)]
    log: Option<(String, Targets)>,
}

/// The arguments that say what is served.
#[derive(clap::Args)]
pub(in crate::cli) struct Served {
    #[command(flatten)]
    config: ConfigFile,
    /// A folder of workspaces: each folder in it is one, and its name is the id.
    #[arg(long, value_name = "DIR")]
    workspaces: Option<PathBuf>,
    /// The folder of a single workspace; its name is the id if none is given. Can be repeated.
    #[arg(long, value_name = "[ID=]DIR")]
    workspace: Vec<String>,
    /// How much text stays loaded, such as `200MiB`, of the workspaces that calls used last; all by default.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    resident: Option<(String, usize)>,
}

impl Served {
    /// `overrides` with these workspaces, and the config that they make.
    pub(in crate::cli) fn load(&self, overrides: Overrides) -> Result<(Loaded, Overrides), Failure> {
        let overrides = Overrides {
            root: self.workspaces.as_deref().map(root).transpose()?,
            single: self.workspace.iter().map(|text| single(text)).collect::<Result<_, _>>()?,
            resident: self.resident.clone(),
            ..overrides
        };
        // Workspaces given by flags do not depend on the config of the folder that the command runs in.
        let by_flags = self.config.path.is_none() && (overrides.root.is_some() || !overrides.single.is_empty());
        let loaded = if by_flags {
            Loaded { config: settings::parse(None, "", &overrides)?, file: None, warnings: Vec::new() }
        } else {
            settings::load(&self.config, &overrides, false)?
        };
        if loaded.config.has_no_workspaces() {
            return Err(Failure::input(
                "error: nothing to serve: set `workspaces.root` or `workspaces.single`, or give --workspaces or --workspace",
            ));
        }
        Ok((loaded, overrides))
    }
}

fn size(text: &str) -> Result<(String, usize), String> {
    bytes(text).map(|size| (text.to_owned(), size)).map_err(|wanted| format!("must be {wanted}"))
}

fn level(text: &str) -> Result<(String, Targets), String> {
    log_level(text).map(|level| (text.to_owned(), level)).map_err(|wanted| format!("must be {wanted}"))
}

impl Arguments {
    /// The config with what flags set, and the latter alone.
    pub(super) fn load(&self) -> Result<(Loaded, Overrides), Failure> {
        self.served.load(Overrides {
            listen: self.listen,
            admin: self.admin,
            #[cfg(feature = "inspector")]
            inspector: self.inspector,
            #[cfg(feature = "memory")]
            memory: self.memory.as_deref().map(settings::absolute_folder).transpose()?,
            log_level: self.log.clone(),
            ..Overrides::default()
        })
    }
}

/// The folder of `--workspaces`.
fn root(path: &Path) -> Result<PathBuf, Failure> {
    let (absolute, shown) = (settings::absolute_folder(path)?, path.display().to_string());
    folder::must_exist(&absolute, &shown)?;
    match folder::is_not_a_root(&absolute, &shown) {
        None => Ok(absolute),
        Some(mistake) => Err(Failure::run(format!("{mistake}; did you mean --workspace {shown}?"))),
    }
}

/// The workspace of a `--workspace`.
fn single(text: &str) -> Result<SingleWorkspace, Failure> {
    let (single, shown) = (settings::workspace(text)?, settings::folder_of(text));
    folder::must_exist(&single.folder, shown)?;
    match folder::is_not_a_workspace(&single.folder, shown) {
        None => Ok(single),
        Some(mistake) => Err(Failure::run(format!("{mistake}; did you mean --workspaces {shown}?"))),
    }
}

/// Warns of settings that are probably a mistake, except for those that were warned of `before`.
pub(super) fn warn_of_settings(config: &Config, before: &[Finding]) {
    for warning in config.warnings.iter().filter(|warning| !before.contains(warning)) {
        let Finding { code, place, message, .. } = warning;
        tracing::warn!(code = code.as_str(), %place, "{message}");
    }
}

/// Warns of folders that are not what their setting says. They may get their files later, so it is not a fault.
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
