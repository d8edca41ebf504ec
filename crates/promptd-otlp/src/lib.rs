//! A span for every call, sent to an OpenTelemetry collector by OTLP over gRPC.
//!
//! The queue is bounded, and what does not fit into it is dropped and counted: no call waits for a collector. What a span has of
//! a prompt is its name and its digest, never a text.

#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_types))]
#![warn(unreachable_pub)]

mod exporter;
mod queue;

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use opentelemetry::{
    Context, KeyValue,
    trace::{
        Span as _, SpanContext, SpanId, SpanKind, Status as SpanStatus, TraceContextExt as _, TraceFlags, TraceId,
        TraceState, Tracer as _, TracerProvider as _,
    },
};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::{
    Resource,
    trace::{BatchConfigBuilder, BatchSpanProcessor, Sampler, SdkTracer, SdkTracerProvider},
};

use self::{exporter::Counting, queue::Bounded};

pub use self::queue::Status;

/// The most spans that wait to be sent.
pub const MAX_QUEUED: usize = 2_048;
/// The most spans of one request to the collector.
const MAX_BATCH: usize = 512;
/// How long a span waits for others at most.
const SEND_INTERVAL: Duration = Duration::from_secs(1);

/// The codes that are errors of a server, by the semantic conventions; with the others it answers what was wrong with a call.
const SERVER_FAULTS: [&str; 6] =
    ["UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"];

/// Where spans go, and which.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The collector: `http://HOST:PORT`.
    pub endpoint: String,
    /// `service.name`.
    pub service_name: String,
    /// `service.version`.
    pub service_version: &'static str,
    /// The share, from 0 to 1, of calls without a parent that get a span. A parent's flag decides for those that have one.
    pub sample: f64,
    /// The longest that one request to the collector may take.
    pub timeout: Duration,
}

/// A call that has ended.
#[derive(Debug, Clone, Copy)]
pub struct Span<'a> {
    /// The method, `promptd.v1.PromptService/AssemblePrompt`.
    pub method: &'static str,
    /// The caller's span.
    pub parent: Option<Parent<'a>>,
    /// When the call ended.
    pub ended: SystemTime,
    /// How long it took.
    pub took: Duration,
    /// The name of its status, `OK`.
    pub code: &'static str,
    /// Why it failed, from a fixed set of reasons.
    pub reason: Option<&'a str>,
    /// The call's id in logs.
    pub request_id: &'a str,
    /// The workspace that it named.
    pub workspace: Option<&'a str>,
    /// The prompt that it was answered with.
    pub prompt: Option<Prompt<'a>>,
}

/// The span that called, as `traceparent` and `tracestate` name it.
#[derive(Debug, Clone, Copy)]
pub struct Parent<'a> {
    /// 32 lower-case hex digits.
    pub trace_id: &'a str,
    /// 16 lower-case hex digits.
    pub span_id: &'a str,
    /// Whether the caller records its trace.
    pub is_sampled: bool,
    /// `tracestate`, as it came.
    pub state: Option<&'a str>,
}

/// What is told of a prompt.
#[derive(Debug, Clone, Copy)]
pub struct Prompt<'a> {
    /// The profile.
    pub profile: &'a str,
    /// The digest: 64 lower-case hex digits.
    pub digest: &'a str,
}

/// Sends spans.
#[derive(Debug)]
pub struct Exporter {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    status: Status,
}

/// Why spans cannot be sent.
#[derive(Debug)]
pub struct StartError(String);

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StartError {}

impl Exporter {
    /// Starts a thread that sends. It must be called in a tokio runtime, which the connection lives in; a collector that cannot be
    /// reached is not an error, now or later.
    pub fn start(options: &Options) -> Result<Self, StartError> {
        let exporter = SpanExporter::builder()
            .with_tonic()
            .with_endpoint(&options.endpoint)
            .with_timeout(options.timeout)
            .build()
            .map_err(|error| StartError(format!("cannot send spans to {}: {error}", options.endpoint)))?;
        let status = Status::default();
        let batches = BatchConfigBuilder::default()
            .with_max_queue_size(MAX_QUEUED)
            .with_max_export_batch_size(MAX_BATCH)
            .with_scheduled_delay(SEND_INTERVAL)
            .build();
        let exporter = Counting::new(exporter, options.endpoint.clone(), status.clone());
        let processor = BatchSpanProcessor::builder(exporter).with_batch_config(batches).build();
        let resource = Resource::builder_empty()
            .with_service_name(options.service_name.clone())
            .with_attribute(KeyValue::new("service.version", options.service_version))
            .build();
        let provider = SdkTracerProvider::builder()
            .with_span_processor(Bounded::new(processor, status.clone()))
            .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(options.sample))))
            .with_resource(resource)
            .build();
        Ok(Self { tracer: provider.tracer("promptd"), provider, status })
    }

    /// Puts a call's span into the queue, if it is sampled and there is room. Never waits.
    pub fn send(&self, span: &Span<'_>) {
        let started = span.ended.checked_sub(span.took).unwrap_or(span.ended);
        let builder = self.tracer.span_builder(span.method).with_kind(SpanKind::Server).with_start_time(started);
        // A context that is there but names no span would be a parent that is not sampled.
        let parent = span.parent.and_then(Parent::context);
        let parent = parent.map_or_else(Context::new, |parent| Context::new().with_remote_span_context(parent));
        let mut sent = builder.with_attributes(attributes(span)).start_with_context(&self.tracer, &parent);
        if SERVER_FAULTS.contains(&span.code) {
            sent.set_status(SpanStatus::error(span.reason.unwrap_or(span.code).to_owned()));
        }
        sent.end_with_timestamp(span.ended);
    }

    /// How sending goes.
    #[must_use]
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// Sends what waits, within a limit; how many spans are lost. It blocks.
    #[must_use]
    pub fn finish(&self, limit: Duration) -> u64 {
        let failed = self.status.failed.get();
        // What went wrong is counted.
        let _ = self.provider.shutdown_with_timeout(limit);
        self.status.failed.get() - failed + self.status.queued()
    }
}

/// By the semantic conventions of RPC and of generative AI.
fn attributes(span: &Span<'_>) -> Vec<KeyValue> {
    let mut attributes = vec![
        KeyValue::new("rpc.system.name", "grpc"),
        KeyValue::new("rpc.method", span.method),
        KeyValue::new("rpc.response.status_code", span.code),
        KeyValue::new("promptd.request_id", span.request_id.to_owned()),
    ];
    let mut add = |key, value: Option<&str>| attributes.extend(value.map(|value| KeyValue::new(key, value.to_owned())));
    add("error.type", (span.code != "OK").then_some(span.code));
    add("promptd.reason", span.reason);
    add("gen_ai.prompt.name", span.workspace);
    add("gen_ai.prompt.version", span.prompt.map(|prompt| prompt.digest));
    add("promptd.profile", span.prompt.map(|prompt| prompt.profile));
    attributes
}

impl Parent<'_> {
    fn context(self) -> Option<SpanContext> {
        let (trace, span) = (TraceId::from_hex(self.trace_id).ok()?, SpanId::from_hex(self.span_id).ok()?);
        let flags = if self.is_sampled { TraceFlags::SAMPLED } else { TraceFlags::default() };
        // One that is not well-formed is left out, as its specification says.
        let state = self.state.and_then(|state| state.parse::<TraceState>().ok()).unwrap_or_default();
        Some(SpanContext::new(trace, span, flags, true, state))
    }
}
