"""The server that most tests share."""

import pytest
from server import EXAMPLE, Server

pytest.register_assert_rewrite("wire")


@pytest.fixture(scope="module")
def example():
    """The example workspace beside another one."""
    other = {"AGENTS.md": "# Another harbour\n"}
    with Server({"example": EXAMPLE, "other": other}) as server:
        yield server
