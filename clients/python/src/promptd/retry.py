"""Which failures are tried again, and when: `examples/service_config.json` of the project, as code.

The loop is this package's own, not gRPC's, because gRPC's knows no RetryInfo.
"""

from __future__ import annotations

import random

from .errors import PromptdError

SERVICES = ("PromptService", "WorkspaceService", "ProfileService", "SessionService", "AdminService")
MAX_ATTEMPTS = 4
INITIAL_BACKOFF_SECONDS = 0.1
MAX_BACKOFF_SECONDS = 2.0
BACKOFF_MULTIPLIER = 2
RETRYABLE_CODES = ("UNAVAILABLE",)
LOAD_BALANCING: list[dict[str, dict[str, str]]] = [{"round_robin": {}}]
# So that clients which failed together do not come back together.
JITTER = 0.2
# More attempts than this do not make a pause longer, nor a number overflow.
MOST_GROWTH = 16


def delay(attempt: int, error: PromptdError, remaining: float) -> float | None:
    """In how many seconds to try again after attempt number `attempt`, from 1; None: give up.

    `remaining` is what is left of the deadline, in seconds.
    """
    if error.code not in RETRYABLE_CODES or attempt >= MAX_ATTEMPTS:
        return None
    seconds = backoff(attempt, error)
    return seconds if seconds < remaining else None


def backoff(attempt: int, error: PromptdError, most: float = MAX_BACKOFF_SECONDS) -> float:
    """The pause after attempt number `attempt`, from 1: at least what the server asked for."""
    grown = min(INITIAL_BACKOFF_SECONDS * float(BACKOFF_MULTIPLIER) ** (min(attempt, MOST_GROWTH) - 1), most)
    return max(grown * random.uniform(1 - JITTER, 1 + JITTER), error.retry_after or 0.0)
