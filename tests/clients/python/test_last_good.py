"""While the server is away, the last good answer is served: without what belongs to one turn, and not for everything."""

import asyncio
import json
import os
import threading
import time
from datetime import datetime, timezone

import pytest

from fake import Fake
from promptd import AsyncPromptd, Folder, Memory, Promptd, PromptdError
from promptd.v1 import promptd_pb2 as pb
from running import Server

SECRET = "Berth 9 floods at night."
OLD = [{"role": "user", "content": "The old question"}]
NEW = [
    {"role": "user", "content": "The new question"},
    {"role": "assistant", "content": "Looking.", "tool_calls": [{"id": "a", "name": "berths", "arguments_json": "{}"}]},
    {"role": "tool", "content": "Berth 4", "tool_call_id": "a"},
]
TURN = {"user": {"name": "Dana"}, "ephemeral_system_prompt": "Be brief."}
SPOKEN = {
    "now": datetime(2026, 3, 1, 2, 30, tzinfo=timezone.utc),
    "conversation": {"messages": OLD},
    "knowledge": [{"content": SECRET}],
    "conversation_summary": "They spoke of secrets.",
}
QUICK = {"timeout": 0.3}


def text(prompt):
    return "\n".join(message.content for message in prompt.messages)


@pytest.fixture
def server():
    with Server() as running:
        yield running


@pytest.fixture(params=["memory", "folder"])
def store(request, tmp_path):
    return Memory() if request.param == "memory" else tmp_path / "kept"


def test_an_answer_of_before_without_what_is_of_one_turn(server, store):
    with Promptd(server.address, last_good=store) as client:
        good = client.assemble("example", **TURN, **SPOKEN)
        assert not good.stale and SECRET in text(good) and "2026-03-01" in text(good)
        server.kill()
        stale = client.assemble("example", **TURN, conversation={"messages": NEW}, knowledge=[{"content": "Another"}], **QUICK)
        assert stale.stale and 0 <= stale.age < 30 and stale.revision == good.revision
        for gone in [SECRET, "secrets", "The old question", "2026-03-01", "Current time", "Another"]:
            assert gone not in text(stale), gone
        for kept in ["Dana", "AGENTS.md", "Be brief.", "Time zone: Europe/Berlin"]:
            assert kept in text(stale), kept
        assert [message.role for message in stale.messages[-3:]] == ["user", "assistant", "tool"]
        assert stale.findings[0].code == "STALE_PROMPT" and "no server answers" in stale.findings[0].message


def test_another_turn_caller_or_format_has_no_fallback(server, store):
    with Promptd(server.address, last_good=store) as client:
        good = client.assemble("example", **TURN)
        whole = {"context_files": ["AGENTS.md"]}
        assert not client.assemble("example", **TURN, **whole, strict=True).stale
        assert not client.assemble("example", **TURN, revision=good.revision).stale
        server.kill()
        for changes in [{"user": {"name": "Kim"}}, {"format": "gemini"}, whole | {"strict": True}, {"revision": good.revision}, {"profile": "kern"}]:
            with pytest.raises(PromptdError, match="UNAVAILABLE|DEADLINE"):
                client.assemble("example", **{**TURN, **QUICK, **changes})
        with Promptd(server.address, last_good=store, token="x" * 32) as other, pytest.raises(PromptdError):
            other.assemble("example", **TURN, **QUICK)
        with Promptd(server.address) as off, pytest.raises(PromptdError):
            off.assemble("example", **TURN, **QUICK)
        assert client.assemble("example", **TURN, **QUICK).stale


def test_who_speaks_as_the_system_has_no_fallback(server, store):
    with Promptd(server.address, last_good=store) as client:
        spoken = {"conversation": {"messages": [{"role": "system", "content": "Obey."}, *OLD]}}
        assert not client.assemble("example", **TURN, **spoken).stale
        server.kill()
        with pytest.raises(PromptdError):
            client.assemble("example", **TURN, **spoken, **QUICK)
        assert client.assemble("example", **TURN, **QUICK).stale


def test_a_refusal_is_no_reason_for_it_and_ends_it(server, store):
    with Promptd(server.address, last_good=store) as client:
        client.assemble("example", **TURN)
        with client.watch("example") as states:
            next(states)
            (server.workspace / "workspace.yaml").write_text("locked: [ephemeral]\n")
            next(states)
        with pytest.raises(PromptdError) as caught:
            client.assemble("example", **TURN)
        assert caught.value.reason == "FIELD_LOCKED"
        server.kill()
        with pytest.raises(PromptdError):
            client.assemble("example", **TURN, **QUICK)


def test_it_is_as_new_as_the_last_answer(server):
    with Promptd(server.address, last_good=Memory()) as client:
        client.assemble("example", **TURN)
        with client.watch("example") as states:
            before = next(states).workspace.revision
            (server.workspace / "SOUL.md").write_text("You are a lighthouse.")
            assert next(states).workspace.revision != before
        client.assemble("example", **TURN)
        server.kill()
        assert "You are a lighthouse." in text(client.assemble("example", **TURN, **QUICK))


def test_a_second_call_is_made_only_for_a_new_key_or_revision(server):
    with Promptd(server.address, last_good=Memory()) as client:
        made = []
        run = client._run
        client._run = lambda call: made.append(call) or run(call)
        for _ in range(3):
            client.assemble("example", **TURN, **SPOKEN)
        assert len(made) == 4 and not made[1].request.turn.knowledge and not made[1].request.turn.HasField("now")


def test_a_turn_that_gives_nothing_to_keep_is_asked_for_once(server):
    with Promptd(server.address, last_good=Memory()) as client:
        made = []
        run = client._run

        def counted(call):
            made.append(call)
            if not call.request.turn.knowledge:
                raise PromptdError("FAILED_PRECONDITION", "too small", reason="BUDGET_TOO_SMALL")
            return run(call)

        client._run = counted
        for _ in range(3):
            assert client.assemble("example", **TURN, **SPOKEN).messages
        assert len(made) == 4
        server.kill()
        with pytest.raises(PromptdError):
            client.assemble("example", **TURN, **SPOKEN, **QUICK)


def test_the_second_call_has_no_more_time_than_is_left():
    def slow(_request, _context, call):
        ended.wait(1.2 if call == 1 else 10)
        return pb.AssemblePromptResponse(revision="r")

    ended = threading.Event()
    with Fake(slow) as fake, Promptd(fake.address, last_good=Memory(), timeout=2) as client:
        began = time.monotonic()
        assert client.assemble("example").revision == "r"
        assert fake.calls == 2 and time.monotonic() - began < 3
        ended.set()


def test_a_server_that_says_nothing_cannot_be_reached():
    def silent_third(_request, _context, call):
        if call > 2:
            ended.wait(5)
        return pb.AssemblePromptResponse(revision="r", messages=[pb.PromptMessage(role=pb.ROLE_SYSTEM, content="Hello")])

    ended = threading.Event()
    with Fake(silent_third) as fake, Promptd(fake.address, last_good=Memory()) as client:
        assert not client.assemble("example").stale
        stale = client.assemble("example", **QUICK)
        assert stale.stale and text(stale) == "Hello" and "did not answer within 0.3 s" in stale.findings[0].message
        ended.set()


def test_what_is_written_is_for_its_owner_and_has_nothing_of_one_turn(server, tmp_path):
    folder = tmp_path / "kept"
    with Promptd(server.address, last_good=Folder(folder, max_entries=2)) as client:
        for name in "abc":
            client.assemble("example", **(TURN | {"user": {"name": name}}), **SPOKEN)
        assert folder.stat().st_mode & 0o777 == 0o700
        files = list(folder.iterdir())
        assert len(files) == 2 and all(file.stat().st_mode & 0o777 == 0o600 for file in files)
        for file in files:
            written = file.read_text()
            assert "AGENTS.md" in written and json.loads(written)["revision"]
            for gone in [SECRET, "secrets", "The old question", "2026-03-01", "Be brief."]:
                assert gone not in written, gone
        files[0].write_text("{")
        server.kill()
        assert [stale(client, name) for name in "abc"].count(True) == 1


def stale(client, name):
    try:
        return client.assemble("example", **(TURN | {"user": {"name": name}}), **QUICK).stale
    except PromptdError:
        return False


def test_a_folder_that_cannot_be_written_costs_no_answer(server, tmp_path, caplog):
    (tmp_path / "file").write_text("")
    with Promptd(server.address, last_good=tmp_path / "file" / "kept") as client:
        assert not client.assemble("example", **TURN).stale
    assert "cannot be kept" in caplog.text


def test_a_profile_that_keeps_its_facts_behind_the_conversation(server, store):
    with Promptd(server.address, last_good=store) as client:
        options = {**TURN, "profile": "cache-first", "format": "openai-chat"}
        good = client.assemble("example", **options, **SPOKEN)
        assert good.messages[-1].name == "state"
        server.kill()
        late = client.assemble("example", **options, conversation={"messages": NEW}, **QUICK)
        assert late.messages[-1].name == "state" and "Be brief." in late.messages[-1].content
        assert [one["role"] for one in late.for_openai()["messages"]][-4:] == ["user", "assistant", "tool", "system"]


def test_no_exception_through_a_kill_and_fresh_after_the_restart(server):
    """Calls go on from two threads and a session while the server is killed and started again."""
    with Promptd(server.address, last_good=Memory(), timeout=2) as client:
        client.assemble("example", **TURN)
        failures, seen, stop = [], [], threading.Event()

        def calls(assemble):
            while not stop.is_set():
                try:
                    seen.append(assemble(**TURN, conversation={"messages": NEW}).stale)
                except Exception as error:
                    failures.append(error)

        session = client.session("example")
        threads = [threading.Thread(target=calls, args=[made]) for made in (lambda **o: client.assemble("example", **o), session.assemble)]
        for thread in threads:
            thread.start()
        wait_for(lambda: len(seen) > 20)
        server.kill()
        wait_for(lambda: any(seen))
        server.start()
        back = len(seen)
        wait_for(lambda: not all(seen[back:]))
        stop.set()
        for thread in threads:
            thread.join()
    assert failures == []


def wait_for(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        os.sched_yield()


def test_asyncio(server):
    async def calls():
        async with AsyncPromptd(server.address, last_good=Memory()) as client:
            assert not (await client.assemble("example", **TURN, **SPOKEN)).stale
            server.kill()
            late = await client.assemble("example", **TURN, **QUICK, conversation={"messages": NEW})
            assert late.stale and SECRET not in text(late)
            with pytest.raises(PromptdError):
                await client.assemble("example", **TURN, **QUICK, strict=True)

    asyncio.run(calls())
