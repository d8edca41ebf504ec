"""What answers and errors must hold, whichever client asked."""

import re

from google.protobuf import json_format
from google.rpc import error_details_pb2
from promptd.v1 import promptd_pb2 as pb

import digests
from server import CASES


def assemble(**turn):
    """A request for the example workspace with the full turn, changed by `turn`; None takes a field away."""
    merged = {key: value for key, value in (CASES["turn"] | turn).items() if value is not None}
    return json_format.ParseDict({"workspace_id": "example", "turn": merged}, pb.AssemblePromptRequest())


def text(prompt):
    return "\n\n".join(message.content for message in prompt.messages)


def outcomes(prompt):
    return {section.id: pb.Outcome.Name(section.outcome) for section in prompt.sections}


def check_full(prompt):
    """All five layers, each section in order, every byte of every message accounted for."""
    assert [m.name for m in prompt.messages] == CASES["messages"]
    assert [s.id for s in prompt.sections] == CASES["sections"]
    assert [m.ephemeral for m in prompt.messages] == [False, False, False, True, True]
    whole, at = text(prompt), 0
    for part in CASES["in_order"]:
        at = whole.index(part, at) + len(part)
    for part in CASES["nowhere"]:
        assert part not in whole
    others = {section: outcome for section, outcome in outcomes(prompt).items() if outcome != "OUTCOME_INCLUDED"}
    assert others == {"workspace_context/docs/RUNBOOK.md": "OUTCOME_TRUNCATED", "conversation": "OUTCOME_OMITTED"}
    assert [f.code for f in prompt.findings].count("CONTEXT_FILE_TRUNCATED") == 1
    for index, message in enumerate(prompt.messages):
        content, end = message.content.encode(), 0
        for section in (s for s in prompt.sections if s.HasField("message_index") and s.message_index == index):
            assert content[end : section.byte_start].strip() == b"", "a separator holds text"
            # A file's size is that of its contents; the section has its heading too.
            assert section.byte_end - section.byte_start >= section.included_size.bytes > 0
            end = section.byte_end
        assert end == len(content)
        assert message.digest == digests.of_message(prompt, index).hex()
    assert prompt.digest == digests.of_prompt(prompt).hex()
    assert prompt.size.bytes == sum(len(m.content.encode()) for m in prompt.messages)


def check_without(case, prompt):
    """What a case takes away is gone, reported as no loss, and nothing else went with it."""
    assert case["text"] not in text(prompt)
    gone = case.get("messages", [])
    assert [m.name for m in prompt.messages] == [name for name in CASES["messages"] if name not in gone]
    reports = outcomes(prompt)
    for section in case["sections"]:
        assert reports.get(section, "OUTCOME_OMITTED") == "OUTCOME_OMITTED"


def unpack(status):
    """The details of an error, by type."""
    found = {}
    for detail in status.details:
        name = detail.TypeName().removeprefix("google.rpc.")
        assert name not in found, f"two details of type {name}"
        message = getattr(error_details_pb2, name)()
        assert detail.Unpack(message)
        found[name] = message
    return found


def check_error(case, error, status):
    """The status code and the details of an error."""
    assert error.code().name == case["code"], f"{error.code()}: {error.details()}"
    details = unpack(status)
    info = details["ErrorInfo"]
    assert info.domain == "promptd" and re.fullmatch("[A-Z][A-Z0-9_]*", info.reason)
    assert info.reason == case.get("reason", info.reason)
    assert set(case.get("details", [])) <= set(details)
    if "field" in case:
        assert case["field"] in [v.field for v in details["BadRequest"].field_violations]
    if "violations" in case:
        assert len(details["PreconditionFailure"].violations) == case["violations"]
    if case.get("alone"):
        assert set(details) == {"ErrorInfo"}
    assert "/tmp" not in error.details(), "an error text names a path of the server"
