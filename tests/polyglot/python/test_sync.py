"""The synchronous client of grpcio."""

import contextlib
import json
import re

import grpc
import pytest
from google.protobuf import json_format
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2
from grpc_status import rpc_status
from promptd.v1 import promptd_pb2 as pb
from promptd.v1 import promptd_pb2_grpc as services

import checks
from flaky import Flaky
from server import CASES, SERVICE_CONFIG, TLS, Server

TIMEOUT = 10
TOKEN = {"name": "desk", "token": "x" * 32}


@pytest.fixture(scope="module")
def server():
    with Server() as running:
        yield running


@pytest.fixture(scope="module")
def channel(server):
    with grpc.insecure_channel(server.address) as channel:
        yield channel


@pytest.fixture
def prompts(channel):
    return services.PromptServiceStub(channel)


def call(channel, service, method, request):
    return getattr(getattr(services, f"{service}Stub")(channel), method)(request, timeout=TIMEOUT)


@contextlib.contextmanager
def fails_with(code):
    with pytest.raises(grpc.RpcError) as caught:
        yield caught
    assert caught.value.code() == code, caught.value


def test_all_five_layers_in_order(prompts):
    checks.check_full(prompts.AssemblePrompt(checks.assemble(), timeout=TIMEOUT))


@pytest.mark.parametrize("case", CASES["without"], ids=lambda case: str(case["set"]))
def test_the_right_subset_without_each(prompts, case):
    checks.check_without(case, prompts.AssemblePrompt(checks.assemble(**case["set"]), timeout=TIMEOUT))


def test_the_same_turn_gives_the_same_bytes_and_held_parts_stay_away(prompts):
    first, second = (prompts.AssemblePrompt(checks.assemble(), timeout=TIMEOUT) for _ in range(2))
    assert first.SerializeToString(deterministic=True) == second.SerializeToString(deterministic=True)

    request = checks.assemble()
    request.if_none_match.append(first.digest)
    held = prompts.AssemblePrompt(request, timeout=TIMEOUT)
    assert held.not_modified and not held.messages and not held.sections and held.digest == first.digest

    later = checks.assemble(now="2026-03-01T02:31:00Z")
    later.if_none_match.extend(message.digest for message in first.messages)
    moved = prompts.AssemblePrompt(later, timeout=TIMEOUT)
    assert [m.name for m in moved.messages if not m.not_modified] == ["runtime_facts"]
    assert all(m.not_modified == (m.content == "") for m in moved.messages)


def test_the_text_format_is_the_messages_joined(prompts):
    request = checks.assemble()
    request.render_format = pb.RENDER_FORMAT_TEXT
    prompt = prompts.AssemblePrompt(request, timeout=TIMEOUT)
    assert prompt.rendered == checks.text(prompt)


def test_tokens_are_counted_where_asked_for(prompts):
    request = checks.assemble()
    assert not prompts.AssemblePrompt(request, timeout=TIMEOUT).size.HasField("tokens")
    request.token_encoding = "o200k_base"
    assert 500 < prompts.AssemblePrompt(request, timeout=TIMEOUT).size.tokens < 10_000


def test_a_heartbeat_reply_is_judged(prompts):
    def ok(text, heartbeat=True):
        request = pb.ParseReplyRequest(workspace_id="example", text=text, heartbeat=heartbeat)
        return prompts.ParseReply(request, timeout=TIMEOUT).heartbeat_ok

    assert ok("**HEARTBEAT_OK**.") and not ok("HEARTBEAT_OKAY") and not ok("HEARTBEAT_OK", heartbeat=False)


@pytest.mark.parametrize("case", CASES["errors"], ids=lambda case: case["name"])
def test_errors_and_their_details(channel, case):
    request = json_format.ParseDict(case["request"], getattr(pb, f"{case['method']}Request")())
    with pytest.raises(grpc.RpcError) as caught:
        call(channel, case["service"], case["method"], request)
    checks.check_error(case, caught.value, rpc_status.from_call(caught.value))


def test_a_request_over_the_limit(prompts):
    request = checks.assemble(conversation_summary="x" * (5 << 20))
    with fails_with(grpc.StatusCode.RESOURCE_EXHAUSTED) as caught:
        prompts.AssemblePrompt(request, timeout=TIMEOUT)
    assert "4194304" in caught.value.details() or "4 MiB" in caught.value.details()


def test_skills_are_listed_and_read(channel):
    workspaces = services.WorkspaceServiceStub(channel)
    listed = workspaces.ListSkills(pb.ListSkillsRequest(workspace_id="example"), timeout=TIMEOUT).skills
    assert [s.name for s in listed if not s.shown] == ["internal-incident-report"]
    request = pb.ReadSkillRequest(workspace_id="example", name="radio-log", file="assets/entry.txt")
    assert b"Channel" in workspaces.ReadSkill(request, timeout=TIMEOUT).content


def test_pages_cover_all_workspaces_once(channel):
    workspaces, seen, token = services.WorkspaceServiceStub(channel), [], ""
    while True:
        page = workspaces.ListWorkspaces(pb.ListWorkspacesRequest(page_size=1, page_token=token), timeout=TIMEOUT)
        seen += [w.id for w in page.workspaces]
        token = page.next_page_token
        if not token:
            break
    assert seen == sorted(seen) and {"example", "locked"} <= set(seen)


def test_a_watch_sees_an_edit_and_the_old_revision_stays(server, channel, prompts):
    watch = services.WorkspaceServiceStub(channel).WatchWorkspace(
        pb.WatchWorkspaceRequest(workspace_id="example"), timeout=TIMEOUT
    )
    before = next(watch)
    assert before.workspace.id == "example" and not before.changed_paths
    soul = server.workspace / "SOUL.md"
    old = soul.read_text(encoding="utf-8")
    soul.write_text(old + "\n- Ring the bell twice.\n", encoding="utf-8")
    after = next(watch)
    watch.cancel()
    assert list(after.changed_paths) == ["SOUL.md"] and after.workspace.revision != before.workspace.revision

    assert "bell twice" in checks.text(prompts.AssemblePrompt(checks.assemble(), timeout=TIMEOUT))
    pinned = checks.assemble()
    pinned.revision = before.workspace.revision
    assert "bell twice" not in checks.text(prompts.AssemblePrompt(pinned, timeout=TIMEOUT))


def test_health(channel):
    health = health_pb2_grpc.HealthStub(channel)
    for service in ("", "promptd.v1.PromptService", "promptd.v1.WorkspaceService", "promptd.v1.ProfileService"):
        answer = health.Check(health_pb2.HealthCheckRequest(service=service), timeout=TIMEOUT)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
    with fails_with(grpc.StatusCode.NOT_FOUND):
        health.Check(health_pb2.HealthCheckRequest(service="nobody"), timeout=TIMEOUT)
    watch = health.Watch(health_pb2.HealthCheckRequest(service="nobody"), timeout=TIMEOUT)
    assert next(watch).status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
    watch.cancel()
    assert "promptd.v1.PromptService" in health.List(health_pb2.HealthListRequest(), timeout=TIMEOUT).statuses


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
def test_reflection(channel, version):
    ask = channel.stream_stream(
        f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
        reflection_pb2.ServerReflectionRequest.SerializeToString,
        reflection_pb2.ServerReflectionResponse.FromString,
    )
    requests = [
        reflection_pb2.ServerReflectionRequest(list_services=""),
        reflection_pb2.ServerReflectionRequest(file_containing_symbol="promptd.v1.Turn"),
        reflection_pb2.ServerReflectionRequest(file_containing_symbol="google.rpc.ErrorInfo"),
    ]
    listed, turn, info = ask(iter(requests), timeout=TIMEOUT)
    names = {service.name for service in listed.list_services_response.service}
    assert {"promptd.v1.PromptService", "promptd.v1.WorkspaceService", "promptd.v1.ProfileService"} <= names
    assert "grpc.health.v1.Health" in names
    assert turn.file_descriptor_response.file_descriptor_proto and info.file_descriptor_response.file_descriptor_proto


def test_a_deadline(channel):
    watch = services.WorkspaceServiceStub(channel).WatchWorkspace(
        pb.WatchWorkspaceRequest(workspace_id="example"), timeout=0.3
    )
    with fails_with(grpc.StatusCode.DEADLINE_EXCEEDED):
        for _ in watch:
            pass


def test_request_ids_come_back(prompts):
    _, given = prompts.AssemblePrompt.with_call(
        checks.assemble(), timeout=TIMEOUT, metadata=[("x-request-id", "harbor-17")]
    )
    assert dict(given.initial_metadata())["x-request-id"] == "harbor-17"
    _, made = prompts.AssemblePrompt.with_call(checks.assemble(), timeout=TIMEOUT)
    assert dict(made.initial_metadata())["x-request-id"]


@pytest.mark.parametrize("options, survives", [([], False), ([("grpc.service_config", SERVICE_CONFIG)], True)])
def test_the_service_config_retries_a_lost_connection(server, options, survives):
    options = [*options, ("grpc.initial_reconnect_backoff_ms", 100), ("grpc.min_reconnect_backoff_ms", 100)]
    with Flaky(server.port, failures=2) as proxy, grpc.insecure_channel(proxy.address, options=options) as channel:
        prompts = services.PromptServiceStub(channel)
        if survives:
            checks.check_full(prompts.AssemblePrompt(checks.assemble(), timeout=TIMEOUT))
            assert proxy.seen == 3
        else:
            with fails_with(grpc.StatusCode.UNAVAILABLE):
                prompts.AssemblePrompt(checks.assemble(), timeout=TIMEOUT)


def test_tls_and_client_certificates():
    tls = {name: str(TLS / file) for name, file in [("cert", "server.pem"), ("key", "server.key"), ("client_ca", "ca.pem")]}
    pem = lambda name: (TLS / name).read_bytes()
    with Server(tls=tls) as server:
        known = grpc.ssl_channel_credentials(pem("ca.pem"), pem("client.key"), pem("client.pem"))
        with grpc.secure_channel(f"localhost:{server.port}", known) as channel:
            call(channel, "PromptService", "AssemblePrompt", checks.assemble())
        unknown = grpc.ssl_channel_credentials(pem("ca.pem"))
        with grpc.secure_channel(f"localhost:{server.port}", unknown) as channel:
            with fails_with(grpc.StatusCode.UNAVAILABLE):
                call(channel, "PromptService", "AssemblePrompt", checks.assemble())
        with grpc.insecure_channel(server.address) as channel:
            with fails_with(grpc.StatusCode.UNAVAILABLE):
                call(channel, "PromptService", "AssemblePrompt", checks.assemble())


def test_tokens_open_what_they_name_and_nothing_else(tmp_path):
    tokens = tmp_path / "tokens.yaml"
    tokens.write_text(json.dumps({"tokens": [TOKEN | {"workspaces": ["example"], "skills": ["tide-*"]}]}))
    tls = {"cert": str(TLS / "server.pem"), "key": str(TLS / "server.key")}
    secure = grpc.ssl_channel_credentials((TLS / "ca.pem").read_bytes())

    with Server(auth={"tokens_file": str(tokens)}, tls=tls) as server:
        address = f"localhost:{server.port}"
        bearer = grpc.composite_channel_credentials(secure, grpc.access_token_call_credentials(TOKEN["token"]))
        with grpc.secure_channel(address, bearer) as channel:
            prompt = call(channel, "PromptService", "AssemblePrompt", checks.assemble())
            assert re.findall("<name>(.*)</name>", checks.text(prompt)) == ["tide-window"]
            listed = call(channel, "WorkspaceService", "ListWorkspaces", pb.ListWorkspacesRequest())
            assert [w.id for w in listed.workspaces] == ["example"]
            for hidden in ("locked", "nowhere"):
                with fails_with(grpc.StatusCode.PERMISSION_DENIED) as caught:
                    call(channel, "PromptService", "AssemblePrompt", pb.AssemblePromptRequest(workspace_id=hidden))
                assert set(checks.unpack(rpc_status.from_call(caught.value))) == {"ErrorInfo"}

            watch = services.WorkspaceServiceStub(channel).WatchWorkspace(
                pb.WatchWorkspaceRequest(workspace_id="example"), timeout=TIMEOUT
            )
            next(watch)
            tokens.write_text(json.dumps({"tokens": [{"name": "another", "token": "y" * 32}]}))
            with pytest.raises(grpc.RpcError) as caught:
                next(watch)
            assert caught.value.code() in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)
        with grpc.secure_channel(address, secure) as channel:
            with fails_with(grpc.StatusCode.UNAUTHENTICATED) as caught:
                call(channel, "PromptService", "AssemblePrompt", checks.assemble())
            assert set(checks.unpack(rpc_status.from_call(caught.value))) == {"ErrorInfo"}
            health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=TIMEOUT)


def test_too_much_at_once_is_unavailable_and_says_when_to_retry():
    with Server(limits={"max_streams": 1}) as server, grpc.insecure_channel(server.address) as channel:
        workspaces = services.WorkspaceServiceStub(channel)
        request = pb.WatchWorkspaceRequest(workspace_id="example")
        first = workspaces.WatchWorkspace(request, timeout=TIMEOUT)
        next(first)
        with fails_with(grpc.StatusCode.UNAVAILABLE) as caught:
            next(workspaces.WatchWorkspace(request, timeout=TIMEOUT))
        assert checks.unpack(rpc_status.from_call(caught.value))["RetryInfo"].retry_delay.ToTimedelta().total_seconds() > 0
        first.cancel()


def test_a_stopping_server_ends_watches_and_leaves_cleanly():
    with Server() as server, grpc.insecure_channel(server.address) as channel:
        watch = services.WorkspaceServiceStub(channel).WatchWorkspace(
            pb.WatchWorkspaceRequest(workspace_id="example"), timeout=TIMEOUT
        )
        next(watch)
        server.process.terminate()
        with fails_with(grpc.StatusCode.UNAVAILABLE):
            next(watch)
