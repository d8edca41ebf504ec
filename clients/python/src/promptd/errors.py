"""The one error of this package, and how it is made from what gRPC reports."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from google.rpc import error_details_pb2, status_pb2

DOMAIN = "promptd"
STATUS_HEADER = "grpc-status-details-bin"
REQUEST_ID_HEADER = "x-request-id"


@dataclass(frozen=True)
class Violation:
    """A field of the request that cannot be used."""

    field: str
    """Its path, such as `turn.knowledge[3].content`."""
    description: str
    """What is wrong with it."""


class PromptdError(Exception):
    """A call that was refused or that no server answered."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        reason: str = "",
        violations: Iterable[Violation] = (),
        retry_after: float | None = None,
        request_id: str = "",
    ) -> None:
        super().__init__(message)
        self.code = code
        """gRPC's name of the status: `NOT_FOUND`, `UNAVAILABLE` …"""
        self.message = message
        """What happened, where, and what to do about it."""
        self.reason = reason
        """promptd's reason, such as `WORKSPACE_NOT_FOUND`; docs/calling.md lists all. Empty: no server said anything."""
        self.violations = list(violations)
        """Each field that cannot be used, or each loss or fault that a precondition names."""
        self.retry_after = retry_after
        """In how many seconds the server wants the call again. None: it does not say."""
        self.request_id = request_id
        """The call's name in the server's log. Empty: it never got there."""

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    @property
    def unreachable(self) -> bool:
        """Whether no server answered: a connection that fails or breaks, a deadline that passes in silence."""
        return self.code in ("UNAVAILABLE", "DEADLINE_EXCEEDED") and not self.reason


def refused(violations: list[Violation]) -> PromptdError:
    """The error of a request that is not sent, as the server would refuse it."""
    message = "; ".join(f"{one.field} {one.description}" for one in violations)
    return PromptdError("INVALID_ARGUMENT", message, reason="INVALID_REQUEST", violations=violations)


def from_rpc(error: Any, address: str, timeout: float | None) -> PromptdError:
    """The error of a call to `address` that had `timeout` seconds, from the RpcError of gRPC or of its asyncio part."""
    headers = {key: value for key, value in [*pairs(error.initial_metadata()), *pairs(error.trailing_metadata())]}
    code = error.code().name
    message = error.details() or ""
    reason, violations, retry_after = "", list[Violation](), None
    for detail in status_pb2.Status.FromString(bytes(headers.get(STATUS_HEADER, b""))).details:
        name = detail.type_url.rpartition(".")[2]
        if name == "ErrorInfo":
            info = unpacked(detail, error_details_pb2.ErrorInfo())
            reason = info.reason if info.domain == DOMAIN else ""
        elif name == "BadRequest":
            bad = unpacked(detail, error_details_pb2.BadRequest())
            violations += [Violation(one.field, one.description) for one in bad.field_violations]
        elif name == "PreconditionFailure":
            failed = unpacked(detail, error_details_pb2.PreconditionFailure())
            violations += [Violation(one.subject, one.description) for one in failed.violations]
        elif name == "RetryInfo":
            delay = unpacked(detail, error_details_pb2.RetryInfo()).retry_delay
            retry_after = delay.seconds + delay.nanos / 1e9
    if not reason:
        message = own_words(code, message, address, timeout)
    request_id = str(headers.get(REQUEST_ID_HEADER, ""))
    return PromptdError(
        code, message, reason=reason, violations=violations, retry_after=retry_after, request_id=request_id
    )


def pairs(metadata: Any) -> list[tuple[str, Any]]:
    return [] if metadata is None else [(key, value) for key, value in metadata]


def unpacked(detail: Any, into: Any) -> Any:
    detail.Unpack(into)
    return into


def own_words(code: str, message: str, address: str, timeout: float | None) -> str:
    """What a failure means that gRPC found by itself."""
    if code == "UNAVAILABLE":
        cause = message.rpartition("last error: ")[2]
        return (
            f"no server answers at {address} ({cause}); check the address and `tls`, or start one: "
            f"`promptd serve --listen {address}`"
        )
    if code == "DEADLINE_EXCEEDED":
        return f"{address} did not answer within {timeout:g} s; give the call more time with `timeout`"
    size = re.search(r"larger than max \((\d+) vs\. (\d+)\)", message)
    if code == "RESOURCE_EXHAUSTED" and size:
        return (
            f"the answer of {address} has {size[1]} bytes, more than the {size[2]} that this client takes; "
            "raise `max_answer_bytes` of the client, or ask for less with `omit_sections` or `reference_conversation`"
        )
    return f"{address}: {message}"
