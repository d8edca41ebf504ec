//! Every setting of the server's config, once: its name, its default and what it does.
//!
//! The decoder takes its defaults and bounds from here; docs/reference/settings.md and the JSON Schema of the config are
//! generated from here.

use std::fmt::Write as _;

#[cfg(any(feature = "etcd", feature = "otlp"))]
use promptd_core::yaml::shape::Text;

#[cfg(feature = "inspector")]
use super::shape::ADDRESS_OR_OFF;
#[cfg(feature = "otlp")]
use super::shape::ENDPOINT;
#[cfg(any(feature = "etcd", feature = "memory"))]
use super::shape::ID;
use super::shape::{
    ADDRESS, FORMAT_WORDS, HOME, HOST, LEVELS, ORIGIN, PATH, PATHS, RISK_WORDS, SINGLE, Shape, WATCH_WORDS,
};
#[cfg(feature = "etcd")]
use super::shape::{MEMBERS, PREFIX};
#[cfg(feature = "memory")]
use super::shape::{MODEL_SERVER, NAME, NOTES};

/// One setting.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Its full name, such as `limits.max_in_flight`.
    pub key: &'static str,
    /// What its value is.
    pub shape: Shape,
    /// Its default, as YAML; `null`: nothing is set.
    pub default: &'static str,
    /// Whether a change of the file takes effect while the service runs; otherwise it waits for a restart.
    pub reloads: bool,
    /// What it does: a sentence or two, in Markdown.
    pub about: &'static str,
}

const fn live(key: &'static str, shape: Shape, default: &'static str, about: &'static str) -> Setting {
    Setting { key, shape, default, reloads: true, about }
}

const fn fixed(key: &'static str, shape: Shape, default: &'static str, about: &'static str) -> Setting {
    Setting { key, shape, default, reloads: false, about }
}

/// All of them, in the order of the reference.
pub const TABLE: &[Setting] = &[
    fixed(
        "listen",
        ADDRESS,
        "127.0.0.1:50051",
        "The address of the gRPC service. Port 0 picks a free one. Flag `--listen`, variable `PROMPTD_LISTEN`.",
    ),
    fixed(
        "insecure",
        Shape::Bool,
        "false",
        "Allows a `listen` address that other machines can reach without `auth.tokens_file` and without `tls.client_ca`.",
    ),
    fixed(
        "home",
        HOME,
        "null",
        "The folder that a leading `~/` in the paths below means. Without it such a path is an error.",
    ),
    fixed(
        "workspaces.root",
        PATH,
        "null",
        "A folder of workspaces: each folder in it is one, and its name is the id. Flag `--workspaces`.",
    ),
    fixed(
        "workspaces.single",
        Shape::Texts(SINGLE),
        "[]",
        "Single workspaces, each `DIR` or `ID=DIR`; without an id the name of the folder is the id. Flag `--workspace`.",
    ),
    fixed(
        "workspaces.resident",
        Shape::Size { least: 0 },
        "null",
        "How many bytes of text stay loaded, of the workspaces that calls used last; the others are loaded again when one is called. Unset: all. See [operating.md](../operating.md#more-workspaces-than-memory). Flag `--resident`.",
    ),
    #[cfg(feature = "etcd")]
    fixed(
        "workspaces.etcd.endpoints",
        MEMBERS,
        "[]",
        "The members of an etcd that has workspaces, each `HOST:PORT`; empty: none is used. See [fleet.md](../fleet.md).",
    ),
    #[cfg(feature = "etcd")]
    fixed(
        "workspaces.etcd.prefix",
        PREFIX,
        "/promptd",
        "The start of the keys of all workspaces in etcd: names, each with a `/` before it.",
    ),
    #[cfg(feature = "etcd")]
    fixed(
        "workspaces.etcd.tls.ca",
        PATH,
        "null",
        "The authority that signs the certificates of etcd, a PEM file; unset: connections are not encrypted. Read anew for each connection, as the other files below.",
    ),
    #[cfg(feature = "etcd")]
    fixed(
        "workspaces.etcd.tls.cert",
        PATH,
        "null",
        "The certificate that etcd knows this service by, a PEM file; with `tls.ca` and `tls.key`.",
    ),
    #[cfg(feature = "etcd")]
    fixed("workspaces.etcd.tls.key", PATH, "null", "The private key of that certificate, a PEM file."),
    #[cfg(feature = "etcd")]
    fixed(
        "workspaces.etcd.auth.username",
        Shape::Text(Text::ANY),
        "null",
        "The user that etcd knows this service by; it needs to read what is below the prefix, and to write it where people publish through the service.",
    ),
    #[cfg(feature = "etcd")]
    fixed("workspaces.etcd.auth.password_file", PATH, "null", "The file of the user's password: its first line."),
    #[cfg(feature = "etcd")]
    fixed(
        "workspaces.etcd.cache.dir",
        PATH,
        "null",
        "The folder that what was published is kept in, for a start while etcd is away; for this service alone, and unset: nothing is kept.",
    ),
    #[cfg(feature = "etcd")]
    fixed(
        "workspaces.etcd.cache.max_bytes",
        Shape::Size { least: 1 },
        "1GiB",
        "The most bytes of files in the cache. What has no room is held in memory, and is not there after a restart.",
    ),
    #[cfg(feature = "etcd")]
    fixed(
        "workspaces.etcd.files.id",
        ID,
        "null",
        "The published id whose files are the server's own, such as profiles and tokens; it is not served as a workspace. See [fleet.md](../fleet.md).",
    ),
    #[cfg(feature = "etcd")]
    fixed(
        "workspaces.etcd.files.dir",
        PATH,
        "null",
        "The folder that they are written to, for this service alone; its link `current` leads to the newest.",
    ),
    #[cfg(feature = "etcd")]
    fixed(
        "workspaces.etcd.max_age",
        Shape::Span { least: "0s" },
        "0s",
        "`/readyz` says no while etcd has not answered for longer than this; `0s`: it never does for this reason. Prompts are served all the same.",
    ),
    #[cfg(feature = "etcd")]
    fixed(
        "workspaces.etcd.require_approval",
        Shape::Range { least: 0, most: 16 },
        "0",
        "How many other tokens must approve what is published through this service, at most 16; `0`: none. It needs `auth.tokens_file`. See [fleet.md](../fleet.md#review-before-publishing).",
    ),
    fixed("profiles", PATH, "profiles", "The folder of the operator's own profiles; it need not exist."),
    fixed("allowed_link_targets", PATHS, "[]", "Folders that links in a workspace may lead to."),
    live(
        "expose_paths",
        Shape::Bool,
        "true",
        "Shows absolute paths in prompts. `false` shows the workspace's id and `skill://` addresses instead.",
    ),
    live(
        "risks",
        Shape::Choice(&RISK_WORDS),
        "report",
        "What happens to hidden characters, forged headings and the like in workspace text: `report` them, also `strip` hidden characters, or `refuse` the file.",
    ),
    fixed(
        "skills.shared",
        PATHS,
        "[]",
        "Folders of skills that every workspace has. Of skills with the same name a workspace's own is used, then that of the first folder.",
    ),
    live(
        "skills.max_description_chars",
        Shape::Count { least: 0 },
        "1024",
        "The most characters of a skill's description in a prompt.",
    ),
    live("skills.max_shown", Shape::Count { least: 0 }, "150", "The most skills in a prompt."),
    live("skills.max_block_chars", Shape::Count { least: 0 }, "18000", "The most characters of the skills block."),
    live("limits.max_file_bytes", Shape::Size { least: 0 }, "1MiB", "The most bytes read of one file of a workspace."),
    live(
        "limits.max_value_chars",
        Shape::Count { least: 0 },
        "256",
        "The most characters of a name or an id on a line of the prompt.",
    ),
    live(
        "limits.max_variable_chars",
        Shape::Count { least: 0 },
        "1024",
        "The most characters of one of `turn.variables`.",
    ),
    fixed(
        "limits.max_message_bytes",
        Shape::Size { least: 1 },
        "4MiB",
        "The largest request; a larger one is RESOURCE_EXHAUSTED.",
    ),
    live(
        "limits.max_in_flight",
        Shape::Count { least: 1 },
        "1024",
        "The most calls answered at once, streams and health checks not counted; one more is UNAVAILABLE with a time to retry.",
    ),
    fixed(
        "limits.max_heavy",
        Shape::Count { least: 0 },
        "0",
        "The most calls whose work takes long (large requests and replies, token counts, filters of many globs) at once, off the threads that serve other calls; the next ones wait within their deadline. `0`: one less than there are cores, at least 1.",
    ),
    live(
        "limits.max_unread_bytes",
        Shape::Size { least: 1 },
        "256MiB",
        "The most bytes of requests that are being received or answered, an eighth of it for one connection; more are UNAVAILABLE, or RESOURCE_EXHAUSTED for the connection.",
    ),
    live(
        "limits.max_unsent_bytes",
        Shape::Size { least: 1 },
        "256MiB",
        "The most bytes of answers that clients have not taken yet, an eighth of it for one connection; more are UNAVAILABLE, or RESOURCE_EXHAUSTED for the connection.",
    ),
    live(
        "limits.max_streams",
        Shape::Count { least: 1 },
        "10000",
        "The most open streams: `WatchWorkspace`, `Health.Watch`, reflection.",
    ),
    live(
        "limits.max_connections",
        Shape::Count { least: 1 },
        "10000",
        "The most connections; more are closed at once.",
    ),
    fixed(
        "limits.max_streams_per_connection",
        Shape::Count { least: 1 },
        "1024",
        "The most streams that one connection may have open.",
    ),
    live(
        "limits.max_call_time",
        Shape::Span { least: "1s" },
        "60s",
        "The longest that a call may take, also where its caller allows more. Streams are not bounded.",
    ),
    live("limits.max_knowledge", Shape::Count { least: 0 }, "1000", "The most entries of `turn.knowledge`."),
    live("limits.max_variables", Shape::Count { least: 0 }, "256", "The most entries of `turn.variables`."),
    live("limits.max_inputs", Shape::Count { least: 0 }, "256", "The most entries of `turn.inputs`."),
    live("limits.max_messages", Shape::Count { least: 0 }, "10000", "The most messages of `turn.conversation`."),
    live("limits.max_segments", Shape::Count { least: 0 }, "10000", "The most segments of `turn.conversation`."),
    live("limits.max_tool_calls", Shape::Count { least: 0 }, "1000", "The most tool calls of one message."),
    live("limits.max_context_files", Shape::Count { least: 0 }, "1000", "The most entries of `turn.context_files`."),
    live("limits.max_digests", Shape::Count { least: 0 }, "16384", "The most entries of `if_none_match`."),
    live(
        "limits.max_values",
        Shape::Count { least: 0 },
        "100000",
        "The most items of all lists and objects of a request together; they are counted before they are decoded.",
    ),
    fixed(
        "revisions.count",
        Shape::Count { least: 1 },
        "16",
        "How many revisions of a workspace can be pinned, the newest included.",
    ),
    fixed(
        "revisions.bytes",
        Shape::Size { least: 0 },
        "64MiB",
        "The most bytes that the older revisions of one workspace may hold.",
    ),
    fixed(
        "watch.mode",
        Shape::Choice(&WATCH_WORDS),
        "auto",
        "How edits are noticed: `auto` (events, and polling where they fail), `events`, or `poll`.",
    ),
    fixed(
        "watch.poll_interval",
        Shape::Span { least: "100ms" },
        "2s",
        "How often files are checked where events do not work.",
    ),
    fixed(
        "watch.sweep_interval",
        Shape::Span { least: "100ms" },
        "10s",
        "How often, at most, all files are checked for changes that no event reported.",
    ),
    fixed(
        "auth.tokens_file",
        PATH,
        "null",
        "The file of bearer tokens; without it every caller may call everything. The file is reloaded as it is saved, as are those of `tls`.",
    ),
    fixed("tls.cert", PATH, "null", "The server's certificate chain, PEM; with `tls.key`."),
    fixed("tls.key", PATH, "null", "The private key of `tls.cert`, PEM."),
    fixed(
        "tls.client_ca",
        PATH,
        "null",
        "The authority, PEM, that must have signed the certificate of a client; without it clients need none.",
    ),
    fixed(
        "grpc.gzip",
        Shape::Bool,
        "false",
        "Sends gzip to clients that accept it, and accepts it from them. It costs ten times the CPU of a call.",
    ),
    fixed(
        "grpc.coalesce_writes",
        Shape::Bool,
        "true",
        "Sends what a connection writes for a call, or for several that come in parallel, in one piece: fewer system calls.",
    ),
    fixed(
        "grpc.hosts",
        Shape::Texts(HOST),
        "[]",
        "The names that the server is called by, such as `promptd.internal`. Where no token is needed, calls over HTTP/1.1, Connect and gRPC-Web must be for one of them, for `localhost`, or for an address that it listens on.",
    ),
    fixed(
        "grpc.web_origins",
        Shape::Texts(ORIGIN),
        "[]",
        "The origins whose pages may call, such as `https://app.example`; `*` for any. Empty: no page may, and gRPC-Web is off.",
    ),
    fixed(
        "grpc.max_connection_age",
        Shape::Span { least: "0s" },
        "30m",
        "How long a connection lives, so that replicas share the load; `0s`: without limit.",
    ),
    fixed("grpc.keepalive_interval", Shape::Span { least: "1s" }, "60s", "How often an idle connection is pinged."),
    fixed(
        "grpc.keepalive_timeout",
        Shape::Span { least: "1s" },
        "20s",
        "How long a ping may stay unanswered before the connection is closed. One whose client reads nothing of what it is sent is closed after both times.",
    ),
    fixed(
        "grpc.retry_delay",
        Shape::Span { least: "0s" },
        "1s",
        "The time to wait that UNAVAILABLE suggests to callers.",
    ),
    fixed(
        "drain.delay",
        Shape::Span { least: "0s" },
        "0s",
        "How long the service goes on after it has reported NOT_SERVING, so that balancers can send calls elsewhere.",
    ),
    fixed(
        "drain.limit",
        Shape::Span { least: "0s" },
        "10s",
        "How long calls may take to end at a shutdown before they are cut off.",
    ),
    fixed(
        "admin.listen",
        ADDRESS,
        "null",
        "The address of the HTTP server for `/metrics`, `/livez`, `/readyz` and `/debug/config`; unset: no such server. Keep it private. Flag `--admin`.",
    ),
    #[cfg(feature = "inspector")]
    fixed(
        "inspector.listen",
        ADDRESS_OR_OFF,
        "null",
        "The address of the inspector, a page that shows what the model is told; or `off`. Unset: port 50052 of the address of `listen`, if that is a loopback address and its port is not 0; elsewhere off. Port 0 picks a free one. An address that other machines can reach needs `auth.tokens_file` and `tls`, or `insecure: true`. Flag `--inspector`.",
    ),
    #[cfg(feature = "mcp")]
    fixed(
        "mcp.enabled",
        Shape::Bool,
        "true",
        "Whether `/mcp`, at the address of `listen`, serves clients of the Model Context Protocol. They need the same tokens as every other caller.",
    ),
    #[cfg(feature = "memory")]
    fixed(
        "memory.store",
        PATH,
        "null",
        "The folder that conversations are stored in; unset: none are. Flag `--memory`. See [memory.md](../memory.md).",
    ),
    #[cfg(feature = "memory")]
    fixed(
        "memory.keep.age",
        Shape::Span { least: "1s" },
        "null",
        "How long a session is kept after its last change; unset: until a call removes it.",
    ),
    #[cfg(feature = "memory")]
    fixed(
        "memory.keep.bytes",
        Shape::Size { least: 1 },
        "null",
        "The most that the sessions take of the disk; beyond it those are removed that have not changed for the longest time. Unset: no bound.",
    ),
    #[cfg(feature = "memory")]
    fixed(
        "memory.held_vectors",
        Shape::Size { least: 0 },
        "64MiB",
        "The most that is held in memory of the vectors of the sessions that were searched. Others are read for each search.",
    ),
    #[cfg(feature = "memory")]
    fixed(
        "memory.models.embed.url",
        MODEL_SERVER,
        "null",
        "The OpenAI-compatible server whose model turns messages into vectors, which say where topics shift and what is found by meaning; `/embeddings` left out. Unset: vectors are made of their words.",
    ),
    #[cfg(feature = "memory")]
    fixed("memory.models.embed.model", NAME, "null", "The model's name. Required with `url`."),
    #[cfg(feature = "memory")]
    fixed(
        "memory.models.embed.key_file",
        PATH,
        "null",
        "A file with the key that the server asks for, sent as a bearer token. Read at the start. Unset: none is sent.",
    ),
    #[cfg(feature = "memory")]
    fixed(
        "memory.models.embed.timeout",
        Shape::Span { least: "1s" },
        "1m",
        "The longest that a request to the model may take, of 100 texts at most.",
    ),
    #[cfg(feature = "memory")]
    fixed(
        "memory.models.embed.tokens_per_hour",
        Shape::Count { least: 1 },
        "null",
        "The most tokens an hour that requests take, as estimated; unset: no bound.",
    ),
    #[cfg(feature = "memory")]
    fixed(
        "memory.models.summarise.url",
        MODEL_SERVER,
        "null",
        "The OpenAI-compatible server whose model makes summaries, `/chat/completions` left out: `https://api.openai.com/v1`. Unset: none are made.",
    ),
    #[cfg(feature = "memory")]
    fixed("memory.models.summarise.model", NAME, "null", "The model's name. Required with `url`."),
    #[cfg(feature = "memory")]
    fixed(
        "memory.models.summarise.key_file",
        PATH,
        "null",
        "A file with the key that the server asks for, sent as a bearer token. Read at the start. Unset: none is sent.",
    ),
    #[cfg(feature = "memory")]
    fixed(
        "memory.models.summarise.timeout",
        Shape::Span { least: "1s" },
        "1m",
        "The longest that a request to the model may take.",
    ),
    #[cfg(feature = "memory")]
    fixed(
        "memory.models.summarise.concurrency",
        Shape::Count { least: 1 },
        "4",
        "How many summaries are made at once.",
    ),
    #[cfg(feature = "memory")]
    fixed(
        "memory.models.summarise.tokens_per_hour",
        Shape::Count { least: 1 },
        "null",
        "The most tokens an hour that requests and answers take, as estimated; unset: no bound.",
    ),
    #[cfg(feature = "memory")]
    fixed(
        "memory.models.summarise.segment_profile",
        ID,
        "kern-segment-summary",
        "The profile of requests for the summary of a segment, with the inputs `segment` and `target_tokens`.",
    ),
    #[cfg(feature = "memory")]
    fixed(
        "memory.models.summarise.rollup_profile",
        ID,
        "kern-rollup",
        "The profile of requests for the summary of summaries, with the inputs `summaries` and `target_tokens`.",
    ),
    #[cfg(feature = "memory")]
    fixed(
        "memory.models.summarise.notes_profile",
        ID,
        "kern-notes-summary",
        "The profile of requests for the summary of daily notes, with the inputs `notes` and `target_tokens`.",
    ),
    #[cfg(feature = "memory")]
    fixed(
        "memory.segments.min_messages",
        Shape::Count { least: 1 },
        "3",
        "The fewest messages that are divided into segments.",
    ),
    #[cfg(feature = "memory")]
    fixed(
        "memory.segments.min_new_messages",
        Shape::Count { least: 1 },
        "10",
        "The same, after a session's first segments.",
    ),
    #[cfg(feature = "memory")]
    fixed(
        "memory.segments.min_new_tokens",
        Shape::Count { least: 0 },
        "10000",
        "The fewest estimated tokens of such messages.",
    ),
    #[cfg(feature = "memory")]
    fixed(
        "memory.segments.chunk_messages",
        Shape::Range { least: 3, most: 2_000 },
        "500",
        "The most messages that are divided together, whatever tokens they have; 2000 at most.",
    ),
    #[cfg(feature = "memory")]
    fixed(
        "memory.segments.topic_distance",
        Shape::Share,
        "0.8",
        "A segment ends where the distance to what follows is greater.",
    ),
    #[cfg(feature = "memory")]
    fixed(
        "memory.segments.target_tokens",
        Shape::Count { least: 1 },
        "15000",
        "A segment ends before it has more estimated tokens.",
    ),
    #[cfg(feature = "memory")]
    fixed(
        "memory.segments.min_segment_tokens",
        Shape::Count { least: 0 },
        "5000",
        "A segment of fewer tokens is merged with a near neighbour.",
    ),
    #[cfg(feature = "memory")]
    fixed(
        "memory.segments.min_segment_messages",
        Shape::Count { least: 0 },
        "10",
        "A segment of fewer messages is merged with a neighbour.",
    ),
    #[cfg(feature = "memory")]
    fixed(
        "memory.segments.merge_distance",
        Shape::Share,
        "0.7",
        "How near the neighbour of a segment of few tokens must be.",
    ),
    #[cfg(feature = "memory")]
    fixed(
        "memory.segments.summary_divisor",
        Shape::Count { least: 1 },
        "10",
        "A summary may have one token for so many of its segment …",
    ),
    #[cfg(feature = "memory")]
    fixed("memory.segments.min_summary_tokens", Shape::Count { least: 1 }, "200", "… and at least so many …"),
    #[cfg(feature = "memory")]
    fixed("memory.segments.max_summary_tokens", Shape::Count { least: 1 }, "1500", "… and at most so many."),
    #[cfg(feature = "memory")]
    fixed("memory.segments.rollup_size", Shape::Count { least: 2 }, "10", "How many summaries are rolled up into one."),
    #[cfg(feature = "memory")]
    fixed(
        "memory.segments.rollup_tokens",
        Shape::Count { least: 1 },
        "1500",
        "How many tokens the summary of a rollup may have.",
    ),
    #[cfg(feature = "memory")]
    fixed(
        "memory.notes.files",
        NOTES,
        "notes/????-??-??.md",
        "A workspace's daily notes: a path whose file name has a `?` for each digit of a date. Those before the greatest name are summed up.",
    ),
    #[cfg(feature = "memory")]
    fixed(
        "memory.notes.most",
        Shape::Count { least: 1 },
        "5",
        "How many notes are summed up: the last ones before the greatest name.",
    ),
    #[cfg(feature = "memory")]
    fixed(
        "memory.notes.target_tokens",
        Shape::Count { least: 1 },
        "1000",
        "How many tokens the summary of notes may have.",
    ),
    #[cfg(feature = "otlp")]
    fixed(
        "otlp.endpoint",
        ENDPOINT,
        "null",
        "The OpenTelemetry collector that gets a span for each call, by gRPC: `http://HOST:PORT`; unset: none does.",
    ),
    #[cfg(feature = "otlp")]
    fixed("otlp.service_name", Shape::Text(Text::ANY), "promptd", "What the collector knows this service by."),
    #[cfg(feature = "otlp")]
    fixed(
        "otlp.sample",
        Shape::Share,
        "1",
        "The share, from `0` to `1`, of calls without a `traceparent` that get a span. Where there is one, its flag decides.",
    ),
    #[cfg(feature = "otlp")]
    fixed("otlp.timeout", Shape::Span { least: "1s" }, "5s", "The longest that a request to the collector may take."),
    #[cfg(feature = "record")]
    fixed(
        "record.dir",
        PATH,
        "null",
        "The folder that requests are recorded in, with the files that they were answered from; unset: nothing is recorded. See [recording.md](../recording.md).",
    ),
    #[cfg(feature = "record")]
    fixed("record.sample", Shape::Share, "1", "The share of calls that is recorded, from `0` to `1`."),
    #[cfg(feature = "record")]
    fixed(
        "record.max_bytes",
        Shape::Size { least: 1 },
        "1GiB",
        "The most that the records take of the disk. Beyond it the oldest are removed.",
    ),
    #[cfg(feature = "record")]
    fixed("record.max_age", Shape::Span { least: "1s" }, "7d", "How long a request is kept."),
    #[cfg(feature = "record")]
    fixed(
        "record.redact",
        Shape::TurnFields,
        "[]",
        "Fields of the turn that are not recorded, such as `user` or `conversation`. The ephemeral prompt never is.",
    ),
    live(
        "log.level",
        Shape::Text(LEVELS),
        "info",
        "`off`, `error`, `warn`, `info`, `debug` or `trace`, also by module: `info,promptd::source=debug`. Variable `PROMPTD_LOG`.",
    ),
    fixed("log.format", Shape::Choice(&FORMAT_WORDS), "text", "`text` or `json`."),
];

/// The table as Markdown.
#[must_use]
pub fn markdown() -> String {
    let mut out = String::from("| setting | default | on change | what it does |\n|---|---|---|---|\n");
    for Setting { key, default, reloads, about, .. } in TABLE {
        let default = if *default == "null" { "—".to_owned() } else { format!("`{default}`") };
        let change = if *reloads { "at once" } else { "restart" };
        let _ = writeln!(out, "| `{key}` | {default} | {change} | {about} |");
    }
    out
}
