"""Each bad input by itself: the message says what, where, what to do."""

import asyncio
import json
import threading
import time
from datetime import datetime

import grpc
import pytest

from fake import Fake, overloaded
from promptd import AsyncPromptd, Promptd, PromptdError
from promptd.v1 import promptd_pb2 as pb
from running import Server

NO_SERVER = "127.0.0.1:1"


def refusal(address, workspace="example", options=None, client=None):
    """The error of a call, which must be the same from both clients."""

    async def asynchronous():
        async with AsyncPromptd(address, **(client or {})) as made:
            await made.assemble(workspace, **(options or {}))

    with Promptd(address, **(client or {})) as made, pytest.raises(PromptdError) as caught:
        made.assemble(workspace, **(options or {}))
    with pytest.raises(PromptdError) as other:
        asyncio.run(asynchronous())
    error = caught.value
    assert (error.code, error.reason, error.violations) == (other.value.code, other.value.reason, other.value.violations)
    return error


@pytest.mark.parametrize(
    "options, field, description",
    [
        ({"usr": {}}, "usr", "is not an option; did you mean `user`?"),
        ({"user": {"nme": "Dana"}}, "turn.user.nme", "is not a field of User; did you mean `name`?"),
        ({"knowledge": [{"text": "x"}]}, "turn.knowledge[0].text", "is not a field of KnowledgeSnippet; known: content, source, title"),
        ({"user": "Dana"}, "turn.user", 'must be a dictionary with the fields of User, not "Dana"'),
        ({"user": {"name": 7}}, "turn.user.name", "must be text, not 7"),
        ({"user": {"name": "\ud800"}}, "turn.user.name", "has half a surrogate pair at character 0, which is not text"),
        ({"heartbeat": "no"}, "turn.heartbeat", 'must be True or False, not "no"'),
        ({"format": "openai"}, "format", 'must be a name of RenderFormat, not "openai"; did you mean `openai-chat`?'),
        ({"response_format": ["text"]}, "turn.response_format", "must be a name of ResponseFormat, not a value of type list; known: json-object, text"),
        ({"now": "2026-03-01"}, "turn.now", 'must be a datetime with a zone, not "2026-03-01"'),
        (
            {"now": datetime(2026, 3, 1)},
            "turn.now",
            "has no zone, so it names no moment; use datetime.now(timezone.utc), or .astimezone() for the zone of this machine",
        ),
        ({"variables": {"id": 2**60}}, "turn.variables.id", "is not exact as a number; send it as text"),
        ({"variables": {"a": [float("nan")]}}, "turn.variables.a[0]", "is not exact as a number; send it as text"),
        (
            {"inputs": {"a": {"b": b""}}},
            "turn.inputs.a.b",
            "must be text, a number, True, False, None, a list or a dictionary, not a value of type bytes",
        ),
        ({"context_files": "AGENTS.md"}, "turn.context_files", 'must be a list, not "AGENTS.md"'),
        ({"budget": {"max": -1}}, "turn.budget.max", "must be a whole number from 0 to 4294967295, not -1"),
        ({"budget": {"max": 1.5}}, "turn.budget.max", "must be a whole number from 0 to 4294967295, not 1.5"),
        ({"skill_filter": {"allowlist": [7]}}, "turn.skill_filter.allowlist[0]", "must be text, not 7"),
    ],
)
def test_what_cannot_be_sent_is_not_sent(options, field, description):
    error = refusal(NO_SERVER, options=options)
    assert (error.code, error.reason, error.request_id) == ("INVALID_ARGUMENT", "INVALID_REQUEST", "")
    assert [(one.field, one.description) for one in error.violations] == [(field, description)]
    assert str(error) == f"INVALID_ARGUMENT: {field} {description}"


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"address": "https://promptd:443/"}, 'address is host:port, not a URL; write "promptd:443" and tls=True'),
        ({"token": "sécret"}, "token has white space around it or characters that are not ASCII"),
        ({"token": "secret\n"}, "token has white space around it or characters that are not ASCII"),
    ],
)
def test_a_client_that_could_never_call_is_not_made(arguments, message):
    for client in (Promptd, AsyncPromptd):
        with pytest.raises(PromptdError) as caught:
            client(**arguments)
        assert caught.value.message == message


@pytest.mark.parametrize("timeout", [0, -1, "5", True])
def test_a_timeout_is_a_number_of_seconds(timeout):
    assert [one.field for one in refusal(NO_SERVER, options={"timeout": timeout}).violations] == ["timeout"]


def test_a_mistake_in_the_defaults_of_a_session_is_said_at_once():
    with Promptd(NO_SERVER) as client, pytest.raises(PromptdError, match="did you mean `user`?"):
        client.session("example", usr={})


def test_all_mistakes_are_said_at_once():
    error = refusal(NO_SERVER, workspace=7, options={"heartbeat": 1, "user": {"id": 2}})
    assert {one.field for one in error.violations} == {"workspace_id", "turn.heartbeat", "turn.user.id"}


def test_a_missing_workspace(server):
    error = refusal(server.address, workspace="exampl")
    assert (error.code, error.reason) == ("NOT_FOUND", "WORKSPACE_NOT_FOUND")
    assert "did you mean `example`?" in error.message and error.request_id


def test_what_only_the_server_knows_comes_with_its_fields(server):
    error = refusal(server.address, options={"profile": "kernn", "time_zone": "Mars"})
    assert error.reason == "INVALID_REQUEST" and {"profile", "turn.time_zone"} & {one.field for one in error.violations}
    loss = refusal(server.address, options={"strict": True})
    assert (loss.code, loss.reason) == ("FAILED_PRECONDITION", "PROMPT_LOSS")
    assert [one.field for one in loss.violations] == ["workspace_context/docs/RUNBOOK.md"]


def test_no_server():
    error = refusal(NO_SERVER)
    assert (error.code, error.reason) == ("UNAVAILABLE", "")
    assert "no server answers at 127.0.0.1:1 (" in error.message and "Connection refused" in error.message
    assert "`promptd serve --listen 127.0.0.1:1`" in error.message


def test_an_expired_deadline():
    def slow(_request, context, _call):
        ended.wait(5)
        return pb.AssemblePromptResponse()

    ended = threading.Event()
    with Fake(slow) as fake:
        began = time.monotonic()
        error = refusal(fake.address, options={"timeout": 0.2})
        assert 0.3 < time.monotonic() - began < 4
        ended.set()
    assert error.code == "DEADLINE_EXCEEDED"
    assert error.message == f"{fake.address} did not answer within 0.2 s; give the call more time with `timeout`"


def test_a_bad_token(tmp_path):
    tokens = tmp_path / "tokens.yaml"
    tokens.write_text(json.dumps({"tokens": [{"name": "desk", "token": "x" * 32, "workspaces": ["example"]}]}))
    with Server(auth={"tokens_file": str(tokens)}) as server:
        assert refusal(server.address).reason == "TOKEN_MISSING"
        assert refusal(server.address, client={"token": "y" * 32}).reason == "TOKEN_UNKNOWN"
        assert refusal(server.address, workspace="other", client={"token": "x" * 32}).reason == "WORKSPACE_FORBIDDEN"
        with Promptd(server.address, token="x" * 32) as client:
            assert client.assemble("example").messages


def test_an_answer_over_the_limit(server):
    error = refusal(server.address, client={"max_answer_bytes": 1000})
    assert error.code == "RESOURCE_EXHAUSTED" and "more than the 1000 that this client takes; raise `max_answer_bytes`" in error.message


def test_retries_wait_as_long_as_the_server_says_and_end_after_four():
    times = []

    def fail(_request, context, _call):
        times.append(time.monotonic())
        overloaded(context, 0.3)

    with Fake(fail) as fake, Promptd(fake.address) as client, pytest.raises(PromptdError) as caught:
        client.assemble("example")
    assert (caught.value.reason, caught.value.retry_after) == ("OVERLOADED", 0.3)
    assert len(times) == 4 and all(0.3 <= after - before < 3 for before, after in zip(times, times[1:]))


def test_a_call_is_answered_once_the_server_can():
    def second(_request, context, call):
        return pb.AssemblePromptResponse(digest="d") if call > 1 else overloaded(context, 0.01)

    async def asynchronous(address):
        async with AsyncPromptd(address) as client:
            return (await client.assemble("example")).digest

    with Fake(second) as fake, Promptd(fake.address) as client:
        assert client.assemble("example").digest == "d" and fake.calls == 2
    with Fake(second) as fake:
        assert asyncio.run(asynchronous(fake.address)) == "d" and fake.calls == 2


def test_no_retry_of_what_a_retry_cannot_help_and_none_beyond_the_deadline():
    with Fake(lambda _request, context, _call: context.abort(grpc.StatusCode.INTERNAL, "broken")) as fake:
        with Promptd(fake.address) as client, pytest.raises(PromptdError, match="INTERNAL"):
            client.assemble("example")
        assert fake.calls == 1
    with Fake(lambda _request, context, _call: overloaded(context, 3)) as fake:
        began = time.monotonic()
        with Promptd(fake.address, timeout=2) as client, pytest.raises(PromptdError, match="overloaded"):
            client.assemble("example")
        assert fake.calls == 1 and time.monotonic() - began < 2


def test_calls_go_to_all_addresses():
    answer = lambda *_: pb.AssemblePromptResponse()
    with Fake(answer) as one, Fake(answer) as other, Promptd(f"ipv4:{one.address},{other.address}") as client:
        end = time.monotonic() + 10
        while not (one.calls and other.calls):
            client.assemble("example")
            assert time.monotonic() < end, (one.calls, other.calls)


def test_a_list_of_addresses_is_no_host(server):
    with Server() as other:
        address = f"ipv4:{server.address},{other.address}"
        with Promptd(address) as client:
            assert all(client.assemble("example").messages for _ in range(4))

        async def asynchronous():
            async with AsyncPromptd(address) as client:
                assert (await client.assemble("example")).messages

        asyncio.run(asynchronous())
