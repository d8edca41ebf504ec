"""Each provider's own SDK sends the fragments of real answers, and what arrives is what the prompt says."""

import copy
import json

import grpc
import pydantic
import pytest
from botocore.exceptions import ParamValidationError
from google.protobuf import json_format
from promptd.v1 import promptd_pb2 as pb
from promptd.v1 import promptd_pb2_grpc as services

from digests import sections
from meaning import PLAIN, Read, expected
from sdks import TYPES, Sdks
from server import ROOT, Server
from stub import Stub

CONVERSATIONS = json.loads((ROOT / "tests/polyglot/conversations.json").read_text(encoding="utf-8"))
FORMATS = {name.removeprefix("RENDER_FORMAT_").lower().replace("_", "-"): value for name, value in pb.RenderFormat.items()}
FORMATS = {name: value for name, value in FORMATS.items() if name not in ("unspecified", "text")}
# With a conversation and without one.
WITH = ["five-layer", "cache-first", "lucidpal", "airi", "kern"]
WITHOUT = ["kai-remote", "kai-heartbeat"]
CASES = [pytest.param(case, profile, id=f"{profile}: {case['name']}") for case in CONVERSATIONS for profile in WITH]
CASES += [pytest.param(CONVERSATIONS[0], profile, id=profile) for profile in WITHOUT]
MARKING = ["openrouter-chat", "anthropic-messages", "bedrock-converse"]
LONGEST_IDS = {"openai-chat": 40, "openrouter-chat": 40}

# What a caller adds where a prompt has no message of the user: the list, and the message.
QUESTIONS = {
    "openai-chat": ("messages", {"role": "user", "content": "Hello."}),
    "openai-responses": ("input", {"type": "message", "role": "user", "content": "Hello."}),
    "anthropic-messages": ("messages", {"role": "user", "content": [{"type": "text", "text": "Hello."}]}),
    "bedrock-converse": ("messages", {"role": "user", "content": [{"text": "Hello."}]}),
    "openrouter-chat": ("messages", {"role": "user", "content": "Hello."}),
    "gemini": ("contents", {"role": "user", "parts": [{"text": "Hello."}]}),
}


@pytest.fixture(scope="module")
def prompts():
    with Server() as server, grpc.insecure_channel(server.address) as channel:
        yield services.PromptServiceStub(channel)


@pytest.fixture(scope="module")
def stub():
    with Stub() as running:
        yield running


@pytest.fixture(scope="module")
def sdks(stub):
    return Sdks(stub.url)


def assemble(prompts, case, profile, kind):
    messages = case.get("first", []) + case["messages"] * case.get("repeat", 1) + case.get("then", [])
    turn = {"now": "2026-02-28T10:30:00Z", "conversation": {"messages": messages}, "ephemeral_system_prompt": "Be brief."}
    request = {"workspace_id": "example", "profile": profile, "turn": turn, "render_format": FORMATS[kind]}
    return prompts.AssemblePrompt(json_format.ParseDict(request, pb.AssemblePromptRequest()), timeout=10)


def send(sdks, stub, kind, fragment):
    """What arrives of a fragment; with a question, if it has no turn of the user that the provider could answer."""
    fragment, (turns, question) = copy.deepcopy(fragment), QUESTIONS[kind]
    asks = any(turn.get("role") == "user" for turn in fragment[turns])
    fragment[turns] += [] if asks else [question]
    if kind in TYPES:
        TYPES[kind].check(fragment)
    getattr(sdks, kind.replace("-", "_"))(fragment)
    body = stub.received()
    if not asks:
        assert body[turns].pop() == question
    return body


def wanted(prompt, kind, profile):
    """The events that must arrive, the message of each, and the ids of the prompt's calls."""
    events, ids = expected(prompt, kind, profile == "cache-first")
    if kind == "openai-responses":
        front = [event[1] for _, event in events]
        front = events[: next((at for at, (_, event) in enumerate(events) if event[0] != "system"), len(front))]
        joined = [(0, ("system", "\n\n".join(text for _, (_, text) in front)))] if front else []
        events = joined + events[len(front) :]
    return [event for _, event in events], [index for index, _ in events], ids


def changes_every_turn(prompt, index):
    """Whether a message of the profile has a section that no cache can keep."""
    own = [] if prompt.messages[index].HasField("conversation_index") else sections(prompt, "message_index", index)
    return any(section.stability == pb.STABILITY_VOLATILE for section in own)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(("case", "profile"), CASES)
def test_what_arrives_is_what_the_prompt_says(prompts, sdks, stub, case, profile, kind):
    prompt = assemble(prompts, case, profile, kind)
    read = Read(kind, send(sdks, stub, kind, json.loads(prompt.rendered)))
    events, messages, ids = wanted(prompt, kind, profile)
    assert read.events == events
    assert all(1 <= len(id) <= LONGEST_IDS.get(kind, 64) for id in read.ids)
    if kind in MARKING:
        assert all(PLAIN.fullmatch(id) for id in read.ids)
        # What the last of them ends with may be longer in another turn: that is not a place for a mark.
        stable = prompt.messages[: max(0, prompt.cache_plan.stable_messages - 1)]
        assert any(m.role == pb.ROLE_SYSTEM for m in stable) <= len(read.marked) <= 4
        ends = [at for at, message in enumerate(messages) if message not in messages[at + 1 :]]
        assert set(read.marked) <= set(ends), "a mark inside a message"
        kept = {index for at in read.marked for index in messages[: at + 1]}
        assert not any(changes_every_turn(prompt, index) for index in kept), "a mark behind what is never the same"
    else:
        assert read.marked == []
    codes = [finding.code for finding in prompt.findings]
    assert ("TOOL_CALL_ID_REWRITTEN" in codes) == (read.ids != ids)
    sent = {pb.ROLE_USER, pb.ROLE_ASSISTANT, pb.ROLE_TOOL}
    lost = [m for at, m in enumerate(prompt.messages) if m.role in sent and m.content.strip() and at not in messages]
    reported = any("left out of `rendered`" in finding.message for finding in prompt.findings)
    assert reported == (lost != [])


@pytest.mark.parametrize("profile", ["cache-first", "kern"])
def test_providers_with_marks_are_asked_to_keep_the_same_prefixes(prompts, sdks, stub, profile):
    [case] = [case for case in CONVERSATIONS if case.get("marked")]
    marked = {}
    for kind in MARKING:
        prompt = assemble(prompts, case, profile, kind)
        read = Read(kind, send(sdks, stub, kind, json.loads(prompt.rendered)))
        sent = wanted(prompt, kind, profile)[1]
        found = {sent[at] for at in read.marked}
        assert len(found) == len(read.marked)
        assert any(prompt.messages[index].role == pb.ROLE_SYSTEM for index in found)
        assert any(prompt.messages[index].HasField("conversation_index") for index in found)
        # OpenRouter takes the same messages as Anthropic.
        marked[kind] = found
        assert found == marked["openrouter-chat"] & set(sent)


def replaced(fragment, path, value):
    """The fragment with another value at a path."""
    fragment = at = copy.deepcopy(fragment)
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return fragment


# What an SDK has to refuse, so that its silence about the fragments says something.
WRONG = [
    ("anthropic-messages", ["system", 0, "cache_control"], {"type": "ephemeral", "ttl": "2h"}),
    ("anthropic-messages", ["messages", 0, "content", 0, "note"], "x"),
    ("anthropic-messages", ["messages", 1, "content", 1, "input"], "{}"),
    ("openai-chat", ["messages", -1, "role"], "model"),
    ("openai-chat", ["messages", -1, "note"], "x"),
    ("openai-responses", ["input", 0, "content"], None),
    ("openai-responses", ["input", 0, "note"], "x"),
    ("gemini", ["contents", 0, "parts", 0, "note"], "x"),
    ("gemini", ["contents", 0, "parts", 0, "text"], ["x"]),
    ("bedrock-converse", ["system", 0, "cachePoint"], {"type": "default"}),
    ("bedrock-converse", ["messages", 0, "content", 0, "note"], "x"),
    ("bedrock-converse", ["messages", 0, "content"], "x"),
    ("bedrock-converse", ["messages", 1, "content", 1, "toolUse", "toolUseId"], 7),
]


@pytest.mark.parametrize(("kind", "path", "value"), WRONG)
def test_an_sdk_refuses_what_is_not_of_its_types(prompts, sdks, stub, kind, path, value):
    [case] = [case for case in CONVERSATIONS if case["name"] == "a call and its result"]
    fragment = json.loads(assemble(prompts, case, "five-layer", kind).rendered)
    send(sdks, stub, kind, fragment)
    with pytest.raises((AssertionError, ParamValidationError, pydantic.ValidationError)):
        send(sdks, stub, kind, replaced(fragment, path, value))
    assert stub.bodies == [], "it was sent"
