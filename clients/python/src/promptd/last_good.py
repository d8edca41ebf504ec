"""Answers of before, for when no server can be reached.

What is kept is not the answer itself but a second one, to the same turn without its conversation, knowledge and summary, and of that
no line that shows the clock: these are never replayed. When it is served, the caller's conversation is put in its place. The second call
is made once for each key and revision.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, Union

from typing_extensions import TypeAlias

from . import answers, rendering
from .decode import decode
from .encode import enum_numbers
from .errors import PromptdError
from .prompt import FORMATS, Prompt
from .v1 import promptd_pb2 as pb

NEVER_REPLAYED = ("now", "conversation", "knowledge", "conversation_summary")
ROLES = {number: name for name, number in enum_numbers(pb.DESCRIPTOR.enum_types_by_name["Role"]).items()}
DEFAULT_MAX_ENTRIES = 256
FOLDER_MODE = 0o700

log = logging.getLogger("promptd")


@dataclass(frozen=True)
class Entry:
    """A prompt that is kept."""

    revision: str
    profile: str
    messages: list[dict[str, Any]] = field(default_factory=list)
    """Those that are not of the conversation: role, name, content, ephemeral."""
    behind: list[str] = field(default_factory=list)
    """The names of those that come behind the conversation."""
    carries: bool = True
    """Whether the profile carries the conversation as messages."""
    allowed_tools: list[str] = field(default_factory=list)
    confirmed: float = 0.0
    """When the service last gave this revision, in seconds since 1970."""


class Store(Protocol):
    """Where entries are kept, by a key of 64 hex digits."""

    def get(self, key: str) -> Entry | None:
        """The entry, if there is one."""

    def put(self, key: str, entry: Entry) -> None:
        """Keeps an entry in place of the one before."""


Stores: TypeAlias = Union[Store, str, "PathLike[str]"]


class Memory:
    """Keeps entries in memory: of `max_entries` those that were used last."""

    def __init__(self, max_entries: int = DEFAULT_MAX_ENTRIES) -> None:
        self.max_entries = max_entries
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> Entry | None:
        """The entry, if there is one."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)

    def put(self, key: str, entry: Entry) -> None:
        """Keeps an entry in place of the one before."""
        with self._lock:
            self._entries[key] = entry
            self._entries.move_to_end(key)
            while len(self._entries) > self.max_entries:
                self._entries.popitem(last=False)


class Folder:
    """Keeps entries as files of a folder, for their owner alone: of `max_entries` those that were written last.

    The texts of ephemeral messages are not written.
    """

    def __init__(self, path: str | PathLike[str], max_entries: int = DEFAULT_MAX_ENTRIES) -> None:
        self.path = Path(path)
        self.max_entries = max_entries

    def get(self, key: str) -> Entry | None:
        """The entry, if there is one that can be read."""
        try:
            return Entry(**json.loads((self.path / f"{key}.json").read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def put(self, key: str, entry: Entry) -> None:
        """Writes an entry: whole or not at all."""
        kept = [one | {"content": ""} if one["ephemeral"] else one for one in entry.messages]
        self.path.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        # Only its owner can read such a file.
        handle, name = tempfile.mkstemp(prefix=".", dir=self.path)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(asdict(replace(entry, messages=kept)), file)
            os.replace(name, self.path / f"{key}.json")
        except BaseException:
            os.unlink(name)
            raise
        files = sorted(self.path.glob("*.json"), key=lambda file: file.stat().st_mtime, reverse=True)
        for old in files[self.max_entries :]:
            old.unlink(missing_ok=True)


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
        """Not for a pinned or strict call: who asks for one thing wants no other."""
        return not request.revision and not request.strict

    def base(self, request: pb.AssemblePromptRequest) -> pb.AssemblePromptRequest:
        """The request of what is kept."""
        base = without_turns_own(request)
        base.include_spans = True
        base.omit_sections = base.reference_conversation = False
        return base

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

    def put(self, key: str, entry: Entry) -> None:
        """Stores an entry; a full disk must not cost an answer that is there."""
        try:
            self.store.put(key, entry)
        except OSError as error:
            log.warning("the last good answer cannot be kept: %s", error)

    def serve(self, request: pb.AssemblePromptRequest, error: PromptdError) -> Prompt | None:
        """The prompt to give in place of an error; None where the error is the answer, or nothing is kept."""
        down = error.code == "UNAVAILABLE" and error.reason != "TOKEN_RIGHTS_CHANGED"
        entry = self.store.get(self.key(request)) if down or error.unreachable else None
        if entry is None:
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
    """The kept messages. Where texts for one turn were not kept, the turn's own stands in place of the last of them."""
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
