"""The buckets are those of the service: docs/fleet.md has the rule, and crates/promptd-core/src/canary.rs the same values."""

import pytest
from promptd.canary import bucket


@pytest.mark.parametrize(
    ("salt", "key", "number"),
    [
        ("s", "user-1", 4_293),
        ("5b4235468db4a0c1", "dana", 8_414),
        ("s", "", 8_335),
        ("salt:with", "k:ey", 695),
        ("s", "Zoë 🦀", 3_084),
    ],
)
def test_a_bucket_is_the_hash_of_salt_and_key_as_a_number(salt, key, number):
    assert bucket(salt, key) == number
