//! `listen`, `grpc`, `drain`, and the limits of calls.

use promptd_contract::decode;
use promptd_core::{text::clamped, yaml::Fields};

use super::read::{A_SECOND, ONE, a_count, at_least, count, section, size, span, value, values};
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
        max_message_bytes: at_least(&ONE, &mut limits, "max_message_bytes", size),
        max_in_flight: at_least(&ONE, &mut limits, "max_in_flight", a_count),
        max_streams: at_least(&ONE, &mut limits, "max_streams", a_count),
        max_connections: at_least(&ONE, &mut limits, "max_connections", a_count),
        max_streams_per_connection: clamped(at_least(&ONE, &mut limits, "max_streams_per_connection", a_count)),
        max_unread_bytes: at_least(&ONE, &mut limits, "max_unread_bytes", size),
        max_unsent_bytes: at_least(&ONE, &mut limits, "max_unsent_bytes", size),
        max_heavy: a_count(&mut limits, "max_heavy").filter(|calls| *calls > 0),
        max_call_time: at_least(&A_SECOND, &mut limits, "max_call_time", span),
        keepalive_interval: at_least(&A_SECOND, &mut grpc, "keepalive_interval", span),
        keepalive_timeout: at_least(&A_SECOND, &mut grpc, "keepalive_timeout", span),
        max_connection_age: span(&mut grpc, "max_connection_age").filter(|age| !age.is_zero()),
        retry_delay: span(&mut grpc, "retry_delay").unwrap_or_default(),
        drain_delay: span(&mut drain, "delay").unwrap_or_default(),
        drain_limit: span(&mut drain, "limit").unwrap_or_default(),
        gzip: grpc.bool("gzip").unwrap_or_default(),
        coalesce_writes: grpc.bool("coalesce_writes").unwrap_or_default(),
        hosts: values(&mut grpc, "hosts", Host::parse).into_iter().map(|(host, _)| host).collect(),
        web: origins(&mut grpc),
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
