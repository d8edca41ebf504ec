"""`promptd mcp`: nothing but messages on standard output, an end at the end of the input, and faults of files and of clients."""

import contextlib
import json
import signal
import subprocess

import pytest
from peers import pipe
from server import EXAMPLE, PROMPTD, WAIT_SECONDS, Folder
from wire import INVALID_PARAMS, LEGACY, METHOD_NOT_FOUND, MODERN, REVISIONS, SUBSCRIPTION, Pipe, file_uri

RULES = file_uri("example", "AGENTS.md")


@pytest.fixture
def folder():
    with Folder({"example": EXAMPLE}) as folder:
        yield folder


@pytest.mark.parametrize("revision", REVISIONS)
def test_it_ends_with_its_input(folder, revision):
    with pipe(folder, "example", revision) as caller:
        assert caller.result("tools/list")["tools"]
        with caller.listen(resourceSubscriptions=[RULES]):
            assert caller.finish() == 0
    assert not [line for line in caller.printed if not line.strip()]


def test_it_ends_with_an_input_that_has_nothing(folder):
    command = [PROMPTD, "mcp", "--workspace", str(folder.workspace("example"))]
    said = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=WAIT_SECONDS)
    assert (said.returncode, said.stdout) == (0, b""), said.stderr


def test_it_answers_what_came_before_the_end(folder):
    """As a shell does: all lines at once, and then the end."""
    with pipe(folder, "example", MODERN) as caller:
        messages = [caller.message("tools/list", {}), caller.message("resources/read", {"uri": RULES})]
        caller.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
        assert caller.finish() == 0
        assert [caller.answer(message["id"]).result["resultType"] for message in messages] == ["complete"] * 2


def test_it_ends_when_asked_or_left(folder):
    for end in (signal.SIGTERM, signal.SIGINT):
        with pipe(folder, "example", MODERN) as caller:
            assert caller.result("tools/list")
            caller.process.send_signal(end)
            assert caller.process.wait(WAIT_SECONDS) in (0, -end, 128 + end)
    command = [PROMPTD, "mcp", "--workspace", str(folder.workspace("example"))]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    process.stdout.close()
    message = json.dumps(Pipe().message("tools/list", {})).encode() + b"\n"
    with contextlib.suppress(BrokenPipeError), process.stdin:
        for _ in range(100):
            process.stdin.write(message)
            process.stdin.flush()
    process.wait(WAIT_SECONDS)


NOISE = [
    b"\n",
    b"  \n",
    b"not json\n",
    b"{\n",
    b"{}\n",
    b"[]\n",
    b"null\n",
    b"7\n",
    b'"text"\n',
    b"\xff\xfe\x00\n",
    b'{"jsonrpc":"2.0"}\n',
    b'{"jsonrpc":"1.0","id":71,"method":"tools/list"}\n',
    b'{"id":72,"method":"tools/list"}\n',
    b'{"jsonrpc":"2.0","id":null,"method":"tools/list"}\n',
    b'{"jsonrpc":"2.0","id":{},"method":"tools/list"}\n',
    b'{"jsonrpc":"2.0","id":77,"result":{}}\n',
    b'{"jsonrpc":"2.0","id":78,"error":{"code":1,"message":"x"}}\n',
    b'{"jsonrpc":"2.0","method":"notifications/nothing"}\n',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":999}}\n',
    b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n',
    b'{"jsonrpc":"2.0","id":79,"method":7}\n',
    b'{"jsonrpc":"2.0","id":80,"method":"tools/call","params":[]}\n',
    b"[" * 100_000 + b"\n",
    b'{"jsonrpc":"2.0","id":81,"method":"tools/list","params":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}\n",
    b"x" * (20 << 20) + b"\n",
]


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("noise", NOISE, ids=lambda line: repr(line[:48]))
def test_noise_is_survived(folder, noise, revision):
    """Also where it comes first: what the client says then is what it opens with."""
    with Pipe("--workspace", folder.workspace("example")) as caller:
        caller.revision = revision
        caller.write(noise)
        if revision == LEGACY:
            caller.initialize()
            caller.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert caller.result("tools/list")["tools"]
        caller.write(noise)
        assert caller.result("tools/list")["tools"]


def test_a_hundred_thousand_subscriptions(folder):
    with pipe(folder, "example", MODERN) as caller:
        uris = [f"workspace://example/{number}" for number in range(100_000)] + [RULES]
        with caller.listen(resourceSubscriptions=uris) as events:
            accepted = events.opened.get("params", {}).get("notifications", {}).get("resourceSubscriptions", [])
            assert len(accepted) <= 256
            assert caller.result("tools/list")["tools"]
    with pipe(folder, "example", LEGACY) as caller:
        refused = 0
        for number in range(2_000):
            refused += caller.call("resources/subscribe", {"uri": f"workspace://example/{number}"}).failed
        assert refused >= 2_000 - 256
        assert caller.result("tools/list")["tools"]


BROKEN = "agent: {name: [1]}\n"


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_manifest_that_is_broken_at_the_start(revision):
    with (
        Folder({"example": {"workspace.yaml": BROKEN, "AGENTS.md": "# Rules\n"}}) as folder,
        pipe(folder, "example", revision) as caller,
    ):
        assert caller.result("tools/list")["tools"]
        for method, params in [
            ("resources/list", {}),
            ("skills/list", {}),
            ("resources/read", {"uri": RULES}),
            ("prompts/get", {"name": "five-layer"}),
        ]:
            error = caller.call(method, params).error
            assert "workspace.yaml" in json.dumps(error) and error["data"]["status"] == "FAILED_PRECONDITION", error
        found = caller.result("tools/call", {"name": "findings", "arguments": {}})
        assert found["isError"] and "workspace.yaml:1" in found["content"][0]["text"], found
        with caller.listen(resourceSubscriptions=[RULES], resourcesListChanged=True) as events:
            (folder.workspace("example") / "workspace.yaml").write_text("agent: {name: Harbor}\n", encoding="utf-8")
            events.until("notifications/resources/list_changed")
        assert caller.read(RULES)["text"] == "# Rules\n"


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_manifest_that_breaks(folder, revision):
    manifest = folder.workspace("example") / "workspace.yaml"
    good = manifest.read_text(encoding="utf-8")
    with (
        pipe(folder, "example", revision) as caller,
        caller.listen(resourceSubscriptions=[RULES], resourcesListChanged=True) as events,
    ):
        before = caller.result("tools/call", {"name": "findings", "arguments": {}})["structuredContent"]
        manifest.write_text(BROKEN, encoding="utf-8")
        events.until("notifications/resources/list_changed")
        broken = caller.result("tools/call", {"name": "findings", "arguments": {}})["structuredContent"]
        assert broken["errors"] > before["errors"] and any(one.get("path") == "workspace.yaml" for one in broken["findings"])
        # The last good version goes on: what it blocks stays blocked.
        assert len(caller.pages("skills/list", "skills")) == 5
        assert caller.read(RULES)["text"]
        manifest.write_text(good, encoding="utf-8")
        events.until("notifications/resources/list_changed")
        after = caller.result("tools/call", {"name": "findings", "arguments": {}})["structuredContent"]
        assert after["findings"] == before["findings"]


def ends_at_once(*arguments):
    """`promptd mcp` that cannot serve: it says why, and nothing to a client."""
    said = subprocess.run(
        [PROMPTD, "mcp", *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, timeout=WAIT_SECONDS
    )
    assert said.returncode in (1, 2) and not said.stdout and said.stderr, (arguments, said)
    return said


def test_several_workspaces_and_none():
    with Folder({"one": {"AGENTS.md": "# One\n"}, "two": {"AGENTS.md": "# Two\n"}}) as folder:
        both = folder.path / "workspaces"
        for arguments, part in ([["--workspaces", both], "--id"], [["--workspaces", both, "--id", "three"], "`three`"]):
            said = ends_at_once(*arguments).stderr.decode()
            assert part in said and "one, two" in said, said
        with pipe(folder, "two", MODERN) as caller:
            assert caller.read(file_uri("two", "AGENTS.md"))["text"] == "# Two\n"
            assert caller.call("resources/read", {"uri": file_uri("one", "AGENTS.md")}).error["code"] == INVALID_PARAMS
        with Pipe("--workspace", f"name={folder.workspace('one')}") as caller:
            assert caller.read(file_uri("name", "AGENTS.md"))["text"] == "# One\n"
        for arguments in (["--workspace", folder.path / "nothing"], ["--workspaces", folder.path / "nothing"], ["--nothing"]):
            ends_at_once(*arguments)


def test_subscriptions_of_both_kinds(folder):
    """2026-07-28 tags its notifications; 2025-11-25 may stop one of its subscriptions."""
    rules, soul = folder.workspace("example") / "AGENTS.md", folder.workspace("example") / "SOUL.md"
    with pipe(folder, "example", MODERN) as caller, caller.listen(resourceSubscriptions=[RULES]) as events:
        subscription = events.opened["params"]["_meta"][SUBSCRIPTION]
        soul.write_text("# Soul\n", encoding="utf-8")
        rules.write_text("# Rules\n", encoding="utf-8")
        told = events.until("notifications/resources/updated", RULES)
        assert all(message["params"]["_meta"][SUBSCRIPTION] == subscription for message in told)
        assert [message["method"] for message in told] == ["notifications/resources/updated"]
    with pipe(folder, "example", LEGACY) as caller:
        assert caller.about["capabilities"]["resources"] == {"subscribe": True, "listChanged": True}
        assert caller.call("subscriptions/listen", {"notifications": {}}).error["code"] == METHOD_NOT_FOUND
        both = [RULES, file_uri("example", "SOUL.md")]
        with caller.listen(resourceSubscriptions=both) as events:
            assert caller.result("resources/unsubscribe", {"uri": both[1]}) == {}
            soul.write_text("# Soul again\n", encoding="utf-8")
            events.until("notifications/resources/list_changed")
            rules.write_text("# Rules again\n", encoding="utf-8")
            told = events.until("notifications/resources/updated", RULES)
            assert both[1] not in {message.get("params", {}).get("uri") for message in told}
