"""One etcd of one node for each test, and servers that are stopped at its end."""

import pytest

from cluster import Cluster
from service import Service


@pytest.fixture
def etcd(tmp_path):
    cluster = Cluster(tmp_path)
    yield cluster
    cluster.stop()


@pytest.fixture
def serve(tmp_path):
    services = []

    def start(*arguments, **settings):
        services.append(Service(tmp_path / f"service{len(services)}", *arguments, **settings))
        return services[-1]

    yield start
    for service in services:
        service.stop()
