"""Stored conversations, blocking and in asyncio, against the real server."""

import asyncio
import inspect
import json
from datetime import datetime, timezone

import pytest

from promptd import AsyncConversations, AsyncPromptd, Conversations, Memory, Promptd, PromptdError
from promptd.v1 import session_pb2
from running import Server

NOW = datetime(2026, 3, 1, 2, 30, tzinfo=timezone.utc)
METHODS = {
    "AppendMessages": "append",
    "ListSessions": "list",
    "GetSession": "get",
    "ListMessages": "messages",
    "ListSegments": "segments",
    "ListNotesSummaries": "notes",
    "ExportSession": "export",
    "DeleteSession": "delete",
    "WatchSession": "watch",
    "ForkSession": "fork",
    "TruncateSession": "truncate",
    "Recall": "recall",
    "GetRecallStats": "stats",
}


def said(id, content, role="user"):
    return {"id": id, "role": role, "content": content}


def turns(count):
    return [said(f"{n}", f"Berth {n} is free.", "assistant" if n % 2 else "user") for n in range(count)]


def texts(messages):
    return [stored.message.content for stored in messages]


def test_every_method_of_the_service_can_be_called():
    [service] = session_pb2.DESCRIPTOR.services_by_name.values()
    assert set(METHODS) == set(service.methods_by_name)
    for name in METHODS.values():
        mine, other = (inspect.signature(getattr(kind, name)).parameters for kind in (Conversations, AsyncConversations))
        assert list(mine) == list(other), name


def test_each_message_is_sent_once_and_the_prompt_has_them_all(client):
    stored = client.conversations
    first = stored.append("example", "once", [said("1", "Any berth free?")], expected_position=0)
    assert (first.stored, first.session.position, first.session.user_messages) == (1, 1, 1)
    again = stored.append("example", "once", [said("1", "Any berth free?"), said("2", "Berth 4.", "assistant")])
    assert (again.stored, again.session.message_count) == (1, 2)
    stored.append("example", "once", [said("3", "And tomorrow?")])
    prompt = client.assemble("example", session_id="once", now=NOW)
    talk = [{"role": "user", "content": "Any berth free?"}, {"role": "assistant", "content": "Berth 4."}]
    brought = client.assemble("example", conversation={"messages": [*talk, said("", "And tomorrow?")]}, now=NOW)
    assert prompt.digest == brought.digest and prompt.session_position == 3
    assert client.assemble("example", session_id="once", session_position=1, now=NOW).digest != prompt.digest
    # There are no messages here to put in their place.
    assert client.assemble("example", session_id="once", now=NOW, reference_conversation=True).messages == prompt.messages


def test_what_is_wrong_is_said(client):
    stored = client.conversations
    stored.append("example", "wrong", [said("1", "One.")])
    for call, reason in [
        (lambda: stored.append("example", "wrong", [said("1", "Two.")]), "MESSAGE_DIFFERS"),
        (lambda: stored.append("example", "wrong", [said("2", "Two.")], expected_position=0), "SESSION_MOVED"),
        (lambda: stored.append("example", "wrong", [{"role": "user", "contnt": "x"}]), "INVALID_REQUEST"),
        (lambda: stored.get("example", "nonesuch"), "SESSION_NOT_FOUND"),
        (lambda: list(stored.export("example", "nonesuch")), "SESSION_NOT_FOUND"),
        (lambda: stored.fork("example", "wrong", "wrong"), "SESSION_EXISTS"),
    ]:
        with pytest.raises(PromptdError) as caught:
            call()
        assert caught.value.reason == reason


def test_lists_and_exports_go_to_the_end(client):
    stored = client.conversations
    for first in range(0, 2_500, 500):
        stored.append("example", "long", turns(2_500)[first : first + 500])
    assert texts(stored.messages("example", "long")) == [one["content"] for one in turns(2_500)]
    assert texts(stored.messages("example", "long", from_position=2, at_position=4)) == ["Berth 2 is free.", "Berth 3 is free."]
    lines = b"".join(stored.export("example", "long")).splitlines()
    assert [json.loads(line)["content"] for line in lines] == [one["content"] for one in turns(2_500)]
    assert "long" in [session.id for session in stored.list("example")]


def test_a_message_is_edited_and_the_old_branch_kept(client):
    stored = client.conversations
    stored.append("example", "edited", turns(4))
    kept = stored.fork("example", "edited", "edited-before", at_position=3)
    assert (kept.position, kept.message_count) == (3, 3)
    left = stored.truncate("example", "edited", 2, expected_position=4)
    assert (left.message_count, left.position) == (2, 5)
    stored.append("example", "edited", [said("new", "Is there a tug?")])
    assert texts(stored.messages("example", "edited"))[-1] == "Is there a tug?"
    assert texts(stored.messages("example", "edited-before"))[-1] == "Berth 2 is free."


def test_what_was_said_is_found_and_removed(client):
    stored = client.conversations
    stored.append("example", "found", [said("1", "The Hilda tows at dawn."), said("2", "Otto rests.")])
    in_context = {"session_id": "found", "from_position": 9}
    answer = stored.recall("example", "hilda", session="found", limit=3, min_similarity=0.5, in_context=in_context)
    [found] = answer.messages
    assert answer.vector_fault == ""
    assert (found.session_id, found.message.message.content, found.message.position) == ("found", "The Hilda tows at dawn.", 0)
    assert stored.recall("example", "otto", session="found", before_position=1).messages == []
    assert stored.recall("example", "hilda", end_time=NOW).messages == []
    before = stored.stats("example")
    assert stored.delete("example", "found") == 2
    after = stored.stats("example")
    assert (before.sessions - after.sessions, before.messages - after.messages) == (1, 2)
    assert stored.recall("example", "hilda").messages == []
    notes = stored.notes("example")
    assert notes.summaries == [] and "memory.models.summarise" in notes.fault


def test_a_watch_goes_on_over_a_restart_and_ends_with_the_session():
    with Server() as server, Promptd(server.address) as client:
        stored = client.conversations
        stored.append("example", "watched", turns(1))
        with stored.watch("example", "watched") as states:
            assert next(states).session.position == 1
            server.kill()
            server.start()
            stored.append("example", "watched", turns(2))
            assert next(states).session.position == 2
            stored.delete("example", "watched")
            assert [state.deleted for state in states] == [True]


def test_a_session_is_never_answered_from_before():
    with Server() as server, Promptd(server.address, last_good=Memory()) as client:
        client.conversations.append("example", "kept", [said("1", "A secret.")])
        assert client.assemble("example", session_id="kept").messages
        server.kill()
        with pytest.raises(PromptdError) as caught:
            client.assemble("example", session_id="kept", timeout=1)
        assert caught.value.unreachable


def test_asyncio_against_the_server(server):
    async def calls():
        async with AsyncPromptd(server.address) as client:
            stored = client.conversations
            assert (await stored.append("example", "async", turns(3))).stored == 3
            assert (await client.assemble("example", session_id="async")).session_position == 3
            assert (await stored.get("example", "async")).assistant_messages == 1
            assert "async" in [session.id async for session in stored.list("example")]
            assert [one.position async for one in stored.messages("example", "async", from_position=1)] == [1, 2]
            assert len(b"".join([lines async for lines in stored.export("example", "async")]).splitlines()) == 3
            assert (await stored.fork("example", "async", "async-2")).position == 3
            assert (await stored.truncate("example", "async", 2)).message_count == 2
            answer = await stored.recall("example", "berth", session="async-2", limit=1)
            assert [one.session_id for one in answer.messages] == ["async-2"]
            assert (await stored.stats("example")).messages >= 5
            assert (await stored.notes("example")).summaries == []
            states = stored.watch("example", "async")
            assert (await anext(states)).session.position == 4
            assert await stored.delete("example", "async") == 2
            assert (await anext(states)).deleted
            with pytest.raises(PromptdError) as caught:
                await stored.get("example", "async")
            assert caught.value.reason == "SESSION_NOT_FOUND"

    asyncio.run(calls())
