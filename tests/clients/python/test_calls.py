"""Every method, blocking and in asyncio, against the real server."""

import asyncio
import inspect
import os
from datetime import datetime, timedelta, timezone

import pytest

from promptd import TLS, AsyncPromptd, Promptd, PromptdError
from running import ROOT, Server

NOW = datetime(2026, 3, 1, 2, 30, tzinfo=timezone.utc)
TALK = [
    {"role": "user", "content": "Any berth free?", "time": NOW},
    {"role": "assistant", "tool_calls": [{"id": "a", "name": "berths", "arguments_json": '{"day": 1}'}]},
    {"role": "tool", "content": "Berth 4", "tool_call_id": "a"},
]


def text(prompt):
    return "\n".join(message.content for message in prompt.messages)


def test_plain_values_of_every_kind_reach_the_prompt(client):
    prompt = client.assemble(
        "example",
        user={"name": "Dana"},
        channel={"name": "slack", "chat_type": "direct"},
        now=NOW.astimezone(timezone(timedelta(hours=5))),
        time_zone="UTC",
        variables={"berth": 7, "tide": 1.5, "free": True, "tugs": ["Hilda", "Otto"]},
        knowledge=[{"content": "Berth 4 is closed.", "title": "Notice"}],
        response_format="json-object",
        ephemeral_system_prompt="Answer in one sentence.",
        skill_filter={"allowlist": ["tide-*"]},
        conversation={"messages": TALK},
        token_encoding="o200k_base",
    )
    for said in ["Dana", "slack", "2026-03-01T02:30:00", "berth: 7", "tide: 1.5", "Hilda", "Berth 4 is closed.", "tide-window"]:
        assert said in text(prompt), said
    assert "berth-allocation" not in text(prompt)
    assert prompt.messages[-1].tool_call_id == "a" and prompt.messages[-2].tool_calls[0].name == "berths"
    ephemeral = next(message for message in prompt.messages if message.name == "ephemeral")
    assert ephemeral.ephemeral and ephemeral.role == "system"
    assert prompt.size.tokens and prompt.size.bytes >= prompt.size.chars > 1000
    assert {section.outcome for section in prompt.sections} >= {"included", "omitted", "truncated"}
    assert [finding.code for finding in prompt.findings if finding.severity == "warning"] == ["CONTEXT_FILE_TRUNCATED"]
    assert len(prompt.digest) == len(prompt.revision) == 64 and prompt.profile == "five-layer" and prompt.request_id
    assert not prompt.stale and prompt.rendered is None


def test_the_same_turn_gives_the_same_prompt_and_a_revision_can_be_pinned(client):
    first = client.assemble("example", now=NOW)
    assert client.assemble("example", now=NOW, revision=first.revision).digest == first.digest
    assert client.assemble("example", now=NOW + timedelta(hours=1)).digest != first.digest


def test_none_is_not_given(client):
    assert client.assemble("example", now=NOW, profile=None, user=None).digest == client.assemble("example", now=NOW).digest


def test_present_and_empty_is_not_absent(client):
    persona = {"persona": "You are the pilot."}
    assert "You are the pilot." in text(client.assemble("example", **persona))
    assert client.assemble("example", now=NOW, persona="").digest != client.assemble("example", now=NOW).digest
    assert "tide-window" in text(client.assemble("example", skill_filter={}))
    assert "tide-window" not in text(client.assemble("example", skill_filter={"allowlist": []}))


def test_messages_that_the_request_has_are_put_in(client):
    # The profile carries what the assistant and tools say as it is.
    whole = client.assemble("example", now=NOW, conversation={"messages": TALK})
    referenced = client.assemble("example", now=NOW, conversation={"messages": TALK}, reference_conversation=True)
    assert [one.content for one in referenced.messages] == [one.content for one in whole.messages]
    assert "Berth 4" in referenced.messages[-1].content


def test_spans_say_where_bytes_come_from(client):
    prompt = client.assemble("example", user={"name": "Dana"}, include_spans=True)
    names = {span.origin.name for section in prompt.sections for span in section.spans}
    assert {"turn.user.name", "AGENTS.md"} <= names


def test_replies_histories_and_edits(client):
    reply = client.parse_reply("HEARTBEAT_OK", workspace="example", heartbeat=True)
    assert reply.heartbeat_ok and reply.text == ""
    plan = client.plan_history("example", [{"role": "user", "content": f"Message {n}"} for n in range(4)])
    assert [(one.message_start, one.message_end, one.end) for one in plan.segments] == [(0, 4, "chunk")]
    waiting = client.plan_history("example", [{"role": "user", "content": "One"}], thresholds={"min_messages": 2}).waiting
    assert waiting and waiting.messages_missing == 1
    edit = client.diff("example", now=NOW, proposed={"SOUL.md": "Be brief.", "AGENTS.md": b"Watch the tide."})
    assert not edit.same and any(section.change == "changed" for section in edit.sections)
    assert client.diff("example", now=NOW).same


def test_a_payload_is_plain_values(client):
    said = 'Done. [CALENDAR_ACTION:{"action": "create", "title": "Tide", "minutes": 30, "share": 0.5, "all": [true, null]}]'
    [action] = client.parse_reply(said, profile="lucidpal").actions
    assert action.payload["minutes"] == 30 and isinstance(action.payload["minutes"], int) and action.payload["share"] == 0.5


def test_workspaces_skills_and_profiles(client):
    [workspace] = client.list_workspaces()
    assert workspace.id == "example" and workspace.loaded_at.utcoffset() == timedelta(0)
    assert "AGENTS.md" in [file.path for file in client.get_workspace("example").context_files]
    assert list(client.list_workspaces(query="EXAM")) == [workspace] and list(client.list_workspaces(query="harbour")) == []
    assert [one.revision for one in client.list_revisions("example")] == [workspace.revision]
    assert client.read_file("example", "SOUL.md").content == (ROOT / "workspace-example/SOUL.md").read_bytes()
    skills = {skill.name: skill for skill in client.list_skills("example", skill_filter={"blocklist": ["tide-*"]})}
    assert skills["berth-allocation"].shown and not skills["tide-window"].shown and skills["tide-window"].hidden_reason
    assert b"name: tide-window" in client.read_skill("example", "tide-window").content
    assert {"five-layer", "kern"} <= {profile.name for profile in client.list_profiles()}
    assert client.get_profile("kern").inputs and "sections:" in client.get_profile("kern").source


def test_lists_go_over_all_pages():
    with Server() as server:
        for number in range(120):
            (server.folder / f"workspaces/w{number:03}").mkdir()
        server.kill()
        server.start()
        with Promptd(server.address) as client:
            assert len({workspace.id for workspace in client.list_workspaces()}) == 121


def test_asyncio_has_the_same_methods():
    for name, method in inspect.getmembers(Promptd, inspect.isfunction):
        if not name.startswith("_"):
            other = inspect.signature(getattr(AsyncPromptd, name)).parameters
            mine = inspect.signature(method).parameters
            assert list(other) == list(mine), name


def test_asyncio_against_the_server(server):
    async def calls():
        async with AsyncPromptd(server.address) as client:
            prompts = await asyncio.gather(*(client.assemble("example", now=NOW, user={"name": name}) for name in "abc"))
            assert len({prompt.digest for prompt in prompts}) == 3 and prompts[0].request_id
            assert [workspace.id async for workspace in client.list_workspaces()] == ["example"]
            assert "tide-window" in [skill.name async for skill in client.list_skills("example")]
            assert (await client.get_workspace("example")).skills_shown == 5
            assert (await client.parse_reply("Hello", workspace="example")).text == "Hello"
            assert len(await client.list_revisions("example")) == 1
            assert (await client.read_file("example", "AGENTS.md")).sha256
            assert (await client.diff("example", now=NOW)).same
            assert (await client.get_profile("kern")).name == "kern"
            assert (await client.read_skill("example", "tide-window")).content
            with pytest.raises(PromptdError) as caught:
                await client.assemble("harbour")
            assert caught.value.reason == "WORKSPACE_NOT_FOUND"

    asyncio.run(calls())


def test_tls_with_a_client_certificate():
    folder = os.environ["PROMPTD_TLS"]
    files = {"ca": f"{folder}/ca.pem", "certificate": f"{folder}/client.pem", "key": f"{folder}/client.key"}
    settings = {"cert": f"{folder}/server.pem", "key": f"{folder}/server.key", "client_ca": files["ca"]}

    async def digest(address):
        async with AsyncPromptd(address, tls=TLS(**files)) as client:
            return (await client.assemble("example", now=NOW)).digest

    with Server(tls=settings) as server:
        address = f"localhost:{server.address.rpartition(':')[2]}"
        with Promptd(address, tls=TLS(**files)) as client:
            assert client.assemble("example", now=NOW).digest == asyncio.run(digest(address))
        with Promptd(address, tls=TLS(ca=files["ca"])) as client, pytest.raises(PromptdError, match="check the address and `tls`"):
            client.assemble("example")
