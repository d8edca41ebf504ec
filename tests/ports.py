"""Ports to listen on a moment later, and again after a restart."""

import itertools
import random
import socket

# Below those that outgoing connections are given: a client that connects again and again would end up with the port of the server that
# it waits for. Each is given once, in an order of this process's own.
_PORTS = itertools.cycle(random.sample(range(20_000, 32_000), 12_000))


def free_port():
    """One that nobody listens on."""
    for port in _PORTS:
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
