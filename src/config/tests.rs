use std::path::Path;

use serde_json::json;

use super::*;

const SERVE: &str = "workspaces: {root: ws}\n";

fn read(text: &str) -> Result<Config, Vec<String>> {
    let lines = |findings: Vec<Finding>| findings.iter().map(|f| format!("{} {}", f.place, f.message)).collect();
    Config::read(text, "promptd.yaml", Path::new("/etc/promptd"), &Overrides::default()).map_err(lines)
}

/// The table has the defaults; those of the types, for tests and programs that have no config, must be the same.
#[test]
fn the_defaults_of_the_table_are_those_of_the_types() {
    let Config {
        grpc,
        source,
        #[cfg(feature = "etcd")]
        etcd,
        revisions,
        resident,
        tokens_file,
        tls,
        admin,
        #[cfg(feature = "inspector")]
        inspector,
        #[cfg(feature = "memory")]
        memory,
        #[cfg(feature = "otlp")]
        otlp,
        #[cfg(feature = "record")]
        record,
        log,
        effective,
        warnings,
    } = read("").unwrap();
    #[cfg(feature = "inspector")]
    assert_eq!(inspector, InspectorListen::Default(([127, 0, 0, 1], INSPECTOR_PORT).into()));
    #[cfg(feature = "etcd")]
    assert_eq!(etcd, None);
    #[cfg(feature = "memory")]
    {
        assert_eq!(memory, None);
        let memory = read("memory: {store: /m}\n").unwrap().memory.unwrap();
        assert_eq!(memory.store, promptd_memory::Options::new("/m".into()));
    }
    #[cfg(feature = "otlp")]
    assert_eq!(otlp, None);
    #[cfg(feature = "record")]
    assert_eq!(record, None);
    assert_eq!(grpc, grpc::Options::default());
    let profiles = Some("/etc/promptd/profiles".into());
    assert_eq!(source, promptd_source::Options { profiles, ..promptd_source::Options::default() });
    assert_eq!((revisions, resident), (History::default(), None));
    assert_eq!((tokens_file, tls, admin), (None, None, None));
    assert_eq!(log, Log { level: Targets::new().with_default(tracing::Level::INFO), format: LogFormat::default() });
    assert_eq!(effective.len(), TABLE.len());
    assert_eq!(warnings, []);
}

#[test]
fn every_setting_of_the_table_reaches_a_field_of_the_config() {
    let mut base = json!({"tls": {"cert": "c", "key": "k"}, "home": "/home"});
    if cfg!(feature = "etcd") {
        base["workspaces"]["etcd"] = json!({
            "endpoints": ["a:2379"],
            "tls": {"ca": "a", "cert": "c", "key": "k"},
            "auth": {"username": "promptd", "password_file": "p"},
            "cache": {"dir": "d"},
            "files": {"id": "f", "dir": "s"},
        });
        base["auth"] = json!({"tokens_file": "t"});
    }
    if cfg!(feature = "otlp") {
        base["otlp"] = json!({"endpoint": "http://localhost:4317"});
    }
    if cfg!(feature = "memory") {
        let model = json!({"url": "http://localhost:1/v1", "model": "a"});
        base["memory"] = json!({"store": "m", "models": {"embed": model, "summarise": model}});
    }
    if cfg!(feature = "record") {
        base["record"] = json!({"dir": "r"});
    }
    let before = read(&base.to_string()).unwrap();
    // `insecure` allows a listen address, and `home` is what `~` means: neither is a field.
    for setting in TABLE.iter().filter(|setting| !["insecure", "home"].contains(&setting.key)) {
        let value = match (setting.key, setting.default) {
            ("listen" | "admin.listen" | "inspector.listen", _) => json!("127.0.0.1:1"),
            ("log.level", _) => json!("debug"),
            ("log.format", _) => json!("json"),
            ("risks", _) => json!("strip"),
            ("watch.mode", _) => json!("poll"),
            ("grpc.web_origins", _) => json!(["*"]),
            ("workspaces.etcd.endpoints", _) => json!(["b:2379", "[::1]:2379"]),
            ("workspaces.etcd.prefix", _) => json!("/other"),
            ("workspaces.etcd.require_approval", _) => json!(16),
            ("otlp.endpoint", _) => json!("http://collector.internal:4317"),
            (
                "record.sample" | "otlp.sample" | "memory.segments.topic_distance" | "memory.segments.merge_distance",
                _,
            ) => json!(0.5),
            ("memory.keep.age", _) => json!("77s"),
            ("memory.notes.files", _) => json!("days/????.md"),
            ("memory.models.embed.url" | "memory.models.summarise.url", _) => json!("https://models.internal/v1"),
            ("memory.models.embed.tokens_per_hour" | "memory.models.summarise.tokens_per_hour", _) => json!(77),
            ("record.max_bytes" | "memory.keep.bytes" | "workspaces.resident", _) => json!("77MiB"),
            ("record.redact", _) => json!(["user"]),
            (_, "true" | "false") => json!(setting.default != "true"),
            (_, "[]") => json!(["other"]),
            (_, text) if text.parse::<u64>().is_ok() => json!(77),
            (_, text) if text.ends_with('B') => json!("77KiB"),
            (_, text) if text.starts_with(|c: char| c.is_ascii_digit()) => json!("77s"),
            _ => json!("other"),
        };
        let mut given = base.clone();
        *setting.key.split('.').fold(&mut given, |node, part| &mut node[part]) = value;
        let after = read(&given.to_string()).unwrap_or_else(|faults| panic!("{given}: {faults:?}"));
        assert_eq!(
            after.changes(&before.effective).iter().map(|setting| setting.key).collect::<Vec<_>>(),
            [setting.key]
        );
        let after = Config { effective: before.effective.clone(), warnings: before.warnings.clone(), ..after };
        assert_ne!(after, before, "{given}");
    }
}

#[test]
fn every_setting_of_the_table_is_read() {
    // A value of the wrong type is a fault that names its setting; one that is not read would be an unknown key.
    for setting in TABLE {
        let parts: Vec<_> = setting.key.split('.').collect();
        let text = format!("{}: {{wrong: 1}}{}", parts.join(": {"), "}".repeat(parts.len() - 1));
        let faults = read(&text).unwrap_err();
        assert!(
            faults.iter().any(|fault| fault.contains(&format!("`{}`", setting.key)) && fault.contains("must be")),
            "{}: {faults:?}",
            setting.key
        );
    }
}

#[test]
fn the_least_value_of_a_setting_is_accepted_and_one_below_is_not() {
    let whole = [
        "limits.max_message_bytes",
        "limits.max_in_flight",
        "limits.max_streams",
        "limits.max_connections",
        "limits.max_streams_per_connection",
        "limits.max_unread_bytes",
        "limits.max_unsent_bytes",
        #[cfg(feature = "record")]
        "record.max_bytes",
        "revisions.count",
    ];
    let seconds = [
        #[cfg(feature = "otlp")]
        "otlp.timeout",
        #[cfg(feature = "record")]
        "record.max_age",
        "limits.max_call_time",
        "grpc.keepalive_interval",
        "grpc.keepalive_timeout",
    ];
    let intervals = ["watch.poll_interval", "watch.sweep_interval"];
    let rows = (whole.iter().map(|key| (key, "1", "0")))
        .chain(seconds.iter().map(|key| (key, "1s", "999ms")))
        .chain(intervals.iter().map(|key| (key, "100ms", "99ms")));
    for (key, least, below) in rows {
        let (section, key) = key.split_once('.').unwrap();
        let with = |value: &str| read(&format!("{SERVE}{section}: {{{key}: {value}}}\n"));
        assert!(with(least).is_ok(), "{key}: {:?}", with(least));
        let faults = with(below).unwrap_err();
        assert!(faults[0].ends_with(&format!("must be at least {least}")), "{key}: {faults:?}");
    }
}

#[test]
fn every_fault_is_reported_at_once_with_its_place() {
    let text = "listen: 50051\nworkspaces:\n  root: ~/ws\n  single: [\"bad id=x\", a=1, a=2]\nrisks: ignore\n\
                limits:\n  max_in_flight: 0\n  max_knowlege: 5\ndrain: {limit: 10}\ntls: {cert: x.pem}\n\
                grpc:\n  keepalive_timeout: 60\n  keepalive_interval: 60ms\n  web_origins: [https://exa_mple.org, \"*\"]\n\
                watch: poll\n";
    insta::assert_snapshot!(read(text).unwrap_err().join("\n"), @r#"
    promptd.yaml:1:9 `listen` must be text; write "50051" to mean the text, not a number
    promptd.yaml:3:9 `workspaces.root` must be a path without `~`, since `home` is not set
    promptd.yaml:4:12 `workspaces.single` needs `ID=DIR`, since `bad id` is not an id: an id must be 1 to 64 of A-Z a-z 0-9 . _ -, and begin with a letter or digit
    promptd.yaml:4:29 duplicate workspace id `a`: write `ID=DIR` to give one another id
    promptd.yaml:5:8 `risks` must be one of `report`, `strip`, `refuse`
    promptd.yaml:7:18 `limits.max_in_flight` must be at least 1
    promptd.yaml:8:3 unknown key `limits.max_knowlege`; did you mean `max_knowledge`?
    promptd.yaml:9:16 `drain.limit` needs a unit, such as `10s`
    promptd.yaml:10:6 `tls.cert` and `tls.key` must both be set, and with `tls.client_ca` too
    promptd.yaml:12:22 `grpc.keepalive_timeout` needs a unit, such as `60s`
    promptd.yaml:13:23 `grpc.keepalive_interval` must be at least 1s
    promptd.yaml:14:17 `grpc.web_origins` needs origins such as `https://app.example` or `*`: `https://exa_mple.org` is not a scheme and host, without a path
    promptd.yaml:15:8 `watch` must be a mapping of `mode`, `poll_interval`, `sweep_interval`, not text
    "#);
}

#[test]
fn a_key_of_another_build_or_another_file_says_so() {
    let text = "workspaces: {root: ws}\nskills:\n  blocklist: [a]\nprofile: kern\n";
    assert_eq!(
        read(text).unwrap_err(),
        [
            "promptd.yaml:3:3 `skills.blocklist` belongs in the workspace.yaml of a workspace",
            "promptd.yaml:4:1 `profile` belongs in the workspace.yaml of a workspace",
        ]
    );
    for (part, is_built_in) in [
        ("inspector", cfg!(feature = "inspector")),
        ("memory", cfg!(feature = "memory")),
        ("otlp", cfg!(feature = "otlp")),
        ("record", cfg!(feature = "record")),
    ] {
        let faults = read(&format!("{part}: {{}}\n")).err().unwrap_or_default();
        let message = format!(
            "promptd.yaml:1:1 `{part}` is an optional part of promptd, which this build does not have: install a \
             package, which has every part, or build it with `cargo install --path . --locked --features {part}`"
        );
        assert_eq!(faults, if is_built_in { vec![] } else { vec![message] });
    }
}

#[cfg(feature = "etcd")]
#[test]
fn faults_of_etcd_are_reported_together() {
    let text = "workspaces:\n  etcd:\n    endpoints: [host:2379, nowhere]\n    prefix: promptd\n    tls: {cert: c}\n    \
                auth: {username: u}\n    cache: {dir: d, max_bytes: 0}\n    max_age: 5\n    require_approval: 17\n    files: {id: f}\n";
    insta::assert_snapshot!(read(text).unwrap_err().join("\n"), @"
    promptd.yaml:3:28 `workspaces.etcd.endpoints` needs members of etcd, each `HOST:PORT`
    promptd.yaml:4:13 `workspaces.etcd.prefix` must be a prefix such as `/promptd`: names of A-Z a-z 0-9 . _ -, each with a `/` before it
    promptd.yaml:5:10 `workspaces.etcd.tls.cert` and `workspaces.etcd.tls.key` must both be set, and `workspaces.etcd.tls.ca` too
    promptd.yaml:6:11 `workspaces.etcd.auth.username` and `workspaces.etcd.auth.password_file` must both be set
    promptd.yaml:7:32 `workspaces.etcd.cache.max_bytes` must be at least 1
    promptd.yaml:8:14 `workspaces.etcd.max_age` needs a unit, such as `5s`
    promptd.yaml:9:23 `workspaces.etcd.require_approval` must be from 0 to 16
    promptd.yaml:10:12 `workspaces.etcd.files.id` and `workspaces.etcd.files.dir` must both be set
    ");
    assert!(read("workspaces: {etcd: {endpoints: []}}").unwrap().has_no_workspaces());
    assert!(!read("workspaces: {etcd: {endpoints: ['[::1]:2379']}}").unwrap().has_no_workspaces());
    assert_eq!(
        read("workspaces: {etcd: {endpoints: ['a:1'], require_approval: 1}}").unwrap_err(),
        [
            "promptd.yaml:1:59 `workspaces.etcd.require_approval` needs tokens, since those who approve are told apart by theirs: set `auth.tokens_file`"
        ]
    );
}

#[cfg(all(feature = "etcd", feature = "memory", feature = "otlp", feature = "record"))]
#[test]
fn settings_without_the_one_that_they_need_are_warned_of() {
    let warnings = |text: &str, overrides: &Overrides| {
        let config = Config::read(text, "promptd.yaml", Path::new("/etc/promptd"), overrides).unwrap();
        config.warnings.iter().map(|f| format!("{} {} {}", f.severity.as_str(), f.place, f.message)).collect::<Vec<_>>()
    };
    let of = |text: &str| warnings(text, &Overrides::default());
    assert_eq!(
        of("memory: {held_vectors: 128MiB,\n  keep: {age: ~}, models: {embed: {model: m}}}\n"),
        [
            "warning promptd.yaml:1:10 `memory.held_vectors` has no effect: `memory.store` is not set",
            "warning promptd.yaml:2:19 `memory.models` has no effect: `memory.store` is not set",
        ]
    );
    let text =
        "otlp:\n  sample: 0.5\nrecord: {max_age: 1d, dir: ~}\nworkspaces: {etcd: {endpoints: [], max_age: 1s}}\n";
    assert_eq!(
        of(text),
        [
            "warning promptd.yaml:2:3 `otlp.sample` has no effect: `otlp.endpoint` is not set",
            "warning promptd.yaml:3:10 `record.max_age` has no effect: `record.dir` is not set",
            "warning promptd.yaml:4:36 `workspaces.etcd.max_age` has no effect: `workspaces.etcd.endpoints` is not set",
        ]
    );
    assert_eq!(
        of(
            "memory: {store: /m, models: {embed: {timeout: 5s}}}\nworkspaces: {etcd: {endpoints: ['a:1'], cache: {max_bytes: 7}}}\n"
        ),
        [
            "warning promptd.yaml:1:38 `memory.models.embed.timeout` has no effect: `memory.models.embed.url` is not set",
            "warning promptd.yaml:2:49 `workspaces.etcd.cache.max_bytes` has no effect: `workspaces.etcd.cache.dir` is not set",
        ]
    );
    let by_flag = Overrides { memory: Some("/m".into()), ..Overrides::default() };
    assert_eq!(warnings("memory: {held_vectors: 128MiB}\n", &by_flag), [""; 0]);
    assert_eq!(of("memory: {store: /m, held_vectors: 128MiB}\nrecord: {}\notlp: ~\n"), [""; 0]);
}

/// What a reader gets who takes the `#` away.
#[cfg(all(
    feature = "etcd",
    feature = "inspector",
    feature = "mcp",
    feature = "memory",
    feature = "otlp",
    feature = "record"
))]
#[test]
fn every_setting_in_the_comments_of_the_example_is_one() {
    let is_setting = |text: &str| {
        text.trim_start().split_once(':').is_some_and(|(key, rest)| {
            let is_key = key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
            is_key && (rest.is_empty() || rest.starts_with(' '))
        })
    };
    let uncommented = |line: &str| match line.split_once("# ") {
        Some((indent, text)) if indent.trim().is_empty() && is_setting(text) => format!("{indent}{text}\n"),
        _ => format!("{line}\n"),
    };
    let text: String = include_str!("../../config/promptd.yaml").lines().map(uncommented).collect();
    let config = read(&text).unwrap();
    assert_eq!(config.warnings, []);
    let is_set = |key: &str| !config.effective[key].is_null() && config.effective[key] != json!([]);
    for key in
        ["workspaces.etcd.endpoints", "memory.store", "memory.models.summarise.url", "otlp.endpoint", "record.dir"]
    {
        assert!(is_set(key), "{key}");
    }
    assert_eq!(config.effective["mcp.enabled"], json!(false));
}

#[test]
fn a_public_address_needs_callers_that_are_known() {
    let public = format!("listen: 0.0.0.0:50051\n{SERVE}");
    assert!(read(&public).unwrap_err()[0].contains("promptd.yaml:1:9 0.0.0.0:50051 can be reached"));
    assert!(read(&format!("{public}insecure: true\n")).is_ok());
    assert!(read(&format!("{public}auth: {{tokens_file: t}}\n")).is_ok());
    assert!(read(&format!("{public}tls: {{cert: c, key: k, client_ca: a}}\n")).is_ok());
    assert!(read(&format!("{public}tls: {{cert: c, key: k}}\n")).is_err());
}

#[cfg(feature = "inspector")]
#[test]
fn the_inspector_is_on_beside_a_service_of_this_machine_and_where_it_is_named() {
    use InspectorListen::{At, Default, Off};
    let at = |address: &str| address.parse().unwrap();
    for (listen, inspector, flag, expected) in [
        ("127.0.0.1:50051", None, None, Default(at("127.0.0.1:50052"))),
        ("127.0.0.2:9", None, None, Default(at("127.0.0.2:50052"))),
        ("localhost:9", None, None, Default(at("127.0.0.1:50052"))),
        ("[::1]:9", None, None, Default(at("[::1]:50052"))),
        ("127.0.0.1:0", None, None, Off),
        ("0.0.0.0:50051", None, None, Off),
        ("10.0.0.5:50051", None, None, Off),
        ("127.0.0.1:50051", Some("off"), None, Off),
        ("127.0.0.1:0", Some("127.0.0.1:7"), None, At(at("127.0.0.1:7"))),
        ("127.0.0.1:0", Some("localhost:0"), None, At(at("127.0.0.1:0"))),
        ("0.0.0.0:50051", Some("127.0.0.1:50052"), None, At(at("127.0.0.1:50052"))),
        ("127.0.0.1:50051", None, Some("off"), Off),
        ("127.0.0.1:50051", Some("127.0.0.1:7"), Some("off"), Off),
        ("127.0.0.1:0", Some("off"), Some("127.0.0.1:8"), At(at("127.0.0.1:8"))),
    ] {
        let inspector = inspector.map(|listen| format!("inspector: {{listen: '{listen}'}}\n")).unwrap_or_default();
        let text = format!("{SERVE}insecure: true\nlisten: '{listen}'\n{inspector}");
        let flag = flag.map(|flag| inspector_listen(flag).unwrap());
        let overrides = Overrides { inspector: flag, ..Overrides::default() };
        let config = Config::read(&text, "c", Path::new("/etc"), &overrides).unwrap();
        assert_eq!(config.inspector, expected, "{text} {flag:?}");
    }
}

#[cfg(feature = "inspector")]
#[test]
fn an_inspector_that_other_machines_reach_needs_tokens_and_tls() {
    let public = format!("{SERVE}inspector: {{listen: '0.0.0.0:50052'}}\n");
    let (tokens, tls) = ("auth: {tokens_file: t}\n", "tls: {cert: c, key: k}\n");
    let client_ca = "tls: {cert: c, key: k, client_ca: a}\n";
    for (more, accepted) in [
        (String::new(), false),
        (tokens.to_owned(), false),
        (tls.to_owned(), false),
        (client_ca.to_owned(), false),
        (format!("{tokens}{tls}"), true),
        ("insecure: true\n".to_owned(), true),
    ] {
        let read = read(&format!("{public}{more}"));
        assert_eq!(read.is_ok(), accepted, "{more} {read:?}");
        if let Err(faults) = read {
            assert!(faults[0].starts_with("promptd.yaml:2:21 0.0.0.0:50052 can be reached"), "{faults:?}");
            assert!(faults[0].contains("`auth.tokens_file` and `tls`, or `insecure: true`"), "{faults:?}");
        }
    }
    let overrides = Overrides { inspector: inspector_listen("[::]:1").ok(), ..Overrides::default() };
    let faults = Config::read(SERVE, "c", Path::new("/etc"), &overrides).unwrap_err();
    assert!(faults[0].message.starts_with("`--inspector [::]:1` can be reached"), "{faults:?}");
    assert_eq!(
        read("inspector: {listen: on}\n").unwrap_err()[0],
        "promptd.yaml:1:21 `inspector.listen` must be `off`, or an address with a port, such as `127.0.0.1:50051` or `[::]:50051`"
    );
}

#[test]
fn flags_win() {
    let base = Base { folder: Path::new("/cwd"), home: None };
    let overrides = Overrides {
        listen: Some(([127, 0, 0, 1], 0).into()),
        admin: Some(([127, 0, 0, 1], 9).into()),
        root: Some("/flags".into()),
        resident: Some(("1MiB".into(), 1 << 20)),
        single: vec![SingleWorkspace::parse("a=mine", &base).unwrap()],
        ..Overrides::default()
    };
    let text = "listen: 127.0.0.1:1\nworkspaces: {root: ws, single: [a=file, b], resident: 7}\n\
                admin: {listen: '127.0.0.1:1'}\n";
    let config = Config::read(text, "c", Path::new("/etc"), &overrides).unwrap();
    assert_eq!((config.grpc.listen.port(), config.admin.unwrap().port()), (0, 9));
    assert_eq!(config.source.roots, [Path::new("/flags")]);
    assert_eq!((config.resident, config.effective["workspaces.resident"].as_str()), (Some(1 << 20), Some("1MiB")));
    assert_eq!(config.effective["workspaces.root"], "/flags");
    let single: Vec<_> =
        config.source.workspaces.iter().map(|(id, folder)| (id.as_str(), folder.to_str().unwrap())).collect();
    assert_eq!(single, [("b", "/etc/b"), ("a", "/cwd/mine")]);
}

#[test]
fn flags_alone_are_a_config() {
    let overrides = Overrides {
        listen: Some(([127, 0, 0, 1], 0).into()),
        admin: Some(([127, 0, 0, 1], 0).into()),
        root: Some("/flags".into()),
        ..Overrides::default()
    };
    assert!(Config::read("", "c", Path::new("/etc"), &overrides).is_ok());
}

#[test]
fn a_reload_reports_what_changed() {
    let before = read(SERVE).unwrap();
    let after = read(&format!("{SERVE}listen: 127.0.0.1:9\nlog: {{level: debug}}\n")).unwrap();
    let changes: Vec<_> = after.changes(&before.effective).into_iter().map(|s| (s.key, s.reloads)).collect();
    assert_eq!(changes, [("listen", false), ("log.level", true)]);
}
