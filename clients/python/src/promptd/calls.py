"""The service's methods: what each is asked with, and what its answer is. Both clients make their calls here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from . import answers, requests
from .decode import decode
from .encode import encode, nearest, said
from .errors import Violation, refused
from .options import AssembleOptions, DiffOptions
from .prompt import Prompt
from .v1 import promptd_pb2 as pb
from .v1 import session_pb2

Answer = TypeVar("Answer")

OPTIONS: dict[str, Any] = {"AssemblePromptRequest": AssembleOptions, "DiffPromptRequest": DiffOptions}


@dataclass(frozen=True)
class Call(Generic[Answer]):
    """One call of a method."""

    method: MethodDescriptor
    request: Message
    read: Callable[[Any, str], Answer]
    """From the answer and the call's request id to what the caller gets."""
    timeout: float | None = None
    """Seconds; None: the client's."""

    @property
    def path(self) -> str:
        """The method as gRPC names it."""
        return f"/{self.method.containing_service.full_name}/{self.method.name}"

    @property
    def answer(self) -> type[Message]:
        """The type of the answer."""
        return GetMessageClass(self.method.output_type)


def assemble(workspace: str, options: Mapping[str, Any]) -> Call[Prompt]:
    """AssemblePrompt."""
    values = with_turn("AssemblePromptRequest", workspace, options)
    values["render_format"] = values.pop("format", None)
    request = encode(pb.AssemblePromptRequest(), values, {"render_format": "format"})
    return assembled(request, seconds(options))


def assembled(request: pb.AssemblePromptRequest, timeout: float | None) -> Call[Prompt]:
    """AssemblePrompt of a request that is made already."""
    return Call(method("AssemblePrompt"), request, lambda answer, id: Prompt.read(request, answer, id), timeout)


def diff(workspace: str, options: Mapping[str, Any]) -> Call[answers.DiffPromptResponse]:
    """DiffPrompt."""
    values = with_turn("DiffPromptRequest", workspace, options)
    if isinstance(files := values.get("proposed"), Mapping):
        listed = [{"path": path, "content": in_bytes(content)} for path, content in files.items()]
        values["proposed"] = {"files": listed}
    return plain("DiffPrompt", values, seconds(options))


def plain(name: str, values: Mapping[str, Any], timeout: float | None = None) -> Call[Any]:
    """A method whose answer is given as it is, as a dataclass."""
    found = method(name)
    request = encode(GetMessageClass(found.input_type)(), values)
    return Call(found, request, lambda answer, _: decode(answer), timeout)


def part(name: str, field: str, values: Mapping[str, Any]) -> Call[Any]:
    """A method of whose answer one field is given."""
    whole = plain(name, values)
    return Call(whole.method, whole.request, lambda answer, _: decode(getattr(answer, field)))


def parse_reply(text: str, workspace: str, heartbeat: bool, profile: str, inputs: Any) -> Call[answers.ParseReplyResponse]:
    """ParseReply."""
    values = {"workspace_id": workspace, "text": text, "heartbeat": heartbeat, "profile": profile, "inputs": inputs}
    return plain("ParseReply", values)


def plan(workspace: str, messages: Sequence[Any], options: Mapping[str, Any]) -> Call[answers.PlanHistoryResponse]:
    """PlanHistory."""
    values = {name: value for name, value in options.items() if name != "timeout"}
    return plain("PlanHistory", {"workspace_id": workspace, "messages": messages, **values}, seconds(options))


def get_workspace(workspace: str) -> Call[answers.Workspace]:
    """GetWorkspace."""
    return part("GetWorkspace", "workspace", {"workspace_id": workspace})


def list_revisions(workspace: str) -> Call[list[answers.Revision]]:
    """ListRevisions."""
    whole = plain("ListRevisions", {"workspace_id": workspace})
    return Call(whole.method, whole.request, lambda answer, _: [decode(one) for one in answer.revisions])


def read_file(workspace: str, path: str) -> Call[answers.ReadFileResponse]:
    """ReadFile."""
    return plain("ReadFile", {"workspace_id": workspace, "path": path})


def read_skill(
    workspace: str, name: str, file: str, skill_filter: Any, revision: str
) -> Call[answers.ReadSkillResponse]:
    """ReadSkill."""
    values = {"name": name, "file": file, "skill_filter": skill_filter, "revision": revision}
    return plain("ReadSkill", {"workspace_id": workspace, **values})


def get_profile(name: str) -> Call[answers.Profile]:
    """GetProfile."""
    return part("GetProfile", "profile", {"name": name})


def page(name: str, values: Mapping[str, Any], token: str) -> Call[tuple[list[Any], str]]:
    """A page of a list: its items and the token of the next; empty: this is the last."""
    whole = plain(name, {**values, "page_token": token})
    items = next(field.name for field in whole.method.output_type.fields if field.is_repeated)

    def read(answer: Any, _: str) -> tuple[list[Any], str]:
        return [decode(item) for item in getattr(answer, items)], answer.next_page_token

    return Call(whole.method, whole.request, read)


def method(name: str) -> MethodDescriptor:
    """A method of any of the services."""
    services = [*pb.DESCRIPTOR.services_by_name.values(), *session_pb2.DESCRIPTOR.services_by_name.values()]
    return next(service.methods_by_name[name] for service in services if name in service.methods_by_name)


def with_turn(request: str, workspace: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a request that has a turn: options that are fields of the turn go there."""
    turn_fields = requests.Turn.__annotations__
    allowed = OPTIONS[request].__annotations__
    unknown = [Violation(name, f"is not an option; {nearest(name, allowed)}") for name in options if name not in allowed]
    if unknown:
        raise refused(unknown)
    turn = {name: value for name, value in options.items() if name in turn_fields}
    rest = {name: value for name, value in options.items() if name not in turn_fields and name != "timeout"}
    return {"workspace_id": workspace, **rest, "turn": turn}


def seconds(options: Mapping[str, Any]) -> float | None:
    """The call's own `timeout`."""
    timeout = options.get("timeout")
    if timeout is None or (isinstance(timeout, (int, float)) and not isinstance(timeout, bool) and timeout > 0):
        return timeout
    raise refused([Violation("timeout", f"must be a number of seconds above 0, not {said(timeout)}")])


def in_bytes(content: Any) -> Any:
    return content.encode() if isinstance(content, str) else content
