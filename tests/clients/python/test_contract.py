"""The package has all of the contract, and the policy of examples/service_config.json."""

import json
import re

import grpc
from promptd import Prompt, Promptd, answers, names, options, requests, retry
from promptd.v1 import promptd_pb2 as pb
from promptd.v1 import promptd_pb2_grpc, session_pb2
from running import ROOT

FILES = [pb.DESCRIPTOR, session_pb2.DESCRIPTOR]
MESSAGES = {name: kind for file in FILES for name, kind in file.message_types_by_name.items()}


def test_the_policy_is_that_of_the_file():
    policy = json.loads((ROOT / "examples/service_config.json").read_text(encoding="utf-8"))
    seconds = lambda text: float(text.removesuffix("s"))
    [method] = policy["methodConfig"]
    assert policy["loadBalancingConfig"] == retry.LOAD_BALANCING
    assert method["name"] == [{"service": f"promptd.v1.{name}"} for name in retry.SERVICES]
    contract = (path.read_text(encoding="utf-8") for path in (ROOT / "proto/promptd/v1").glob("*.proto"))
    assert set(retry.SERVICES) == {name for text in contract for name in re.findall(r"^service (\w+)", text, re.M)}
    retries = method["retryPolicy"]
    assert retries["maxAttempts"] == retry.MAX_ATTEMPTS and retries["backoffMultiplier"] == retry.BACKOFF_MULTIPLIER
    assert seconds(retries["initialBackoff"]) == retry.INITIAL_BACKOFF_SECONDS
    assert seconds(retries["maxBackoff"]) == retry.MAX_BACKOFF_SECONDS
    assert retries["retryableStatusCodes"] == list(retry.RETRYABLE_CODES)


def test_every_method_of_the_contract_can_be_called():
    called = {
        "AssemblePrompt": "assemble",
        "DiffPrompt": "diff",
        "ParseReply": "parse_reply",
        "PlanHistory": "plan_history",
        "ListWorkspaces": "list_workspaces",
        "GetWorkspace": "get_workspace",
        "WatchWorkspace": "watch",
        "ListRevisions": "list_revisions",
        "ListSkills": "list_skills",
        "ReadSkill": "read_skill",
        "ReadFile": "read_file",
        "ListProfiles": "list_profiles",
        "GetProfile": "get_profile",
    }
    assert set(called) == {name for service in pb.DESCRIPTOR.services_by_name.values() for name in service.methods_by_name}
    assert all(hasattr(Promptd, name) for name in called.values())


def test_every_field_of_a_request_can_be_given():
    def given(message, hidden):
        return {field.name for field in MESSAGES[message].fields} - hidden

    turn = given("Turn", set())
    assert set(requests.Turn.__annotations__) == turn
    whole = given("AssemblePromptRequest", {"workspace_id", "turn", "if_none_match", "render_format"})
    assert set(options.AssembleOptions.__annotations__) == turn | whole | {"format", "timeout"}
    whole = given("DiffPromptRequest", {"workspace_id", "turn"})
    assert set(options.DiffOptions.__annotations__) == turn | whole | {"timeout"}
    whole = given("PlanHistoryRequest", {"workspace_id", "messages"})
    assert set(options.PlanOptions.__annotations__) == whole | {"timeout"}


def test_every_field_of_an_answer_can_be_read():
    answer = {field.name for field in MESSAGES["AssemblePromptResponse"].fields} - {"not_modified"}
    assert answer <= set(Prompt.__dataclass_fields__)
    checked = 0
    for name, kind in MESSAGES.items():
        if hasattr(answers, name):
            assert list(getattr(answers, name).__dataclass_fields__) == [field.name for field in kind.fields]
            checked += 1
    assert checked > 50


def test_the_package_has_the_stubs_that_other_programs_use(server):
    with grpc.insecure_channel(server.address) as channel:
        answer = promptd_pb2_grpc.PromptServiceStub(channel).AssemblePrompt(pb.AssemblePromptRequest(workspace_id="example"), timeout=5)
    assert answer.messages


def test_names_are_short_and_complete():
    assert names.RenderFormat.__args__[:3] == ("unspecified", "text", "openai-chat")
    assert names.ResponseFormat.__args__ == ("unspecified", "text", "json-object")
    for name, kind in pb.DESCRIPTOR.enum_types_by_name.items():
        assert len(getattr(names, name).__args__) == len(kind.values)
