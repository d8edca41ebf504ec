//! `listen`, `grpc`, `drain`, and the limits of calls.

use promptd_contract::decode;
use promptd_core::{text::clamped, yaml::Fields};

use super::read::{count, section, size, span, value, values};
use crate::{
    config::{Overrides, address},
    grpc::{Host, Options, Origin, Origins},
};

pub(super) fn options(root: &mut Fields<'_, '_>, mut limits: Fields<'_, '_>, overrides: &Overrides) -> Options {
    let listen = value(root, "listen", address);
    let mut grpc = section(root, "grpc");
    let mut drain = section(root, "drain");
    let options = Options {
        listen: overrides.listen.or(listen).unwrap_or(Options::default().listen),
        request: request_limits(&mut limits),
        max_message_bytes: size(&mut limits, "max_message_bytes"),
        max_in_flight: count(&mut limits, "max_in_flight"),
        max_streams: count(&mut limits, "max_streams"),
        max_connections: count(&mut limits, "max_connections"),
        max_streams_per_connection: clamped(count(&mut limits, "max_streams_per_connection")),
        max_unread_bytes: size(&mut limits, "max_unread_bytes"),
        max_unsent_bytes: size(&mut limits, "max_unsent_bytes"),
        max_heavy: Some(count(&mut limits, "max_heavy")).filter(|calls| *calls > 0),
        max_call_time: span(&mut limits, "max_call_time"),
        keepalive_interval: span(&mut grpc, "keepalive_interval"),
        keepalive_timeout: span(&mut grpc, "keepalive_timeout"),
        max_connection_age: Some(span(&mut grpc, "max_connection_age")).filter(|age| !age.is_zero()),
        retry_delay: span(&mut grpc, "retry_delay"),
        drain_delay: span(&mut drain, "delay"),
        drain_limit: span(&mut drain, "limit"),
        gzip: grpc.bool("gzip").unwrap_or_default(),
        coalesce_writes: grpc.bool("coalesce_writes").unwrap_or_default(),
        hosts: values(&mut grpc, "hosts", Host::parse).into_iter().map(|(host, _)| host).collect(),
        web: origins(&mut grpc),
        #[cfg(feature = "mcp")]
        mcp: mcp(section(root, "mcp")),
    };
    limits.finish();
    grpc.finish();
    drain.finish();
    options
}

#[cfg(feature = "mcp")]
fn mcp(mut fields: Fields<'_, '_>) -> bool {
    let enabled = fields.bool("enabled").unwrap_or(true);
    fields.finish();
    enabled
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
        max_values: count(limits, "max_values"),
    }
}

/// `grpc.web_origins`: `*` anywhere in the list allows all; an empty list allows no page and turns gRPC-Web off.
fn origins(grpc: &mut Fields<'_, '_>) -> Option<Origins> {
    let given = values(grpc, "web_origins", |text| match text {
        "*" => Ok(None),
        _ => Origin::parse(text).map(Some),
    });
    let listed: Option<Vec<_>> = given.into_iter().map(|(origin, _)| origin).collect();
    match listed {
        None => Some(Origins::Any),
        Some(listed) if listed.is_empty() => None,
        Some(listed) => Some(Origins::Listed(listed)),
    }
}
