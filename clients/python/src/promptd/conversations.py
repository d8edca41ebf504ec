"""Stored conversations, blocking."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from . import answers, conversation_calls, requests
from .watch import FollowingSession, Watch

if TYPE_CHECKING:
    from .client import Promptd


class Conversations:
    """The conversations that the service stores, where it has `memory.store`: each message is sent once, and a turn names its
    session: `client.assemble(workspace, session_id=…)`."""

    def __init__(self, client: Promptd) -> None:
        self._client = client

    def append(
        self,
        workspace: str,
        session: str,
        messages: Sequence[requests.ConversationMessage],
        *,
        expected_position: int | None = None,
    ) -> answers.AppendMessagesResponse:
        """Stores messages, each with an `id` of its own, and makes the session where there is none.

        It returns once they are on the disk; a message that is stored already is not stored again. With `expected_position`
        they are refused, SESSION_MOVED, where another writer changed it.
        """
        return self._client._run(conversation_calls.append(workspace, session, messages, expected_position))

    def list(self, workspace: str) -> Iterator[answers.Session]:
        """All sessions of a workspace, those that changed last first, page by page."""
        return self._client._pages("ListSessions", {"workspace_id": workspace})

    def get(self, workspace: str, session: str) -> answers.Session:
        """A session: where it is, and how many messages it has by role."""
        return self._client._run(conversation_calls.get(workspace, session))

    def messages(
        self, workspace: str, session: str, *, from_position: int = 0, at_position: int | None = None
    ) -> Iterator[answers.StoredMessage]:
        """All messages of a session from a position on, page by page. `at_position`: as it was then."""
        next_position: int | None = from_position
        while next_position is not None:
            call = conversation_calls.messages(workspace, session, next_position, at_position)
            page, next_position = self._client._run(call)
            yield from page

    def segments(self, workspace: str, session: str) -> Iterator[answers.StoredSegment]:
        """What a session's messages were divided into, with the summaries: of level 0 first, page by page."""
        return self._client._pages("ListSegments", {"workspace_id": workspace, "session_id": session})

    def notes(self, workspace: str) -> answers.ListNotesSummariesResponse:
        """The summaries of a workspace's daily notes, those made last first, and why there is no newer one."""
        return self._client._run(conversation_calls.notes(workspace))

    def export(self, workspace: str, session: str) -> Iterator[bytes]:
        """A whole session as JSON lines, some at a time. Where it breaks, it begins again with another call."""
        return self._client._stream(conversation_calls.export(workspace, session))

    def delete(self, workspace: str, session: str) -> int:
        """Removes a session, and returns once its text is gone from the disk; how many messages it had."""
        return self._client._run(conversation_calls.delete(workspace, session))

    def watch(
        self, workspace: str, session: str, *, known_position: int | None = None
    ) -> Watch[answers.WatchSessionResponse]:
        """The session, then again after each change, over broken connections too. Close it when done. Ends when the session goes."""
        return Watch(self._client._open, FollowingSession(self._client.address, workspace, session, known_position))

    def fork(
        self, workspace: str, session: str, new_session: str, *, at_position: int | None = None
    ) -> answers.Session:
        """Copies a session, as it was at a position, to a new one."""
        return self._client._run(conversation_calls.fork(workspace, session, new_session, at_position))

    def truncate(
        self, workspace: str, session: str, from_position: int, *, expected_position: int | None = None
    ) -> answers.Session:
        """Removes the messages from a position on, such as one that is edited and sent again."""
        return self._client._run(conversation_calls.truncate(workspace, session, from_position, expected_position))

    def recall(
        self,
        workspace: str,
        query: str,
        *,
        session: str = "",
        before_position: int | None = None,
        start_time: datetime | None = None,
        end_time: datetime | None = None,
        limit: int = 0,
        min_similarity: float | None = None,
        in_context: requests.RecallContext | None = None,
    ) -> answers.RecallResponse:
        """The messages that match best, of all sessions or of one, at most `limit` (0: 5)."""
        call = conversation_calls.recall(
            workspace,
            query,
            session,
            before_position,
            start_time,
            end_time,
            limit,
            min_similarity,
            in_context,
        )
        return self._client._run(call)

    def stats(self, workspace: str) -> answers.GetRecallStatsResponse:
        """How much a workspace has stored."""
        return self._client._run(conversation_calls.stats(workspace))
