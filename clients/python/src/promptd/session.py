"""A conversation with one workspace: only what changed is sent."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from typing_extensions import Self, TypeAlias, Unpack

from . import answers, calls
from .errors import PromptdError
from .options import AssembleOptions
from .prompt import Prompt
from .v1 import promptd_pb2 as pb

if TYPE_CHECKING:
    from .client import Promptd

Change: TypeAlias = answers.WatchWorkspaceResponse
OnChange: TypeAlias = Callable[[Change], None]
# What the service takes in one request.
MAX_DIGESTS = 16_384

log = logging.getLogger("promptd")


class Held:
    """The texts of the last prompt by digest. The service leaves out what it is told that the caller holds."""

    def __init__(self, workspace: str, defaults: Mapping[str, Any]) -> None:
        self.workspace = workspace
        self.defaults = defaults
        self.texts: dict[str, str] = {}
        # A mistake in the defaults is said now, not in the first turn.
        calls.assemble(workspace, defaults)

    def call(self, options: Mapping[str, Any]) -> calls.Call[Prompt]:
        """A turn's call, whose answer is put together again."""
        call = calls.assemble(self.workspace, {**self.defaults, **options})
        request = call.request
        assert isinstance(request, pb.AssemblePromptRequest)
        texts = dict(self.texts)
        request.if_none_match.extend(list(texts)[:MAX_DIGESTS])
        return replace(call, read=lambda answer, id: whole(call.read(answer, id), texts))

    def keep(self, prompt: Prompt) -> Prompt:
        """Remembers what a prompt has, and no more, so that the list does not grow."""
        if not prompt.stale:
            self.texts = {one.digest: one.content for one in prompt.messages}
            self.texts |= {one.digest: one.content for one in prompt.cards}
        return prompt


def whole(prompt: Prompt, texts: Mapping[str, str]) -> Prompt:
    """The prompt with the texts that the service left out. `not_modified` still says which those were."""
    return replace(
        prompt,
        messages=[replace(one, content=texts[one.digest]) if one.not_modified else one for one in prompt.messages],
        cards=[replace(one, content=texts[one.digest]) if one.not_modified else one for one in prompt.cards],
    )


class Session:
    """Turns of one workspace. Not for several threads at once."""

    def __init__(
        self, client: Promptd, workspace: str, defaults: AssembleOptions, on_change: OnChange | None = None
    ) -> None:
        self._client = client
        self._held = Held(workspace, defaults)
        self._watch = client.watch(workspace) if on_change else None
        if on_change:
            threading.Thread(target=self._follow, args=[on_change], name=f"promptd {workspace}", daemon=True).start()

    def assemble(self, **options: Unpack[AssembleOptions]) -> Prompt:
        """The prompt for one turn: `options` over the session's defaults."""
        return self._held.keep(self._client._assemble(self._held.call(options)))

    def close(self) -> None:
        """Ends the watch. The client stays open."""
        if self._watch is not None:
            self._watch.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _follow(self, on_change: OnChange) -> None:
        """Tells of every state but the first, which is not a change."""
        assert self._watch is not None
        try:
            next(self._watch, None)
            for state in self._watch:
                told(on_change, state)
        except PromptdError as error:
            log.error("the workspace %s is no longer followed: %s", self._held.workspace, error)


def told(on_change: OnChange, state: Change) -> None:
    """Calls `on_change`; its own mistake must not end the watch."""
    try:
        on_change(state)
    except Exception:
        log.exception("on_change failed")
