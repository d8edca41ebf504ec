//! The config that a command runs with: a file, flags and the environment, checked.

use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use promptd::config::{self, Base, Config, Overrides, SingleWorkspace};
use promptd_core::{
    finding::{Counts, Finding, Place, Reported, human},
    yaml::MAX_YAML_BYTES,
};

use super::{Failure, is_styled};

/// The config file that is used if it exists and no other is given.
const DEFAULT_CONFIG: &str = "config/promptd.yaml";

#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct ConfigFile {
    /// The config file; default: `config/promptd.yaml`, if it exists.
    #[arg(long = "config", value_name = "FILE", env = "PROMPTD_CONFIG", hide_env_values = true)]
    pub(super) path: Option<PathBuf>,
}

pub(super) struct Loaded {
    pub(super) config: Config,
    /// `None`: only defaults and flags.
    pub(super) file: Option<PathBuf>,
    /// Settings that are allowed and probably a mistake, for reports.
    pub(super) warnings: Vec<Reported>,
}

/// Reads the config. `optional`: without `--config`, a missing `config/promptd.yaml` means defaults.
pub(super) fn load(file: &ConfigFile, overrides: &Overrides, optional: bool) -> Result<Loaded, Failure> {
    let (path, text) = match &file.path {
        Some(path) => (Some(path.clone()), read(path)?),
        None if Path::new(DEFAULT_CONFIG).is_file() => {
            let path = PathBuf::from(DEFAULT_CONFIG);
            (Some(path.clone()), read(&path)?)
        }
        None if optional => (None, String::new()),
        None => {
            return Err(Failure::run(format!(
                "nothing to serve: there is no {DEFAULT_CONFIG} in this folder\n  give --workspaces DIR, --workspace \
                 DIR or --config FILE, or start with `promptd init DIR`"
            )));
        }
    };
    let config = parse(path.as_deref(), &text, overrides)?;
    let warnings = reported(&config.warnings, &name(path.as_deref()), Some(&text));
    Ok(Loaded { config, file: path, warnings })
}

/// Checks a config's text; the failure is a report of every fault.
pub(super) fn parse(path: Option<&Path>, text: &str, overrides: &Overrides) -> Result<Config, Failure> {
    check(path, text, overrides)?.map_err(|findings| Failure::input(report(&findings, &name(path), Some(text))))
}

/// Checks a config's text.
pub(super) fn check(
    path: Option<&Path>,
    text: &str,
    overrides: &Overrides,
) -> Result<Result<Config, Vec<Finding>>, Failure> {
    let folder = match path.and_then(Path::parent) {
        Some(parent) => absolute(parent)?,
        // Defaults that are relative, such as `profiles`, are relative to a config file's folder.
        None => absolute(Path::new("config"))?,
    };
    Ok(Config::read(text, &name(path), &folder, overrides))
}

fn name(path: Option<&Path>) -> String {
    path.map_or_else(|| "the arguments".to_owned(), |path| path.display().to_string())
}

/// The current folder, from which paths in arguments start.
pub(super) fn current_folder() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|e| Failure::run(format!("cannot read the current folder: {e}")))
}

/// A workspace given as an argument, `DIR` or `ID=DIR`.
pub(super) fn workspace(text: &str) -> Result<SingleWorkspace, Failure> {
    let folder = current_folder()?;
    SingleWorkspace::parse(text, &Base { folder: &folder, home: None })
        .map_err(|wanted| Failure::run(format!("`{text}` is not a workspace: it must be {wanted}")))
}

/// The folder of a workspace given as an argument, as it was given.
pub(super) fn folder_of(argument: &str) -> &str {
    argument.split_once('=').filter(|(id, _)| !id.contains('/')).map_or(argument, |(_, folder)| folder)
}

/// The absolute path of a folder given as an argument.
pub(super) fn absolute_folder(path: &Path) -> Result<PathBuf, Failure> {
    let current = current_folder()?;
    let text = path.to_str().ok_or_else(|| Failure::run(format!("{} is not UTF-8", path.display())))?;
    Base { folder: &current, home: None }
        .path(text)
        .map_err(|wanted| Failure::run(format!("`{text}` must be {wanted}")))
}

/// An address, for clap.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    config::address(text).map_err(|wanted| format!("must be {wanted}"))
}

/// An address of the inspector's or `off`, for clap.
#[cfg(feature = "inspector")]
pub(super) fn inspector_listen(text: &str) -> Result<config::InspectorListen, String> {
    config::inspector_listen(text).map_err(|wanted| format!("must be {wanted}"))
}

fn absolute(folder: &Path) -> Result<PathBuf, Failure> {
    // Links are resolved here, so that `..` in a config means the folder that holds the config's folder.
    let current = current_folder()?;
    let path = current.join(folder);
    Ok(fs::canonicalize(&path).unwrap_or(path))
}

fn read(path: &Path) -> Result<String, Failure> {
    let failure = |why: String| Failure::run(format!("cannot read the config {}: {why}", path.display()));
    let metadata = match fs::metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            return Err(Failure::run(format!(
                "config not found: {}\n  it was given by --config or PROMPTD_CONFIG; without either, {DEFAULT_CONFIG} is read",
                path.display()
            )));
        }
        metadata => metadata.map_err(|e| failure(e.to_string()))?,
    };
    if !metadata.is_file() {
        return Err(failure("it is not a regular file".to_owned()));
    }
    if metadata.len() > MAX_YAML_BYTES as u64 {
        return Err(failure(format!("it is larger than {MAX_YAML_BYTES} bytes")));
    }
    let bytes = fs::read(path).map_err(|e| failure(e.to_string()))?;
    String::from_utf8(bytes).map_err(|e| {
        let before = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        failure(format!("line {} is not UTF-8", String::from_utf8_lossy(before).split('\n').count()))
    })
}

/// A report with excerpts for standard error.
pub(super) fn report_files(reported: &[Reported]) -> String {
    let counts = human::summary(Counts::of(reported.iter().map(|one| &one.finding)));
    format!("{}{counts}", human::render(reported, is_styled(&std::io::stderr())))
}

/// A report on one file; without `text` it has no excerpts, for files whose lines are secret.
pub(super) fn report(findings: &[Finding], name: &str, text: Option<&str>) -> String {
    format!("{} in {name}", report_files(&reported(findings, name, text)))
}

fn reported(findings: &[Finding], name: &str, text: Option<&str>) -> Vec<Reported> {
    let source: Option<Arc<str>> = text.map(Into::into);
    let one = |finding: &Finding| Reported {
        finding: finding.clone(),
        subject: name.to_owned(),
        file: matches!(finding.place, Place::File { .. }).then(|| name.to_owned()),
        source: source.clone(),
    };
    findings.iter().map(one).collect()
}
