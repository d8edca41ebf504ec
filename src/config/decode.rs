//! From nodes to a checked [`Config`].

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    Base, Config, Log, LogFormat, Overrides, SingleWorkspace, TABLE, Tls, Watch, Workspaces,
    overlay::overlay,
    table::defaults,
    values::{address, bytes, duration},
};
use crate::grpc;
use promptd_contract::decode;
use promptd_core::{
    finding::Code,
    settings::{RiskPolicy, Settings, SkillLimits},
    text::clamped,
    yaml::{Fault, Faults, Fields, Mark, Node, Value},
};
use promptd_source::{WatchMode, store::History};

/// Decodes a config file's root node, laid over the defaults.
pub(super) fn decode(given: &Node, folder: &Path, overrides: &Overrides) -> Result<Config, Vec<Fault>> {
    let node = overlay(defaults(), given);
    let faults = Faults::default();
    let config = root(&node, folder, overrides, &faults);
    let faults = faults.into_vec();
    if faults.is_empty() { Ok(config) } else { Err(faults) }
}

/// Where a value is faulty, an empty one stands in: the faults see to it that no such config is used.
fn root(node: &Node, folder: &Path, overrides: &Overrides, faults: &Faults) -> Config {
    let mut root = Fields::root(node, faults);
    let home = home(&mut root);
    let base = Base { folder, home: home.as_deref() };

    let expose_paths = root.bool("expose_paths").unwrap_or_default();
    let risks = choice(&mut root, "risks", &RISKS);
    let mut limits = root.fields("limits");
    let (shared_skills, skills) = skills(root.fields("skills"), &base);
    let settings = Settings {
        expose_paths,
        max_file_bytes: size(&mut limits, "max_file_bytes"),
        skills,
        max_value_chars: limits.count("max_value_chars").unwrap_or_default(),
        max_variable_chars: limits.count("max_variable_chars").unwrap_or_default(),
        risks,
    };
    let listen_at = root.node("listen").map_or(root.at(), |node| node.at);
    let config = Config {
        grpc: options(&mut root, limits, overrides),
        workspaces: workspaces(root.fields("workspaces"), &base, overrides),
        profiles: path(&mut root, "profiles", &base).unwrap_or_default(),
        allowed_link_targets: paths(&mut root, "allowed_link_targets", &base),
        shared_skills,
        settings,
        revisions: revisions(root.fields("revisions")),
        watch: watch(root.fields("watch")),
        tokens_file: tokens_file(root.fields("auth"), &base),
        tls: tls(root.fields("tls"), &base),
        admin: admin(root.fields("admin"), overrides),
        log: log(root.fields("log"), overrides),
        effective: effective(node, overrides),
    };
    root.finish();
    check_reach(&config, listen_at, faults);
    config
}

/// A service that anyone can reach must know its callers, unless the operator says otherwise.
fn check_reach(config: &Config, at: Mark, faults: &Faults) {
    let knows_callers = config.tokens_file.is_some() || config.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
    let grpc::Options { listen, insecure, .. } = config.grpc;
    if !listen.ip().is_loopback() && !knows_callers && !insecure {
        let message = format!(
            "{listen} is reachable from other machines, and any caller would be served: set `auth.tokens_file` or \
             `tls.client_ca`, or `insecure: true` to mean it"
        );
        faults.add(Code::InvalidValue, at, message);
    }
}

fn home(root: &mut Fields<'_, '_>) -> Option<PathBuf> {
    value(root, "home", |text| {
        let path = PathBuf::from(text);
        if path.is_absolute() { Ok(path) } else { Err("an absolute path".to_owned()) }
    })
}

fn workspaces(mut fields: Fields<'_, '_>, base: &Base<'_>, overrides: &Overrides) -> Workspaces {
    let root = path(&mut fields, "root", base);
    let overridden: BTreeSet<_> = overrides.single.iter().map(|single| &single.id).collect();
    let mut single: Vec<SingleWorkspace> = Vec::new();
    let name = fields.name("single");
    for (text, at) in fields.texts("single").unwrap_or_default() {
        match SingleWorkspace::parse(text, base) {
            Err(wanted) => fields.faults().add(Code::InvalidValue, at, format!("`{name}` needs {wanted}")),
            Ok(one) if single.iter().any(|other| other.id == one.id) => {
                let message = format!("the workspace id `{}` stands twice; write `ID=DIR` to tell them apart", one.id);
                fields.faults().add(Code::InvalidValue, at, message);
            }
            Ok(one) if overridden.contains(&one.id) => {}
            Ok(one) => single.push(one),
        }
    }
    single.extend(overrides.single.iter().cloned());
    fields.finish();
    Workspaces { root: overrides.root.clone().or(root), single }
}

fn skills(mut fields: Fields<'_, '_>, base: &Base<'_>) -> (Vec<PathBuf>, SkillLimits) {
    let shared = paths(&mut fields, "shared", base);
    let limits = SkillLimits {
        max_description_chars: fields.count("max_description_chars").unwrap_or_default(),
        max_shown: fields.count("max_shown").unwrap_or_default(),
        max_block_chars: fields.count("max_block_chars").unwrap_or_default(),
    };
    fields.finish();
    (shared, limits)
}

fn options(root: &mut Fields<'_, '_>, mut limits: Fields<'_, '_>, overrides: &Overrides) -> grpc::Options {
    let listen = value(root, "listen", address);
    let mut grpc = root.fields("grpc");
    let mut drain = root.fields("drain");
    let origins = origins(&mut grpc);
    let options = grpc::Options {
        listen: overrides.listen.or(listen).unwrap_or(grpc::Options::default().listen),
        insecure: root.bool("insecure").unwrap_or_default(),
        request: request_limits(&mut limits),
        max_message_bytes: at_least_one(&mut limits, "max_message_bytes", size),
        max_in_flight: at_least_one(&mut limits, "max_in_flight", count),
        max_streams: at_least_one(&mut limits, "max_streams", count),
        max_connections: at_least_one(&mut limits, "max_connections", count),
        max_streams_per_connection: clamped(at_least_one(&mut limits, "max_streams_per_connection", count)),
        max_call_time: at_least_a_second(&mut limits, "max_call_time"),
        keepalive_interval: at_least_a_second(&mut grpc, "keepalive_interval"),
        keepalive_timeout: at_least_a_second(&mut grpc, "keepalive_timeout"),
        max_connection_age: Some(span(&mut grpc, "max_connection_age")).filter(|age| !age.is_zero()),
        retry_delay: span(&mut grpc, "retry_delay"),
        drain_delay: span(&mut drain, "delay"),
        drain_limit: span(&mut drain, "limit"),
        gzip: grpc.bool("gzip").unwrap_or_default(),
        web: Some(grpc::Web { origins }).filter(|web| !web.origins.is_empty()),
    };
    limits.finish();
    grpc.finish();
    drain.finish();
    options
}

fn request_limits(limits: &mut Fields<'_, '_>) -> decode::Limits {
    decode::Limits {
        max_knowledge: count(limits, "max_knowledge"),
        max_variables: count(limits, "max_variables"),
        max_inputs: count(limits, "max_inputs"),
        max_messages: count(limits, "max_messages"),
        max_segments: count(limits, "max_segments"),
        max_tool_calls: count(limits, "max_tool_calls"),
        max_context_files: count(limits, "max_context_files"),
        max_digests: count(limits, "max_digests"),
    }
}

fn revisions(mut fields: Fields<'_, '_>) -> History {
    let revisions = History { revisions: at_least_one(&mut fields, "count", count), bytes: size(&mut fields, "bytes") };
    fields.finish();
    revisions
}

fn watch(mut fields: Fields<'_, '_>) -> Watch {
    let watch = Watch {
        mode: choice(&mut fields, "mode", &WATCH_MODES),
        poll_interval: span(&mut fields, "poll_interval"),
        sweep_interval: span(&mut fields, "sweep_interval"),
    };
    for (key, interval) in [("poll_interval", watch.poll_interval), ("sweep_interval", watch.sweep_interval)] {
        if interval < SHORTEST_INTERVAL
            && let Some(node) = fields.node(key)
        {
            let message = format!("`{}` must be at least {SHORTEST_INTERVAL:?}", fields.name(key));
            fields.faults().add(Code::InvalidValue, node.at, message);
        }
    }
    fields.finish();
    watch
}

/// Looking at all files more often than this would keep a core busy.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(100);

fn tokens_file(mut fields: Fields<'_, '_>, base: &Base<'_>) -> Option<PathBuf> {
    let file = path(&mut fields, "tokens_file", base);
    fields.finish();
    file
}

fn tls(mut fields: Fields<'_, '_>, base: &Base<'_>) -> Option<Tls> {
    let cert = path(&mut fields, "cert", base);
    let key = path(&mut fields, "key", base);
    let client_ca = path(&mut fields, "client_ca", base);
    let lonely = cert.is_some() != key.is_some() || (cert.is_none() && client_ca.is_some());
    if lonely {
        let message = "`tls.cert` and `tls.key` must both be set, and with `tls.client_ca` too";
        fields.faults().add(Code::InvalidValue, fields.at(), message);
    }
    fields.finish();
    Some(Tls { cert: cert?, key: key?, client_ca })
}

fn origins(fields: &mut Fields<'_, '_>) -> Vec<String> {
    let texts = fields.texts("web_origins").unwrap_or_default();
    for (text, at) in &texts {
        let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let good = *text == "*" || host.is_some_and(|host| !host.is_empty() && !host.contains('/'));
        if !good || text.parse::<http::HeaderValue>().is_err() {
            let message = "`grpc.web_origins` needs `*` or origins such as `https://app.example`, without a path";
            fields.faults().add(Code::InvalidValue, *at, message);
        }
    }
    texts.into_iter().map(|(text, _)| text.to_owned()).collect()
}

fn admin(mut fields: Fields<'_, '_>, overrides: &Overrides) -> Option<SocketAddr> {
    let listen = value(&mut fields, "listen", address);
    fields.finish();
    overrides.admin.or(listen)
}

fn log(mut fields: Fields<'_, '_>, overrides: &Overrides) -> Log {
    let level = value(&mut fields, "level", log_level).unwrap_or_default();
    let format = choice(&mut fields, "format", &LOG_FORMATS);
    fields.finish();
    let level = overrides.log_level.as_ref().map_or(level, |(_, level)| level.clone());
    Log { level, format }
}

/// Reads a log level, also by module; the error says what is wanted.
pub fn log_level(text: &str) -> Result<tracing_subscriber::filter::Targets, String> {
    text.parse().map_err(|_| {
        "`off`, `error`, `warn`, `info`, `debug` or `trace`, also by module: `info,promptd::source=debug`".to_owned()
    })
}

const RISKS: [(&str, RiskPolicy); 3] =
    [("report", RiskPolicy::Report), ("strip", RiskPolicy::Strip), ("refuse", RiskPolicy::Refuse)];
const WATCH_MODES: [(&str, WatchMode); 3] =
    [("auto", WatchMode::Auto), ("events", WatchMode::Events), ("poll", WatchMode::Poll)];
const LOG_FORMATS: [(&str, LogFormat); 2] = [("text", LogFormat::Text), ("json", LogFormat::Json)];

fn value<T>(
    fields: &mut Fields<'_, '_>,
    key: &'static str,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Option<T> {
    let at = fields.node(key)?.at;
    let text = fields.text(key)?;
    parse(text)
        .map_err(|wanted| {
            fields.faults().add(Code::InvalidValue, at, format!("`{}` must be {wanted}", fields.name(key)));
        })
        .ok()
}

fn choice<T: Copy + Default>(fields: &mut Fields<'_, '_>, key: &'static str, choices: &[(&str, T)]) -> T {
    let chosen = value(fields, key, |text| {
        let names: Vec<_> = choices.iter().map(|(name, _)| format!("`{name}`")).collect();
        let found = choices.iter().find(|(name, _)| *name == text);
        found.map(|(_, value)| *value).ok_or_else(|| format!("one of {}", names.join(", ")))
    });
    chosen.unwrap_or_default()
}

fn path(fields: &mut Fields<'_, '_>, key: &'static str, base: &Base<'_>) -> Option<PathBuf> {
    value(fields, key, |text| base.path(text))
}

fn paths(fields: &mut Fields<'_, '_>, key: &'static str, base: &Base<'_>) -> Vec<PathBuf> {
    let name = fields.name(key);
    let texts = fields.texts(key).unwrap_or_default();
    let path = |(text, at)| {
        let fault = |wanted| fields.faults().add(Code::InvalidValue, at, format!("`{name}` needs {wanted}"));
        base.path(text).map_err(fault).ok()
    };
    texts.into_iter().filter_map(path).collect()
}

fn count(fields: &mut Fields<'_, '_>, key: &'static str) -> usize {
    fields.count(key).unwrap_or_default()
}

/// A size: a plain number, or text with a unit.
fn size(fields: &mut Fields<'_, '_>, key: &'static str) -> usize {
    match fields.node(key).map(|node| &node.value) {
        Some(Value::Scalar(scalar)) if scalar.as_number().is_some() => count(fields, key),
        _ => value(fields, key, bytes).unwrap_or_default(),
    }
}

fn span(fields: &mut Fields<'_, '_>, key: &'static str) -> Duration {
    let Some(node) = fields.node(key) else { return Duration::ZERO };
    match &node.value {
        Value::Scalar(scalar) if scalar.as_number().is_some() => {
            let message = format!("`{}` needs a unit, such as `{}s`", fields.name(key), scalar.text);
            fields.faults().add(Code::InvalidValue, node.at, message);
            Duration::ZERO
        }
        _ => value(fields, key, duration).unwrap_or_default(),
    }
}

fn at_least_one(
    fields: &mut Fields<'_, '_>,
    key: &'static str,
    read: fn(&mut Fields<'_, '_>, &'static str) -> usize,
) -> usize {
    let at = fields.node(key).map(|node| (node.at, node.to_json()));
    let number = read(fields, key);
    if let Some((at, json)) = at
        && json == 0
    {
        fields.faults().add(Code::InvalidValue, at, format!("`{}` must be at least 1", fields.name(key)));
    }
    number
}

fn at_least_a_second(fields: &mut Fields<'_, '_>, key: &'static str) -> Duration {
    let at = fields.node(key).map(|node| node.at);
    let span = span(fields, key);
    if let Some(at) = at
        && span < Duration::from_secs(1)
    {
        fields.faults().add(Code::InvalidValue, at, format!("`{}` must be at least one second", fields.name(key)));
    }
    span
}

/// Every setting's value by its key, flags included.
fn effective(node: &Node, overrides: &Overrides) -> BTreeMap<&'static str, serde_json::Value> {
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
    set("workspaces.root", overrides.root.as_ref().map(|root| root.display().to_string()));
    set("log.level", overrides.log_level.as_ref().map(|(text, _)| text.clone()));
    if let Some(serde_json::Value::Array(single)) = effective.get_mut("workspaces.single") {
        single.extend(overrides.single.iter().map(|one| format!("{}={}", one.id, one.folder.display()).into()));
    }
    effective
}
