"""What a collector gets of calls, and what calls notice of a collector."""

import os
import re
import subprocess
import time
from pathlib import Path
from queue import Empty

import grpc
import pytest
from collector import Collector
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from service import ROOT, Service

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
ASSEMBLE = "promptd.v1.PromptService/AssemblePrompt"
# Of crates/promptd-otlp.
MAX_QUEUED = 2_048


@pytest.fixture(name="collector")
def _collector():
    with Collector() as collector:
        yield collector


@pytest.fixture(name="service")
def _service(collector):
    with Service(collector.port) as service:
        yield service


def parent(flags):
    return {"traceparent": f"00-{TRACE}-{PARENT}-{flags}", "tracestate": "vendor=1"}


def attributes(span):
    return {pair.key: pair.value.string_value for pair in span.attributes}


def test_a_call_is_a_span_below_its_callers_with_the_name_and_the_version_of_its_prompt(collector, service):
    secret = "berth seven is closed"
    before = time.time_ns()
    headers = parent("01") | {"x-request-id": "turn-17"}
    _, answer = service.call(headers=headers, turn={"ephemeralSystemPrompt": secret})
    resource, span = collector.next()
    assert (span.trace_id.hex(), span.parent_span_id.hex(), span.trace_state) == (TRACE, PARENT, "vendor=1")
    assert (span.name, span.kind) == (ASSEMBLE, Span.SPAN_KIND_SERVER)
    assert before <= span.start_time_unix_nano < span.end_time_unix_nano <= time.time_ns()
    assert attributes(span) == {
        "rpc.system.name": "grpc",
        "rpc.method": ASSEMBLE,
        "rpc.response.status_code": "OK",
        "promptd.request_id": "turn-17",
        "promptd.profile": "five-layer",
        "gen_ai.prompt.name": "example",
        "gen_ai.prompt.version": answer["digest"],
    }
    assert resource["service.name"] == "promptd" and re.fullmatch(r"\d+\.\d+\.\d+", resource["service.version"])
    assert not any(secret.encode() in request for request in collector.raw)


def test_calls_by_grpc_and_headers_of_the_environment_arrive_too(collector, monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=harbour")
    with Service(collector.port) as service, grpc.insecure_channel(service.address) as channel:
        request = b"\x0a\x07example"  # workspace_id
        channel.unary_unary(f"/{ASSEMBLE}")(request, metadata=list(parent("01").items()), timeout=20)
        _, span = collector.next()
    assert (span.trace_id.hex(), span.parent_span_id.hex(), span.trace_state) == (TRACE, PARENT, "vendor=1")
    assert attributes(span)["gen_ai.prompt.name"] == "example" and attributes(span)["gen_ai.prompt.version"]
    assert ("x-team", "harbour") in collector.metadata


def test_the_version_changes_with_the_prompt(collector, service):
    for name in ["Dana", "Ines", "Dana"]:
        service.call(turn={"user": {"name": name}, "now": "2026-03-01T12:00:00Z"})
    versions = [attributes(collector.next()[1])["gen_ai.prompt.version"] for _ in range(3)]
    assert versions[0] == versions[2] != versions[1]


def test_the_callers_flag_decides_and_without_one_the_share_does(collector, service):
    service.call(headers=parent("00"))
    service.call(headers={"traceparent": "nonsense", "x-request-id": "root"})
    _, span = collector.next()
    assert attributes(span)["promptd.request_id"] == "root"
    assert span.parent_span_id == b"" and span.trace_id.hex() != TRACE
    with Service(collector.port, sample=0) as quiet:
        quiet.call(headers={"x-request-id": "left-out"})
        quiet.call(headers=parent("01") | {"x-request-id": "asked-for"})
        assert attributes(collector.next()[1])["promptd.request_id"] == "asked-for"


def test_a_call_that_fails_says_why_and_is_an_error_only_where_the_server_is_at_fault(collector, service):
    service.call(workspaceId="nowhere")
    _, span = collector.next()
    assert attributes(span)["error.type"] == "NOT_FOUND"
    assert attributes(span)["promptd.reason"] == "WORKSPACE_NOT_FOUND"
    assert "gen_ai.prompt.version" not in attributes(span)
    assert span.status.code == Status.STATUS_CODE_UNSET
    with grpc.insecure_channel(service.address) as channel, pytest.raises(grpc.RpcError):
        channel.unary_unary("/promptd.v1.PromptService/Nothing")(b"", timeout=20)
    _, span = collector.next()
    # What callers send is not a name.
    assert (span.name, attributes(span)["error.type"]) == ("other", "UNIMPLEMENTED")
    assert (span.status.code, span.status.message) == (Status.STATUS_CODE_ERROR, "UNIMPLEMENTED")


def test_calls_go_on_without_the_collector_and_it_gets_spans_again_when_it_is_back(collector, service):
    collector.stop()
    assert service.call()[0] == 200
    assert "spans cannot be sent" in service.wait_for_log("spans cannot be sent")
    assert service.metric("promptd_otlp_failed_total") >= 1
    collector.start()
    # The connection is tried again by itself; how soon is the library's choice.
    while collector.spans.empty():
        assert service.call()[0] == 200
        try:
            collector.spans.put(collector.spans.get(timeout=0.5))
        except Empty:
            continue
    service.wait_for_log("spans are sent again")
    assert sum("spans cannot be sent" in line for line in service.log) == 1


def test_a_collector_that_hangs_costs_spans_which_are_counted_and_holds_no_call(collector):
    collector.answers.clear()
    # A call that waited for the collector would take this long.
    with Service(collector.port, timeout="300s") as service:
        for _ in range(MAX_QUEUED + 52):
            began = time.monotonic()
            assert service.call(method="promptd.v1.WorkspaceService/GetWorkspace")[0] == 200
            assert time.monotonic() - began < 10
        assert service.metric("promptd_otlp_dropped_total") == 52
        assert service.metric("promptd_otlp_failed_total") == 0
        collector.answers.set()
        assert "spans=52" in service.wait_for_log("the queue is full: spans are dropped")
        assert "dropped=52" in service.wait_for_log("no more spans are dropped")
        assert service.metric("promptd_otlp_sent_total") == MAX_QUEUED


def test_what_is_left_is_sent_before_the_process_ends(collector, service):
    for _ in range(50):
        service.call(headers={"x-request-id": "last"})
    assert service.stop() == 0
    assert [attributes(collector.next()[1])["promptd.request_id"] for _ in range(50)] == ["last"] * 50


def test_a_hanging_collector_holds_the_end_for_a_moment_only(collector, service):
    collector.answers.clear()
    service.call()
    began = time.monotonic()
    assert service.stop() == 0
    assert time.monotonic() - began < 10
    service.wait_for_log("the last spans were not sent")


@pytest.mark.parametrize("endpoint", ["https://collector:4317", "http://collector", "http://c:4317/v1/traces", "c:4317"])
def test_an_endpoint_that_cannot_be_used_is_named_with_what_can(endpoint, tmp_path):
    config = Path(tmp_path) / "promptd.yaml"
    config.write_text(f"otlp:\n  endpoint: {endpoint}\nworkspaces:\n  single: [{ROOT / 'workspace-example'}]\n")
    ran = subprocess.run([os.environ["PROMPTD_BIN"], "serve", "--config", config], capture_output=True, text=True)
    assert ran.returncode == 1
    assert "promptd.yaml:2:13" in ran.stderr and "http://HOST:PORT" in ran.stderr
