"""A client computes every digest again, from docs/rules.md alone."""

import hashlib
import json

import grpc
import pytest
from google.protobuf import json_format
from promptd.v1 import promptd_pb2 as pb
from promptd.v1 import promptd_pb2_grpc as services
from ruamel.yaml import YAML

import checks
import digests
from server import ROOT, Server

TURNS = sorted((ROOT / "examples/turns").glob("*.yaml"))
CONVERSATIONS = json.loads((ROOT / "tests/polyglot/conversations.json").read_text(encoding="utf-8"))
# The profiles that need no input.
PLAIN = ["five-layer", "kai-remote", "kai-local", "kai-heartbeat", "lucidpal", "airi", "kern"]


@pytest.fixture(scope="module")
def server():
    with Server() as running:
        yield running


@pytest.fixture(scope="module")
def prompts(server):
    with grpc.insecure_channel(server.address) as channel:
        yield services.PromptServiceStub(channel)


def request_of(path):
    turn = dict(YAML(typ="safe").load(path))
    profile = turn.pop("profile")
    request = {"workspace_id": "example", "profile": profile, "turn": turn}
    return json_format.ParseDict(request, pb.AssemblePromptRequest())


def plain(profile):
    return pb.AssemblePromptRequest(workspace_id="example", profile=profile)


def check(prompt, files):
    """Every digest of an answer is that of its texts, and that of a file of the file's bytes."""
    for index, message in enumerate(prompt.messages):
        assert message.digest == digests.of_message(prompt, index).hex()
    for index, card in enumerate(prompt.cards):
        assert card.digest == digests.of_card(prompt, index).hex()
    assert prompt.digest == digests.of_prompt(prompt).hex()
    plan = prompt.cache_plan
    messages, size, digest = digests.stable_front(prompt)
    assert (plan.stable_messages, plan.stable_bytes, plan.stable_digest) == (messages, size, digest.hex())
    for section in prompt.sections:
        if section.source.path and not section.source.path.startswith("@"):
            content = (files / section.source.path).read_bytes()
            assert section.source.sha256 == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("path", TURNS, ids=lambda path: path.stem)
def test_the_digests_of_each_example_turn(server, prompts, path):
    check(prompts.AssemblePrompt(request_of(path), timeout=10), server.workspace)


@pytest.mark.parametrize("profile", PLAIN)
def test_the_digests_of_a_turn_that_sets_nothing(server, prompts, profile):
    check(prompts.AssemblePrompt(plain(profile), timeout=10), server.workspace)


@pytest.mark.parametrize("profile", ["five-layer", "kern", "airi", "lucidpal"])
@pytest.mark.parametrize("case", CONVERSATIONS, ids=lambda case: case["name"])
def test_the_digests_of_conversations(server, prompts, case, profile):
    request = checks.assemble(conversation={"messages": case["messages"]})
    request.profile = profile
    check(prompts.AssemblePrompt(request, timeout=10), server.workspace)


def test_the_stable_front_ends_between_messages_and_inside_one(prompts):
    requests = [plain(profile) for profile in PLAIN] + [request_of(path) for path in TURNS]
    answers = [prompts.AssemblePrompt(request, timeout=10) for request in requests]
    plans = [answer.cache_plan for answer in answers]
    assert any(plan.stable_messages for plan in plans)
    assert any(plan.stable_bytes for plan in plans if not plan.stable_messages)
    assert any(answer.cards for answer in answers)


def test_digests_of_ones_own_are_held(prompts):
    prompt = prompts.AssemblePrompt(checks.assemble(), timeout=10)
    request = checks.assemble()
    request.if_none_match.extend(digests.of_message(prompt, index).hex() for index in range(len(prompt.messages)))
    assert all(message.not_modified for message in prompts.AssemblePrompt(request, timeout=10).messages)
    del request.if_none_match[:]
    request.if_none_match.append(digests.of_prompt(prompt).hex())
    assert prompts.AssemblePrompt(request, timeout=10).not_modified
