"""One server for all tests that do not harm it."""

import pytest

from promptd import Promptd
from running import Server


@pytest.fixture(scope="session")
def server():
    with Server() as running:
        yield running


@pytest.fixture
def client(server):
    with Promptd(server.address) as made:
        yield made
