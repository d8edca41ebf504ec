//! The parts of promptd that a build may lack: what each one brings, and how to get it. A command or option that is only built with
//! a feature is listed here too.

/// A part that is a cargo feature.
#[derive(Debug)]
pub struct Feature {
    /// Its name in `Cargo.toml`.
    pub name: &'static str,
    /// Whether this build has it.
    pub is_built: bool,
    /// The key of its settings.
    pub setting: &'static str,
    /// Its commands.
    pub commands: &'static [&'static str],
    /// Its options of other commands: the command and the option.
    pub options: &'static [(&'static str, &'static str)],
    /// That this build lacks it and how to get it, said after "is" or "are".
    pub lacking: &'static str,
}

/// What [`Feature::lacking`] says, as a literal.
macro_rules! lacking {
    ($feature:literal) => {
        concat!(
            "an optional part of promptd, which this build does not have: install a package, which has every part, or build it with \
             `cargo install --path . --locked --features ",
            $feature,
            "`"
        )
    };
}
pub(crate) use lacking;

macro_rules! feature {
    ($name:literal, $setting:literal, $commands:expr, $options:expr) => {
        Feature {
            name: $name,
            is_built: cfg!(feature = $name),
            setting: $setting,
            commands: $commands,
            options: $options,
            lacking: lacking!($name),
        }
    };
}

/// Every one of them.
pub const FEATURES: &[Feature] = &[
    feature!(
        "etcd",
        "workspaces.etcd",
        &["publish", "proposals", "approve", "reject", "promote", "abort", "pull", "history", "rollback", "gc"],
        &[
            ("diff", "--from"),
            ("diff", "--to"),
            ("diff", "--ca"),
            ("diff", "--cert"),
            ("diff", "--key"),
            ("diff", "--user"),
            ("diff", "--password-file"),
            ("diff", "--token-file"),
        ]
    ),
    feature!("inspector", "inspector", &["inspect"], &[("serve", "--inspector")]),
    feature!("mcp", "mcp", &["mcp"], &[]),
    feature!("memory", "memory", &["memory"], &[("serve", "--memory")]),
    feature!("otlp", "otlp", &[], &[]),
    feature!(
        "record",
        "record",
        &["record", "replay"],
        &[("publish", "--replay"), ("publish", "--max-changed"), ("publish", "--max-lost")]
    ),
];
