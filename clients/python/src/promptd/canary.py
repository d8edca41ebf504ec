"""Which side of a canary a key is on, such as a user's id: for tests and statistics, without a server."""

import hashlib

BUCKETS = 10_000


def bucket(salt: str, key: str) -> int:
    """The bucket of a key, from 0 on. A canary with a share of 10 % has those below 1,000."""
    return int.from_bytes(hashlib.sha256(f"{salt}:{key}".encode()).digest(), "big") % BUCKETS
