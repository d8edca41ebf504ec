"""The asyncio client of grpcio."""

import asyncio

import grpc
import pytest
from google.protobuf import json_format
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_status import rpc_status
from promptd.v1 import promptd_pb2 as pb
from promptd.v1 import promptd_pb2_grpc as services

import checks
from flaky import Flaky
from server import CASES, SERVICE_CONFIG, TLS, Server

TIMEOUT = 10
# What is awaited to pass, with time for a first answer before it.
DEADLINE = 2


@pytest.fixture(scope="module")
def server():
    with Server() as running:
        yield running


def with_channel(address, test, options=(), credentials=None):
    """Runs `test(channel)` on a channel of its own loop."""

    async def run():
        if credentials:
            opened = grpc.aio.secure_channel(address, credentials, options=list(options))
        else:
            opened = grpc.aio.insecure_channel(address, options=list(options))
        async with opened as channel:
            await test(channel)

    asyncio.run(run())


def assemble(channel, **turn):
    return services.PromptServiceStub(channel).AssemblePrompt(checks.assemble(**turn), timeout=TIMEOUT)


async def error_of(awaitable):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await awaitable
    return caught.value


def test_all_layers_and_every_subset_at_once(server):
    async def test(channel):
        full, *rest = await asyncio.gather(
            assemble(channel), *(assemble(channel, **case["set"]) for case in CASES["without"])
        )
        checks.check_full(full)
        for case, prompt in zip(CASES["without"], rest, strict=True):
            checks.check_without(case, prompt)

    with_channel(server.address, test)


def test_calls_side_by_side_do_not_mix(server):
    async def test(channel):
        names = [f"Skipper {n}" for n in range(64)]
        prompts = await asyncio.gather(
            *(assemble(channel, user={"name": name}, heartbeat=n % 2 == 0) for n, name in enumerate(names))
        )
        for n, (name, prompt) in enumerate(zip(names, prompts, strict=True)):
            whole = checks.text(prompt)
            assert f"talking to: {name}\n" in whole and ("HEARTBEAT_OK" in whole) == (n % 2 == 0)

    with_channel(server.address, test)


@pytest.mark.parametrize("case", CASES["errors"], ids=lambda case: case["name"])
def test_errors_and_their_details(server, case):
    async def test(channel):
        request = json_format.ParseDict(case["request"], getattr(pb, f"{case['method']}Request")())
        stub = getattr(services, f"{case['service']}Stub")(channel)
        error = await error_of(getattr(stub, case["method"])(request, timeout=TIMEOUT))
        checks.check_error(case, error, rpc_status.from_call(error))

    with_channel(server.address, test)


def test_a_watch_sees_an_edit(server):
    async def test(channel):
        watch = services.WorkspaceServiceStub(channel).WatchWorkspace(
            pb.WatchWorkspaceRequest(workspace_id="example"), timeout=TIMEOUT
        )
        before = await watch.read()
        (server.workspace / "docs/RUNBOOK.md").write_text("# Runbook\n\nAsk Tomasz.\n", encoding="utf-8")
        after = await watch.read()
        watch.cancel()
        assert list(after.changed_paths) == ["docs/RUNBOOK.md"]
        assert after.workspace.revision != before.workspace.revision
        assert "Ask Tomasz." in checks.text(await assemble(channel))

    with_channel(server.address, test)


def test_health_reflection_and_a_deadline(server):
    async def test(channel):
        health = health_pb2_grpc.HealthStub(channel)
        answer = await health.Check(health_pb2.HealthCheckRequest(), timeout=TIMEOUT)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING

        ask = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo(timeout=TIMEOUT)
        await ask.write(reflection_pb2.ServerReflectionRequest(list_services=""))
        listed = await ask.read()
        ask.cancel()
        assert "promptd.v1.PromptService" in [s.name for s in listed.list_services_response.service]

        watch = services.WorkspaceServiceStub(channel).WatchWorkspace(
            pb.WatchWorkspaceRequest(workspace_id="example"), timeout=DEADLINE
        )
        await watch.read()
        error = await error_of(watch.read())
        assert error.code() == grpc.StatusCode.DEADLINE_EXCEEDED

    with_channel(server.address, test)


def test_the_service_config_retries_a_lost_connection(server):
    async def test(channel):
        checks.check_without(CASES["without"][0], await assemble(channel, **CASES["without"][0]["set"]))

    options = [("grpc.service_config", SERVICE_CONFIG), ("grpc.initial_reconnect_backoff_ms", 100)]
    with Flaky(server.port, failures=1) as proxy:
        with_channel(proxy.address, test, options)
        assert proxy.seen == 2


def test_tls():
    async def test(channel):
        checks.check_full(await assemble(channel))

    with Server(tls={"cert": str(TLS / "server.pem"), "key": str(TLS / "server.key")}) as server:
        credentials = grpc.ssl_channel_credentials((TLS / "ca.pem").read_bytes())
        with_channel(f"localhost:{server.port}", test, credentials=credentials)
