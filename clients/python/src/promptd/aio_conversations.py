"""Stored conversations, for asyncio: the methods of `Conversations`, awaited."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from . import answers, conversation_calls, requests
from .watch import FollowingSession

if TYPE_CHECKING:
    from .aio import AsyncPromptd


class AsyncConversations:
    """The conversations that the service stores, where it has `memory.store`."""

    def __init__(self, client: AsyncPromptd) -> None:
        self._client = client

    async def append(
        self,
        workspace: str,
        session: str,
        messages: Sequence[requests.ConversationMessage],
        *,
        expected_position: int | None = None,
    ) -> answers.AppendMessagesResponse:
        """Stores messages, each with an `id` of its own, and makes the session where there is none."""
        return await self._client._run(conversation_calls.append(workspace, session, messages, expected_position))

    def list(self, workspace: str) -> AsyncIterator[answers.Session]:
        """All sessions of a workspace, those that changed last first, page by page."""
        return self._client._pages("ListSessions", {"workspace_id": workspace})

    async def get(self, workspace: str, session: str) -> answers.Session:
        """A session: where it is, and how many messages it has by role."""
        return await self._client._run(conversation_calls.get(workspace, session))

    async def messages(
        self, workspace: str, session: str, *, from_position: int = 0, at_position: int | None = None
    ) -> AsyncIterator[answers.StoredMessage]:
        """All messages of a session from a position on, page by page. `at_position`: as it was then."""
        next_position: int | None = from_position
        while next_position is not None:
            call = conversation_calls.messages(workspace, session, next_position, at_position)
            page, next_position = await self._client._run(call)
            for message in page:
                yield message

    def segments(self, workspace: str, session: str) -> AsyncIterator[answers.StoredSegment]:
        """What a session's messages were divided into, with the summaries: of level 0 first, page by page."""
        return self._client._pages("ListSegments", {"workspace_id": workspace, "session_id": session})

    async def notes(self, workspace: str) -> answers.ListNotesSummariesResponse:
        """The summaries of a workspace's daily notes, those made last first, and why there is no newer one."""
        return await self._client._run(conversation_calls.notes(workspace))

    def export(self, workspace: str, session: str) -> AsyncIterator[bytes]:
        """A whole session as JSON lines, some at a time. Where it breaks, it begins again with another call."""
        return self._client._stream(conversation_calls.export(workspace, session))

    async def delete(self, workspace: str, session: str) -> int:
        """Removes a session, and returns once its text is gone from the disk; how many messages it had."""
        return await self._client._run(conversation_calls.delete(workspace, session))

    def watch(
        self, workspace: str, session: str, *, known_position: int | None = None
    ) -> AsyncIterator[answers.WatchSessionResponse]:
        """The session, then again after each change, over broken connections too. Ends when the session goes."""
        return self._client._follow(FollowingSession(self._client.address, workspace, session, known_position))

    async def fork(
        self, workspace: str, session: str, new_session: str, *, at_position: int | None = None
    ) -> answers.Session:
        """Copies a session, as it was at a position, to a new one."""
        return await self._client._run(conversation_calls.fork(workspace, session, new_session, at_position))

    async def truncate(
        self, workspace: str, session: str, from_position: int, *, expected_position: int | None = None
    ) -> answers.Session:
        """Removes the messages from a position on, such as one that is edited and sent again."""
        call = conversation_calls.truncate(workspace, session, from_position, expected_position)
        return await self._client._run(call)

    async def recall(
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
        return await self._client._run(call)

    async def stats(self, workspace: str) -> answers.GetRecallStatsResponse:
        """How much a workspace has stored."""
        return await self._client._run(conversation_calls.stats(workspace))
