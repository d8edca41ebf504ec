"""States as they come, of a workspace or of a stored session, over broken connections too."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import grpc
from google.protobuf.message import Message
from typing_extensions import Self

from . import answers, retry
from .decode import decode
from .encode import encode
from .errors import PromptdError, from_rpc
from .v1 import promptd_pb2 as pb
from .v1 import session_pb2

State = TypeVar("State")

# So that a server which is started again is followed within a second.
MAX_RECONNECT_SECONDS = 0.4

log = logging.getLogger("promptd")


class Following(Generic[State]):
    """What a watch knows of what it follows; the same for threads and for asyncio."""

    method: str

    def __init__(self, address: str, what: str, request: Message) -> None:
        self.address = address
        self.what = what
        self.request: Any = request
        self.failures = 0
        self.ended = False

    def seen(self, answer: Any) -> State:
        """Takes a state in."""
        self.failures = 0
        self.ended = answer.deleted
        self.note(answer)
        state: State = decode(answer)
        return state

    def note(self, answer: Any) -> None:
        """Says in the next request what is known by now."""
        raise NotImplementedError

    def pause(self, failure: grpc.RpcError | None) -> float:
        """In how many seconds to connect again after a stream ended; raises where that is of no use."""
        error = PromptdError("UNAVAILABLE", "the stream ended")
        if failure is not None:
            error = from_rpc(failure, self.address, None)
        if error.code not in retry.RETRYABLE_CODES:
            raise error
        self.failures += 1
        if self.failures == 1:
            log.warning("watch of %s: %s", self.what, error.message)
        return retry.backoff(self.failures, error, MAX_RECONNECT_SECONDS)


class FollowingWorkspace(Following[answers.WatchWorkspaceResponse]):
    """Of a workspace."""

    method = "WatchWorkspace"

    def __init__(self, address: str, workspace: str, known_revision: str) -> None:
        values = {"workspace_id": workspace, "known_revision": known_revision}
        super().__init__(address, f"workspace {workspace}", encode(pb.WatchWorkspaceRequest(), values))

    def note(self, answer: pb.WatchWorkspaceResponse) -> None:
        self.request.known_revision = answer.workspace.revision


class FollowingSession(Following[answers.WatchSessionResponse]):
    """Of a stored session."""

    method = "WatchSession"

    def __init__(self, address: str, workspace: str, session: str, known_position: int | None) -> None:
        values = {"workspace_id": workspace, "session_id": session, "known_position": known_position}
        what = f"session {session} of workspace {workspace}"
        super().__init__(address, what, encode(session_pb2.WatchSessionRequest(), values))

    def note(self, answer: session_pb2.WatchSessionResponse) -> None:
        self.request.known_position = answer.session.position


class Watch(Iterator[State]):
    """Iterates over states: the current one at once, then one after each change. Ends when what is watched goes.

    It connects again by itself for as long as it takes. `close` ends it from any thread.
    """

    def __init__(self, open_stream: Callable[[str, Message], Any], following: Following[State]) -> None:
        self._open = open_stream
        self._following = following
        self._closed = threading.Event()
        self._stream: Any = None

    def __next__(self) -> State:
        while not self._closed.is_set() and not self._following.ended:
            failure = None
            try:
                if self._stream is None:
                    self._stream = self._open(self._following.method, self._following.request)
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
