//! From nodes to a checked [`Config`].

#[cfg(feature = "etcd")]
mod etcd;
mod grpc;
#[cfg(feature = "inspector")]
mod inspector;
#[cfg(feature = "memory")]
mod memory;
#[cfg(feature = "otlp")]
mod otlp;
mod read;
#[cfg(feature = "record")]
mod record;

#[cfg(feature = "etcd")]
pub use etcd::member as etcd_member;

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    path::{Path, PathBuf},
};

use promptd_core::{
    finding::Code,
    id::Id,
    settings::{Settings, SkillLimits},
    yaml::{Faults, Fields, Mark, Node},
};
use promptd_source::store::History;
use serde_json::Value;

use self::read::{choice, count, path, paths, section, size, size_if_set, span, value, values};
use super::{
    Base, Config, Log, Overrides, SingleWorkspace, TABLE, Tls, address,
    defaults::over_defaults,
    known_keys,
    shape::{LOG_FORMATS, RISKS, WATCH_MODES},
};

/// Decodes a config file's root node, laid over the defaults.
/// It is of use only if no fault was added.
pub(super) fn decode(given: &Node, folder: &Path, overrides: &Overrides, faults: &Faults) -> Config {
    let mut node = over_defaults(given);
    known_keys::report(&mut node, faults);
    root(&node, folder, overrides, faults)
}

fn root(node: &Node, folder: &Path, overrides: &Overrides, faults: &Faults) -> Config {
    let mut root = Fields::root(node, faults);
    let home = value(&mut root, "home", |text| {
        let path = PathBuf::from(text);
        if path.is_absolute() { Ok(path) } else { Err("an absolute path".to_owned()) }
    });
    let base = Base { folder, home: home.as_deref() };

    let mut limits = section(&mut root, "limits");
    #[cfg_attr(not(feature = "etcd"), expect(unused_mut, reason = "the settings of etcd are a section of it"))]
    let mut places = section(&mut root, "workspaces");
    #[cfg(feature = "etcd")]
    let (etcd, approval_at) = etcd::etcd(section(&mut places, "etcd"), &base);
    let (source, resident) = source(&mut root, places, &mut limits, &base, overrides);
    let insecure = root.bool("insecure").unwrap_or_default();
    let listen_at = root.mark("listen");
    let grpc = grpc::options(&mut root, limits, overrides);
    #[cfg(feature = "inspector")]
    let (inspector, inspector_at) = inspector::listen(section(&mut root, "inspector"), grpc.listen, overrides);
    let config = Config {
        grpc,
        source,
        #[cfg(feature = "etcd")]
        etcd,
        revisions: revisions(section(&mut root, "revisions")),
        resident,
        tokens_file: tokens_file(section(&mut root, "auth"), &base),
        tls: tls(section(&mut root, "tls"), &base),
        admin: admin(section(&mut root, "admin"), overrides),
        #[cfg(feature = "inspector")]
        inspector,
        #[cfg(feature = "memory")]
        memory: memory::memory(section(&mut root, "memory"), &base, overrides),
        #[cfg(feature = "otlp")]
        otlp: otlp::options(section(&mut root, "otlp")),
        #[cfg(feature = "record")]
        record: record::options(section(&mut root, "record"), &base),
        log: log(section(&mut root, "log"), overrides),
        effective: effective(node, overrides),
        warnings: Vec::new(),
    };
    root.finish();
    #[cfg(feature = "etcd")]
    if !faults.is_partial() {
        etcd::check_others_can_approve(&config, approval_at, faults);
    }
    // What makes them known may be in what could not be read.
    if !insecure && !faults.is_partial() {
        check_callers_are_known(&config, listen_at, overrides.listen.is_some(), faults);
        #[cfg(feature = "inspector")]
        inspector::check_is_private(&config, inspector_at, faults);
    }
    config
}

/// The place of a fault that a flag has: none in the file.
pub(super) const BY_FLAG: Mark = Mark { line: 0, column: 0 };

/// A service that other machines reach must know its callers.
fn check_callers_are_known(config: &Config, at: Mark, by_flag: bool, faults: &Faults) {
    let known = config.tokens_file.is_some() || config.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
    let listen = config.grpc.listen;
    if !listen.ip().is_loopback() && !known {
        let (given, at) = if by_flag { (format!("`--listen {listen}`"), BY_FLAG) } else { (listen.to_string(), at) };
        let message = format!(
            "{given} can be reached from other machines, and every caller would be served: set `auth.tokens_file` or \
             `tls.client_ca`, or `insecure: true` to allow it"
        );
        faults.add(Code::InvalidValue, at, message);
    }
}

fn source(
    root: &mut Fields<'_, '_>,
    places: Fields<'_, '_>,
    limits: &mut Fields<'_, '_>,
    base: &Base<'_>,
    overrides: &Overrides,
) -> (promptd_source::Options, Option<usize>) {
    let (roots, workspaces, resident) = workspaces(places, base, overrides);
    let (shared_skills, skills) = skills(section(root, "skills"), base);
    let mut watch = section(root, "watch");
    let options = promptd_source::Options {
        roots,
        workspaces,
        shared_skills,
        allowed_link_targets: paths(root, "allowed_link_targets", base),
        profiles: path(root, "profiles", base),
        settings: Settings {
            expose_paths: root.bool("expose_paths").unwrap_or_default(),
            max_file_bytes: size(limits, "max_file_bytes"),
            skills,
            max_value_chars: count(limits, "max_value_chars"),
            max_variable_chars: count(limits, "max_variable_chars"),
            risks: choice(root, "risks", &RISKS),
        },
        watch: choice(&mut watch, "mode", &WATCH_MODES),
        poll_interval: span(&mut watch, "poll_interval"),
        sweep_interval: span(&mut watch, "sweep_interval"),
        ..promptd_source::Options::default()
    };
    watch.finish();
    (options, resident)
}

/// The roots, the single workspaces, and how many bytes of them stay loaded. A workspace of a flag replaces that of the file
/// with the same id.
fn workspaces(
    mut fields: Fields<'_, '_>,
    base: &Base<'_>,
    overrides: &Overrides,
) -> (Vec<PathBuf>, Vec<(Id, PathBuf)>, Option<usize>) {
    let root = path(&mut fields, "root", base);
    let mut ids = BTreeSet::new();
    let mut single = Vec::new();
    for (one, at) in values(&mut fields, "single", |text| SingleWorkspace::parse(text, base)) {
        if !ids.insert(one.id.clone()) {
            let message = format!("duplicate workspace id `{}`: write `ID=DIR` to give one another id", one.id);
            fields.faults().add(Code::InvalidValue, at, message);
        } else if overrides.single.iter().all(|other| other.id != one.id) {
            single.push(one);
        }
    }
    single.extend(overrides.single.iter().cloned());
    let resident = size_if_set(&mut fields, "resident");
    let resident = overrides.resident.as_ref().map(|(_, bytes)| *bytes).or(resident);
    fields.finish();
    let roots = overrides.root.clone().or(root).into_iter().collect();
    (roots, single.into_iter().map(|one| (one.id, one.folder)).collect(), resident)
}

fn skills(mut fields: Fields<'_, '_>, base: &Base<'_>) -> (Vec<PathBuf>, SkillLimits) {
    let shared = paths(&mut fields, "shared", base);
    let limits = SkillLimits {
        max_description_chars: count(&mut fields, "max_description_chars"),
        max_shown: count(&mut fields, "max_shown"),
        max_block_chars: count(&mut fields, "max_block_chars"),
    };
    fields.finish();
    (shared, limits)
}

fn revisions(mut fields: Fields<'_, '_>) -> History {
    let revisions = History { revisions: count(&mut fields, "count"), bytes: size(&mut fields, "bytes") };
    fields.finish();
    revisions
}

fn tokens_file(mut fields: Fields<'_, '_>, base: &Base<'_>) -> Option<PathBuf> {
    let file = path(&mut fields, "tokens_file", base);
    fields.finish();
    file
}

fn tls(mut fields: Fields<'_, '_>, base: &Base<'_>) -> Option<Tls> {
    let cert = path(&mut fields, "cert", base);
    let key = path(&mut fields, "key", base);
    let client_ca = path(&mut fields, "client_ca", base);
    let incomplete = cert.is_some() != key.is_some() || (cert.is_none() && client_ca.is_some());
    if incomplete {
        let message = "`tls.cert` and `tls.key` must both be set, and with `tls.client_ca` too";
        fields.faults().add(Code::InvalidValue, fields.at(), message);
    }
    fields.finish();
    Some(Tls { cert: cert?, key: key?, client_ca })
}

fn admin(mut fields: Fields<'_, '_>, overrides: &Overrides) -> Option<SocketAddr> {
    let listen = value(&mut fields, "listen", address);
    fields.finish();
    overrides.admin.or(listen)
}

fn log(mut fields: Fields<'_, '_>, overrides: &Overrides) -> Log {
    let level = value(&mut fields, "level", super::log_level).unwrap_or_default();
    let format = choice(&mut fields, "format", &LOG_FORMATS);
    fields.finish();
    let level = overrides.log_level.as_ref().map_or(level, |(_, level)| level.clone());
    Log { level, format }
}

/// Every setting's value by its key, flags included.
fn effective(node: &Node, overrides: &Overrides) -> BTreeMap<&'static str, Value> {
    let root = node.to_json();
    let get = |key: &str| key.split('.').try_fold(&root, |value, part| value.get(part)).cloned().unwrap_or_default();
    let mut effective: BTreeMap<_, _> = TABLE.iter().map(|setting| (setting.key, get(setting.key))).collect();
    let mut set = |key, text: Option<String>| {
        if let Some(text) = text {
            effective.insert(key, text.into());
        }
    };
    set("listen", overrides.listen.map(|listen| listen.to_string()));
    set("admin.listen", overrides.admin.map(|listen| listen.to_string()));
    #[cfg(feature = "inspector")]
    set("inspector.listen", overrides.inspector.map(|listen| listen.to_string()));
    #[cfg(feature = "memory")]
    set("memory.store", overrides.memory.as_ref().map(|dir| dir.display().to_string()));
    set("workspaces.root", overrides.root.as_ref().map(|root| root.display().to_string()));
    set("workspaces.resident", overrides.resident.as_ref().map(|(text, _)| text.clone()));
    set("log.level", overrides.log_level.as_ref().map(|(text, _)| text.clone()));
    if let Some(Value::Array(single)) = effective.get_mut("workspaces.single") {
        single.extend(overrides.single.iter().map(|one| format!("{}={}", one.id, one.folder.display()).into()));
    }
    effective
}
