"""Answers of before, for when no server can be reached.

What is kept is not the answer itself but a second one, to the same turn without its conversation, knowledge and summary, and of that
no line that shows the clock: these are never replayed. When it is served, the caller's conversation is put in its place. The second call
is made once for each key and revision.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Iterator
from dataclasses import replace
from os import PathLike

from . import answers, rendering
from .calls import Call, assembled
from .decode import decode
from .encode import enum_numbers
from .errors import PromptdError
from .prompt import FORMATS, Prompt
from .stores import Entry, Folder, Store, Stores
from .v1 import promptd_pb2 as pb

NEVER_REPLAYED = ("now", "conversation", "knowledge", "conversation_summary")
# What was allowed before is not any more, or is gone.
FORGETTING_CODES = ("UNAUTHENTICATED", "PERMISSION_DENIED", "NOT_FOUND")
ROLES = {number: name for name, number in enum_numbers(pb.DESCRIPTOR.enum_types_by_name["Role"]).items()}

log = logging.getLogger("promptd")


class LastGood:
    """What to keep of the answers of one caller, and when to serve it."""

    def __init__(self, store: Store, token: str) -> None:
        self.store = store
        self.token = token

    @classmethod
    def of(cls, stores: Stores | None, token: str) -> LastGood | None:
        """What `last_good` of a client says."""
        if stores is None:
            return None
        return cls(Folder(stores) if isinstance(stores, (str, PathLike)) else stores, token)

    def takes(self, request: pb.AssemblePromptRequest) -> bool:
        """Not for a pinned or strict call: who asks for one thing wants no other. Nor for a stored session, whose messages
        are the service's to show."""
        return not request.revision and not request.strict and not request.turn.session_id

    def base(self, call: Call[Prompt], left: float) -> Call[Prompt]:
        """The call for what is kept, which may take the seconds that are left of the turn's own."""
        base = without_turns_own(asked(call))
        base.include_spans = True
        base.omit_sections = base.reference_conversation = False
        return assembled(base, max(left, 0.0))

    def key(self, request: pb.AssemblePromptRequest) -> str:
        """A digest of who asks, and of the request without what differs from turn to turn."""
        digest = hashlib.sha256(hashlib.sha256(self.token.encode()).digest())
        digest.update(without_turns_own(request).SerializeToString(deterministic=True))
        return digest.hexdigest()

    def confirm(self, request: pb.AssemblePromptRequest, prompt: Prompt) -> bool:
        """Whether what is kept is of the prompt's revision; its age begins again then."""
        key = self.key(request)
        entry = self.store.get(key)
        if entry is None or entry.revision != prompt.revision:
            return False
        self.put(key, replace(entry, confirmed=time.time()))
        return True

    def keep(self, request: pb.AssemblePromptRequest, prompt: Prompt, base: Prompt) -> None:
        """Keeps the answer to `base`, and of the prompt itself which messages came behind the conversation."""
        talk = [index for index, one in enumerate(prompt.messages) if one.conversation_index is not None]
        behind = [one.name for one in prompt.messages[talk[-1] + 1 :]] if talk else []
        carries = bool(talk) or not request.turn.conversation.messages
        messages = [
            {"role": one.role, "name": one.name, "content": without_clock(index, base), "ephemeral": one.ephemeral}
            for index, one in enumerate(base.messages)
        ]
        entry = Entry(base.revision, base.profile, messages, behind, carries, base.allowed_tools, time.time())
        self.put(self.key(request), entry)

    def keep_none(self, request: pb.AssemblePromptRequest, prompt: Prompt, error: PromptdError) -> None:
        """Remembers that this revision gives nothing to keep, so that not every turn asks for it."""
        if error.code not in ("UNAVAILABLE", "DEADLINE_EXCEEDED"):
            self.put(self.key(request), Entry(prompt.revision, prompt.profile, confirmed=time.time()))

    def put(self, key: str, entry: Entry) -> None:
        """Stores an entry; a full disk must not cost an answer that is there."""
        try:
            self.store.put(key, entry)
        except OSError as error:
            log.warning("the last good answer cannot be kept: %s", error)

    def serve(self, request: pb.AssemblePromptRequest, error: PromptdError) -> Prompt | None:
        """The prompt to give in place of an error; None where the error is the answer, or nothing is kept."""
        if error.code in FORGETTING_CODES and self.store.get(self.key(request)) is not None:
            self.put(self.key(request), Entry("", ""))
        # Only the service can say whether the workspace lets a caller speak as the system.
        if any(one.role == pb.ROLE_SYSTEM for one in request.turn.conversation.messages):
            return None
        down = error.code == "UNAVAILABLE" and error.reason != "TOKEN_RIGHTS_CHANGED"
        entry = self.store.get(self.key(request)) if down or error.unreachable else None
        if entry is None or not entry.messages:
            return None
        kept = list(restored(entry, request))
        front = [one for one in kept if one.name not in entry.behind]
        behind = [one for one in kept if one.name in entry.behind]
        messages = [*front, *conversation(entry, request), *behind]
        age = max(time.time() - entry.confirmed, 0.0)
        said = f"this prompt is from {age:.0f} s ago and without knowledge, summary and clock: {error.message}"
        format = FORMATS[request.render_format]
        text = "".join(one.content for one in messages)
        return Prompt(
            messages=messages,
            findings=[answers.Finding(severity="warning", code="STALE_PROMPT", message=said)],
            revision=entry.revision,
            profile=entry.profile,
            rendered=rendering.render(format, messages),
            format=format,  # type: ignore[arg-type]
            size=answers.Size(bytes=len(text.encode()), chars=len(text)),
            allowed_tools=entry.allowed_tools,
            stale=True,
            age=age,
        )


def asked(call: Call[Prompt]) -> pb.AssemblePromptRequest:
    """The request of a call of AssemblePrompt."""
    assert isinstance(call.request, pb.AssemblePromptRequest)
    return call.request


def without_turns_own(request: pb.AssemblePromptRequest) -> pb.AssemblePromptRequest:
    """The request without what is never replayed."""
    kept = pb.AssemblePromptRequest()
    kept.CopyFrom(request)
    del kept.if_none_match[:]
    for name in NEVER_REPLAYED:
        kept.turn.ClearField(name)
    return kept


def without_clock(index: int, prompt: Prompt) -> str:
    """The text of a message without the lines that show the time."""
    text = prompt.messages[index].content.encode()
    spans = [span for section in prompt.sections if section.message_index == index for span in section.spans]
    lines = text.splitlines(keepends=True)
    start, kept = 0, b""
    for line in lines:
        end = start + len(line)
        if not any(shows_clock(span) and span.byte_start < end and span.byte_end > start for span in spans):
            kept += line
        start = end
    return kept.decode()


def shows_clock(span: answers.Span) -> bool:
    """Whether the bytes are of the time of the turn. Its zone stays."""
    name = span.origin.name if span.origin else ""
    return name == "turn.now" or (name.startswith("now.") and name != "now.zone")


def restored(entry: Entry, request: pb.AssemblePromptRequest) -> Iterator[answers.PromptMessage]:
    """The kept messages. Where texts for one turn were not kept, the turn's own takes the place of the last of them."""
    lost = [index for index, one in enumerate(entry.messages) if one["ephemeral"] and not one["content"]]
    for index, one in enumerate(entry.messages):
        content = request.turn.ephemeral_system_prompt if index in lost[-1:] else one["content"]
        if content:
            yield answers.PromptMessage(one["role"], content, one["name"], one["ephemeral"])


def conversation(entry: Entry, request: pb.AssemblePromptRequest) -> list[answers.PromptMessage]:
    """The caller's messages as they are, of a profile that carries them."""
    return [
        answers.PromptMessage(
            role=ROLES[one.role],  # type: ignore[arg-type]
            content=one.content,
            tool_call_id=one.tool_call_id,
            tool_calls=[decode(call) for call in one.tool_calls],
            speaker=one.name,
            conversation_index=index,
        )
        for index, one in enumerate(request.turn.conversation.messages if entry.carries else [])
    ]
