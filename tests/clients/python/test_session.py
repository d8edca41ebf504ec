"""A session sends what changed, and follows its workspace over a restart of the server."""

import asyncio
import queue
import shutil
import threading

import pytest

from promptd import AsyncPromptd, Promptd, PromptdError
from promptd.channel import DEFAULT_MAX_ANSWER_BYTES, options
from promptd.watch import FollowingWorkspace
from running import PATIENCE_SECONDS, Server, until

# How soon a server that is started again is found, and how long a change is waited for before another one is made.
RECOVERY_SECONDS = 1.0
EDITS = 20


def contents(prompt):
    return [message.content for message in prompt.messages]


def fresh(prompt):
    return [message.name for message in prompt.messages if not message.not_modified]


def test_only_changed_messages_are_sent_and_all_are_there(server, client):
    with client.session("example", user={"name": "Dana"}, time_zone="UTC") as session:
        talk = [{"role": "user", "content": "Any berth free?"}]
        first = session.assemble(conversation={"messages": talk}, ephemeral_system_prompt="Be brief.")
        assert len(fresh(first)) == len(first.messages) == 5
        talk += [{"role": "assistant", "content": "Berth 4."}, {"role": "user", "content": "And tomorrow?"}]
        second = session.assemble(conversation={"messages": talk}, ephemeral_system_prompt="Be exact.", heartbeat=None)
        assert set(fresh(second)) <= {"runtime_facts", "ephemeral", ""} and "ephemeral" in fresh(second)
        assert {"skeleton", "workspace_context"}.isdisjoint(fresh(second))
        alone = client.assemble(
            "example", user={"name": "Dana"}, time_zone="UTC", conversation={"messages": talk}, ephemeral_system_prompt="Be exact."
        )
        names = [message.name for message in alone.messages]
        for mine, other, name in zip(contents(second), contents(alone), names):
            assert mine == other or name == "runtime_facts"


def test_what_a_prompt_no_longer_has_is_forgotten(client):
    session = client.session("example")
    for number in range(5):
        prompt = session.assemble(ephemeral_system_prompt=f"Number {number}")
        assert len(session._held.texts) == len(prompt.messages)




def test_changes_are_told_also_after_a_restart():
    with Server() as server, Promptd(server.address) as client:
        changes = queue.Queue()
        watched = client.watch("example")
        next(watched)
        with client.session("example", on_change=changes.put):
            # Until the session's own watch is open, a change would be its first state.
            while not any(thread.name == "promptd example" for thread in threading.enumerate()):
                pass
            edit_until_told(server, client, changes)
            before = client.get_workspace("example").revision
            server.kill()
            server.start()
            # Which is not a change.
            assert client.get_workspace("example").revision == before
            server.kill()
            (server.workspace / "AGENTS.md").write_text("Moored at pier 3.")
            server.start()
            change = changes.get(timeout=PATIENCE_SECONDS)
            assert change.workspace.revision != before
            assert change.workspace.revision == client.get_workspace("example").revision
            # The stream that was killed goes on as well.
            while next(watched).workspace.revision != change.workspace.revision:
                pass
            watched.close()
            assert list(watched) == []


def edit_until_told(server, client, changes):
    """Edits a file until the session has told of the last edit; a change before its watch is open is not told."""
    for number in range(EDITS):
        text = f"Version {number}."
        (server.workspace / "SOUL.md").write_text(text)
        try:
            change = changes.get(timeout=RECOVERY_SECONDS / 2)
        except queue.Empty:
            continue
        until(lambda: any(text in content for content in contents(client.assemble("example"))))
        newest = client.get_workspace("example").revision
        while change.workspace.revision != newest:
            change = changes.get(timeout=PATIENCE_SECONDS)
        assert change.changed_paths == ["SOUL.md"]
        return
    pytest.fail("no change was told")


def test_a_restart_without_an_edit_is_no_change():
    with Server() as server, Promptd(server.address) as client, client.watch("example") as states:
        before = next(states).workspace.revision
        server.kill()
        server.start()
        told = queue.Queue()
        threading.Thread(target=lambda: told.put(next(states)), daemon=True).start()
        for number in range(EDITS):
            # Long enough for the watch to be open again.
            (server.workspace / "SOUL.md").write_text("You are a lighthouse.") if number else None
            try:
                assert told.get(timeout=RECOVERY_SECONDS).workspace.revision != before
                return
            except queue.Empty:
                continue
        pytest.fail("no change was told")


def test_the_pause_between_two_connections_stays_short():
    made = dict(options("127.0.0.1:1", DEFAULT_MAX_ANSWER_BYTES))
    assert max(made[f"grpc.{which}_reconnect_backoff_ms"] for which in ("initial", "max")) / 1000 < RECOVERY_SECONDS / 2
    following = FollowingWorkspace("127.0.0.1:1", "example", "")
    pauses = [following.pause(None) for _ in range(20)]
    assert pauses[0] < 0.2 and max(pauses) < RECOVERY_SECONDS / 2


def test_a_mistake_in_on_change_does_not_end_the_watch(caplog):
    with Server() as server, Promptd(server.address) as client:
        told = queue.Queue()

        def broken(change):
            told.put(change)
            raise ValueError("mine")

        with client.session("example", on_change=broken):
            edit_until_told(server, client, told)
            edit_until_told(server, client, told)
        assert "on_change failed" in caplog.text


def test_a_watch_ends_with_its_workspace_and_fails_for_none(server, client):
    with Server() as own, Promptd(own.address) as mine, mine.watch("example") as states:
        assert next(states).workspace.id == "example"
        shutil.rmtree(own.workspace)
        assert any(state.deleted for state in states)
    with pytest.raises(PromptdError) as caught, client.watch("harbour") as states:
        next(states)
    assert caught.value.reason == "WORKSPACE_NOT_FOUND"


def test_asyncio_session_over_a_restart():
    async def follow(server):
        changes = asyncio.Queue()
        async with AsyncPromptd(server.address) as client:
            async with client.session("example", on_change=changes.put) as session:
                first = await session.assemble()
                second = await session.assemble()
                assert contents(first)[0] == contents(second)[0] and "skeleton" not in fresh(second)
                for number in range(EDITS):
                    (server.workspace / "SOUL.md").write_text(f"Version {number}.")
                    try:
                        await asyncio.wait_for(changes.get(), RECOVERY_SECONDS / 2)
                        break
                    except asyncio.TimeoutError:
                        continue
                else:
                    pytest.fail("no change was told")
                server.kill()
                (server.workspace / "AGENTS.md").write_text("Moored at pier 3.")
                await asyncio.to_thread(server.start)
                newest = (await client.get_workspace("example")).revision
                # Of the edits before, some may not have been taken yet.
                while (await asyncio.wait_for(changes.get(), PATIENCE_SECONDS)).workspace.revision != newest:
                    pass

    with Server() as server:
        asyncio.run(follow(server))


def test_cards_come_back_too(client):
    with client.session("example", profile="lucidpal-briefing", inputs={"events_today": 2}) as session:
        first, second = session.assemble(), session.assemble()
        assert first.cards[0].content == second.cards[0].content == "Events today: 2"
        assert second.cards[0].not_modified and not first.cards[0].not_modified
