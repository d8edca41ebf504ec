//! Tokens and certificates, from the files that the settings name.
//!
//! Faults are reported without excerpts: the lines of these files are secret.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use promptd::{
    config::{self, Config},
    grpc::{Access, Pem, Tls, Tokens},
};
use promptd_core::finding::{Code, Finding, Place};
use promptd_source::{Contents, FileSet, read_files};

use super::{Failure, Secrets, settings};

/// Reads them at the start; the failure has every fault of all files.
pub(super) fn read(config: &Config) -> Result<Secrets, Failure> {
    let access = config.tokens_file.as_deref().map(|path| tokens(path, &read_files(&only(path))));
    let tls = config.tls.as_ref().map(|paths| {
        let contents = read_files(&pem_files(paths));
        pem(paths, &contents).and_then(|pem| Tls::new(pem).map_err(|e| e.to_string()))
    });
    let mut report = String::new();
    if let (Some(Err(findings)), Some(path)) = (&access, &config.tokens_file) {
        let _ = writeln!(report, "{}", settings::report(findings, &path.display().to_string(), None));
    }
    if let Some(Err(fault)) = &tls {
        let _ = writeln!(report, "error: {fault}");
    }
    match (access.transpose(), tls.transpose()) {
        (Ok(tokens), Ok(tls)) => {
            let access = tokens.map_or_else(Access::open, Access::with);
            Ok(Secrets { access: Arc::new(access), tls: tls.map(Arc::new) })
        }
        _ => Err(Failure::input(report)),
    }
}

/// The one file, as a set to read or follow.
pub(super) fn only(path: &Path) -> FileSet {
    FileSet::Paths(vec![path.to_owned()])
}

/// The PEM files, as a set to read or follow.
pub(super) fn pem_files(tls: &config::Tls) -> FileSet {
    FileSet::Paths([Some(&tls.cert), Some(&tls.key), tls.client_ca.as_ref()].into_iter().flatten().cloned().collect())
}

/// Checks a tokens file.
pub(super) fn tokens(path: &Path, contents: &Contents) -> Result<Tokens, Vec<Finding>> {
    let name = path.display().to_string();
    let fault = |message: String| vec![Finding::new(Code::FileUnreadable, Place::file(name.clone()), message)];
    let bytes = bytes(path, contents).map_err(|why| fault(format!("cannot read `auth.tokens_file`; {why}")))?;
    let text = std::str::from_utf8(bytes).map_err(|_| fault("`auth.tokens_file` is not UTF-8".to_owned()))?;
    Tokens::parse(text, &name)
}

/// The PEM files' bytes.
pub(super) fn pem<'c>(tls: &config::Tls, contents: &'c Contents) -> Result<Pem<'c>, String> {
    let read = |path: &PathBuf, setting| {
        bytes(path, contents).map_err(|fault| format!("cannot read `tls.{setting}`; {fault}"))
    };
    Ok(Pem {
        cert: read(&tls.cert, "cert")?,
        key: read(&tls.key, "key")?,
        client_ca: tls.client_ca.as_ref().map(|path| read(path, "client_ca")).transpose()?,
    })
}

/// The key of a model's server, as a header has it.
#[cfg(feature = "memory")]
pub(super) fn model_key(path: &Path, model: &str) -> Result<http::HeaderValue, Failure> {
    let contents = read_files(&only(path));
    let setting = format!("memory.models.{model}.key_file");
    let failure = |why: String| Failure::input(format!("error: cannot read `{setting}`; {why}\n"));
    let key = std::str::from_utf8(bytes(path, &contents).map_err(failure)?).unwrap_or_default().trim();
    let value = http::HeaderValue::from_str(&format!("Bearer {key}")).ok().filter(|_| !key.is_empty());
    let mut value = value.ok_or_else(|| failure(format!("{} has no key: one line of ASCII", path.display())))?;
    value.set_sensitive(true);
    Ok(value)
}

fn bytes<'c>(path: &Path, contents: &'c Contents) -> Result<&'c [u8], String> {
    match contents.get(path) {
        Some(Ok(bytes)) => Ok(bytes),
        Some(Err(error)) => Err(format!("{} {error}", path.display())),
        None => Err(format!("{} does not exist", path.display())),
    }
}
