//! `workspaces.etcd`.

use std::path::PathBuf;

use http::uri::Authority;
use promptd_core::{
    finding::Code,
    id::Id,
    yaml::{Faults, Fields, Mark},
};
use promptd_etcd::{Cache, Options, checkout::Checkout, layout::Prefix};

use super::read::{path, range, section, size, span, value, values};
use crate::config::{Base, Config, Etcd, EtcdCredentials, ServerFiles};

/// The etcd, and where the file says how many must approve what is published.
pub(super) fn etcd(mut fields: Fields<'_, '_>, base: &Base<'_>) -> (Option<Etcd>, Mark) {
    let endpoints: Vec<_> = values(&mut fields, "endpoints", member).into_iter().map(|(member, _)| member).collect();
    let prefix = value(&mut fields, "prefix", Prefix::parse);
    let (ca, identity) = tls(section(&mut fields, "tls"), base);
    let credentials = EtcdCredentials { ca, identity, login: login(section(&mut fields, "auth"), base) };
    let cache = cache(section(&mut fields, "cache"), base);
    let files = files(section(&mut fields, "files"), base);
    let max_age = span(&mut fields, "max_age");
    let require_approval = range(&mut fields, "require_approval");
    let at = fields.mark("require_approval");
    fields.finish();
    let options = prefix.map(|prefix| Options { endpoints, prefix, cache, max_age });
    let options = options.filter(|options| !options.endpoints.is_empty());
    (options.map(|options| Etcd { options, credentials, files, require_approval }), at)
}

/// Where callers need no token, all are the same one, and nobody else could approve anything.
pub(super) fn check_others_can_approve(config: &Config, at: Mark, faults: &Faults) {
    if config.tokens_file.is_none() && config.etcd.as_ref().is_some_and(|etcd| etcd.require_approval > 0) {
        let message = "`workspaces.etcd.require_approval` needs tokens, since those who approve are told apart by theirs: set `auth.tokens_file`";
        faults.add(Code::InvalidValue, at, message);
    }
}

fn tls(mut fields: Fields<'_, '_>, base: &Base<'_>) -> (Option<PathBuf>, Option<(PathBuf, PathBuf)>) {
    let ca = path(&mut fields, "ca", base);
    let cert = path(&mut fields, "cert", base);
    let key = path(&mut fields, "key", base);
    if cert.is_some() != key.is_some() || (cert.is_some() && ca.is_none()) {
        let message = "`workspaces.etcd.tls.cert` and `workspaces.etcd.tls.key` must both be set, and `workspaces.etcd.tls.ca` too";
        fields.faults().add(Code::InvalidValue, fields.at(), message);
    }
    fields.finish();
    (ca, cert.zip(key))
}

fn login(mut fields: Fields<'_, '_>, base: &Base<'_>) -> Option<(String, PathBuf)> {
    let username = fields.text("username").map(str::to_owned);
    let password_file = path(&mut fields, "password_file", base);
    if username.is_some() != password_file.is_some() {
        let message = "`workspaces.etcd.auth.username` and `workspaces.etcd.auth.password_file` must both be set";
        fields.faults().add(Code::InvalidValue, fields.at(), message);
    }
    fields.finish();
    username.zip(password_file)
}

fn cache(mut fields: Fields<'_, '_>, base: &Base<'_>) -> Option<Cache> {
    let dir = path(&mut fields, "dir", base);
    let max_bytes = size(&mut fields, "max_bytes") as u64;
    fields.finish();
    Some(Cache { dir: dir?, max_bytes })
}

fn files(mut fields: Fields<'_, '_>, base: &Base<'_>) -> Option<ServerFiles> {
    let id = value(&mut fields, "id", |text| Id::parse(text).map_err(|invalid| format!("an id: it {invalid}")));
    let dir = path(&mut fields, "dir", base);
    if id.is_some() != dir.is_some() {
        let message = "`workspaces.etcd.files.id` and `workspaces.etcd.files.dir` must both be set";
        fields.faults().add(Code::InvalidValue, fields.at(), message);
    }
    fields.finish();
    Some(ServerFiles { id: id?, folder: Checkout { dir: dir? } })
}

/// A member's host and port.
pub fn member(text: &str) -> Result<String, String> {
    let is_member = |authority: &Authority| authority.port_u16().is_some() && !authority.as_str().contains('@');
    let wanted = || "members of etcd, each `HOST:PORT`".to_owned();
    text.parse().ok().filter(is_member).map(|authority| authority.to_string()).ok_or_else(wanted)
}
