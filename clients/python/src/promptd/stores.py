"""Where last good answers are kept: in memory, or in a folder."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections import OrderedDict
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, Union

from typing_extensions import TypeAlias

DEFAULT_MAX_ENTRIES = 256
FOLDER_MODE = 0o700


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
        # Another process may remove some of them at the same time.
        with suppress(FileNotFoundError):
            files = sorted(self.path.glob("*.json"), key=lambda file: file.stat().st_mtime, reverse=True)
            for old in files[self.max_entries :]:
                old.unlink(missing_ok=True)
