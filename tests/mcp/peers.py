"""The four ways to be a client: HTTP and stdio, each at both revisions."""

import contextlib

from server import Folder, Server
from wire import REVISIONS, Http, Pipe

PEERS = [(transport, revision) for transport in ("http", "stdio") for revision in REVISIONS]


@contextlib.contextmanager
def each_peer(workspaces, workspace, **settings):
    """A caller of each kind, over the same files; the folder that these are in comes first."""
    with Server(workspaces, **settings) as server, contextlib.ExitStack() as stack:
        callers = [Http(server.url(workspace), revision) for revision in REVISIONS]
        for revision in REVISIONS:
            callers.append(stack.enter_context(pipe(server, workspace, revision)))
        yield server, dict(zip(PEERS, callers, strict=True))


def pipe(folder: Folder, workspace, revision, *options):
    """`promptd mcp` over a folder of workspaces."""
    return Pipe("--workspaces", folder.path / "workspaces", "--id", workspace, *options, revision=revision)
