"""A workspace's states as they come, over broken connections too."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import grpc
from typing_extensions import Self

from . import answers, retry
from .decode import decode
from .encode import encode
from .errors import PromptdError, from_rpc
from .v1 import promptd_pb2 as pb

# So that a server which is started again is followed within a second.
MAX_RECONNECT_SECONDS = 0.4

log = logging.getLogger("promptd")


class Following:
    """What a watch knows of its workspace; the same for threads and for asyncio."""

    def __init__(self, address: str, workspace: str, known_revision: str) -> None:
        self.address = address
        self.request = encode(
            pb.WatchWorkspaceRequest(), {"workspace_id": workspace, "known_revision": known_revision}
        )
        self.failures = 0
        self.ended = False

    def seen(self, answer: pb.WatchWorkspaceResponse) -> answers.WatchWorkspaceResponse:
        """Takes a state in."""
        self.failures = 0
        self.ended = answer.deleted
        self.request.known_revision = answer.workspace.revision
        state: answers.WatchWorkspaceResponse = decode(answer)
        return state

    def pause(self, failure: grpc.RpcError | None) -> float:
        """In how many seconds to connect again after a stream ended; raises where that is of no use."""
        error = PromptdError("UNAVAILABLE", "the stream ended")
        if failure is not None:
            error = from_rpc(failure, self.address, None)
        if error.code not in retry.RETRYABLE_CODES:
            raise error
        self.failures += 1
        if self.failures == 1:
            log.warning("watch of workspace %s: %s", self.request.workspace_id, error.message)
        return retry.backoff(self.failures, error, MAX_RECONNECT_SECONDS)


class Watch(Iterator[answers.WatchWorkspaceResponse]):
    """Iterates over states: the current one at once, then one after each change. Ends when the workspace goes.

    It connects again by itself for as long as it takes. `close` ends it from any thread.
    """

    def __init__(
        self, open_stream: Callable[[pb.WatchWorkspaceRequest], Any], address: str, workspace: str, known_revision: str
    ) -> None:
        self._open = open_stream
        self._following = Following(address, workspace, known_revision)
        self._closed = threading.Event()
        self._stream: Any = None

    def __next__(self) -> answers.WatchWorkspaceResponse:
        while not self._closed.is_set() and not self._following.ended:
            failure = None
            try:
                if self._stream is None:
                    self._stream = self._open(self._following.request)
                    if self._closed.is_set():
                        self._stream.cancel()
                return self._following.seen(next(self._stream))
            except StopIteration:
                pass
            except (grpc.RpcError, ValueError) as error:
                # A ValueError is what gRPC raises on a channel that was closed.
                if self._closed.is_set() or not isinstance(error, grpc.RpcError) or cancelled(error):
                    break
                failure = error
            self._stream = None
            self._closed.wait(self._following.pause(failure))
        raise StopIteration

    def close(self) -> None:
        """Ends the watch."""
        self._closed.set()
        if self._stream is not None:
            self._stream.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def cancelled(error: Any) -> bool:
    """Whether this side ended the stream."""
    return bool(error.code() is grpc.StatusCode.CANCELLED)
