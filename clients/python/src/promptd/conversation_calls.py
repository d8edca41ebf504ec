"""The methods of SessionService. The blocking and the asyncio client make their calls here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from . import answers
from .calls import Call, method, part, plain
from .decode import decode
from .encode import encode
from .v1 import session_pb2 as pb


def append(
    workspace: str, session: str, messages: Sequence[Any], expected_position: int | None
) -> Call[answers.AppendMessagesResponse]:
    """AppendMessages."""
    values = named(workspace, session) | {"messages": messages, "expected_position": expected_position}
    return plain("AppendMessages", values)


def get(workspace: str, session: str) -> Call[answers.Session]:
    """GetSession."""
    return part("GetSession", "session", named(workspace, session))


def messages(
    workspace: str, session: str, from_position: int, at_position: int | None
) -> Call[tuple[list[answers.StoredMessage], int | None]]:
    """ListMessages: a page, and where the next one begins; None: this was the last."""
    values = named(workspace, session) | {"from_position": from_position, "at_position": at_position}
    whole = plain("ListMessages", values)

    def read(answer: Any, _: str) -> tuple[list[answers.StoredMessage], int | None]:
        next_position = answer.next_position if answer.HasField("next_position") else None
        return [decode(one) for one in answer.messages], next_position

    return Call(whole.method, whole.request, read)


def export(workspace: str, session: str) -> Call[bytes]:
    """ExportSession: of each answer, its lines."""
    request = encode(pb.ExportSessionRequest(), named(workspace, session))
    return Call(method("ExportSession"), request, lambda answer, _: answer.lines)


def delete(workspace: str, session: str) -> Call[int]:
    """DeleteSession: how many messages it had."""
    whole = plain("DeleteSession", named(workspace, session))
    return Call(whole.method, whole.request, lambda answer, _: answer.messages)


def fork(workspace: str, session: str, new_session: str, at_position: int | None) -> Call[answers.Session]:
    """ForkSession."""
    values = named(workspace, session) | {"new_session_id": new_session, "at_position": at_position}
    return part("ForkSession", "session", values)


def truncate(
    workspace: str, session: str, from_position: int, expected_position: int | None
) -> Call[answers.Session]:
    """TruncateSession."""
    values = named(workspace, session) | {"from_position": from_position, "expected_position": expected_position}
    return part("TruncateSession", "session", values)


def recall(
    workspace: str,
    query: str,
    session: str,
    before_position: int | None,
    start_time: datetime | None,
    end_time: datetime | None,
    limit: int,
    min_similarity: float | None,
    in_context: Mapping[str, Any] | None,
) -> Call[answers.RecallResponse]:
    """Recall."""
    values: dict[str, Any] = named(workspace, session) | {
        "query": query,
        "before_position": before_position,
        "start_time": start_time,
        "end_time": end_time,
        "limit": limit,
        "min_similarity": min_similarity,
        "in_context": in_context,
    }
    return plain("Recall", values)


def stats(workspace: str) -> Call[answers.GetRecallStatsResponse]:
    """GetRecallStats."""
    return plain("GetRecallStats", {"workspace_id": workspace})


def notes(workspace: str) -> Call[answers.ListNotesSummariesResponse]:
    """ListNotesSummaries."""
    return plain("ListNotesSummaries", {"workspace_id": workspace})


def named(workspace: str, session: str) -> dict[str, Any]:
    """What names a session."""
    return {"workspace_id": workspace, "session_id": session}
