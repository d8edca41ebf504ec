"""How a client reaches the service: address, token, TLS, limits."""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import grpc

from . import retry
from .errors import Violation, refused

DEFAULT_ADDRESS = "127.0.0.1:50051"
DEFAULT_TIMEOUT_SECONDS = 10.0
# The server's own default for requests.
DEFAULT_MAX_ANSWER_BYTES = 4 * 1024 * 1024
# A server that is started again is found within a second.
RECONNECT_MS = {"grpc.initial_reconnect_backoff_ms": 100, "grpc.max_reconnect_backoff_ms": 400}
# A watch is silent for hours: this notices that the other side is gone.
KEEPALIVE_MS = {"grpc.keepalive_time_ms": 30_000, "grpc.keepalive_timeout_ms": 10_000}


@dataclass(frozen=True)
class TLS:
    """The files of a TLS connection, in PEM."""

    ca: str | PathLike[str] | None = None
    """The authorities that the server's certificate may be from. None: those of gRPC."""
    certificate: str | PathLike[str] | None = None
    """The client's own certificate, where the server has `tls.client_ca`."""
    key: str | PathLike[str] | None = None
    """The key of the client's certificate."""

    def credentials(self) -> grpc.ChannelCredentials:
        """Reads the files."""
        ca, certificate, key = (Path(file).read_bytes() if file else None for file in (self.ca, self.certificate, self.key))
        return grpc.ssl_channel_credentials(ca, key, certificate)


def credentials(tls: TLS | bool) -> grpc.ChannelCredentials | None:
    """What `tls` of a client says. None: no TLS."""
    return TLS().credentials() if tls is True else tls.credentials() if tls else None


def options(address: str, max_answer_bytes: int) -> list[tuple[str, Any]]:
    """The channel's options. Raises PromptdError for an address that is a URL."""
    protocol, is_url, rest = address.partition("://")
    if is_url and protocol in ("http", "https"):
        hint = f'write "{rest.rstrip("/")}"' + (" and tls=True" if protocol == "https" else "")
        raise refused([Violation("address", f"is host:port, not a URL; {hint}")])
    chosen: dict[str, Any] = {
        "grpc.service_config": json.dumps({"loadBalancingConfig": retry.LOAD_BALANCING}),
        "grpc.enable_retries": 0,
        "grpc.max_receive_message_length": max_answer_bytes,
    }
    scheme, _, addresses = address.partition(":")
    if scheme in ("ipv4", "ipv6"):
        # gRPC would send the whole list as the host.
        chosen["grpc.default_authority"] = addresses.partition(",")[0]
    return list((chosen | RECONNECT_MS | KEEPALIVE_MS).items())


def metadata(token: str) -> tuple[tuple[str, str], ...]:
    """What every call says of the caller. Raises PromptdError, without the token, if that is not what a header can have."""
    if not (token.isascii() and token.isprintable()) or token != token.strip():
        raise refused([Violation("token", "has white space around it or characters that are not ASCII")])
    return (("authorization", f"Bearer {token}"),) if token else ()
