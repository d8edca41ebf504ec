"""The worst that a client can send, over HTTP: the server answers others beside it, and its memory stays bounded. And tokens."""

import contextlib
import http.client
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from server import EXAMPLE, WAIT_SECONDS, Server
from wire import ABOUT, INVALID_PARAMS, METHOD_NOT_FOUND, MODERN, REVISIONS, Http, file_uri

MAX_BODY = 256 << 10
MAX_SUBSCRIPTIONS = 256
# How long a plain call may take beside the worst, however slow the machine is: this process makes the large bodies too. How much memory
# may grow, in MiB.
PATIENCE_SECONDS = 10
GROWTH = 64
RULES = file_uri("example", "AGENTS.md")
REVISION_HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@contextlib.contextmanager
def others_are_served(server, growth=GROWTH):
    """Calls and health checks all the while, none slow; and memory at the end."""
    memory, done, slowest = server.memory()[1], threading.Event(), []

    def call():
        caller = Http(server.url("example"))
        while True:
            for what in (lambda: caller.result("tools/list"), lambda: caller.read(RULES), server.healthy):
                began = time.monotonic()
                assert what()
                slowest.append(time.monotonic() - began)
            if done.wait(0.02):
                return

    with ThreadPoolExecutor(1) as pool:
        calling = pool.submit(call)
        try:
            yield
        finally:
            done.set()
        calling.result()
    assert max(slowest) < PATIENCE_SECONDS
    assert server.memory()[1] - memory < growth


def padded(caller, size):
    """A request of so many bytes."""
    body = json.dumps(caller.message("tools/list", {})).encode()
    return body + b" " * (size - len(body))


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_large_body_is_refused(example, revision):
    caller = Http(example.url("example"), revision)
    headers = caller._headers("tools/list", {})
    assert caller.post(padded(caller, MAX_BODY), headers).result["tools"]
    with others_are_served(example):
        for size in (MAX_BODY + 1, 4 << 20, 64 << 20):
            with contextlib.suppress(ConnectionError):
                answer = caller.post(padded(caller, size), headers)
                assert answer.status == 413 and answer.failed, answer
    assert caller.result("tools/list")["tools"]


def test_a_large_body_without_a_length_is_refused(example):
    caller = Http(example.url("example"))
    headers = caller._headers("tools/list", {})
    pieces = (b" " * (64 << 10) for _ in range(64))
    connection = http.client.HTTPConnection(caller.host, timeout=WAIT_SECONDS)
    with others_are_served(example), contextlib.suppress(BrokenPipeError, ConnectionResetError):
        connection.request("POST", caller.path, pieces, headers, encode_chunked=True)
        assert connection.getresponse().status == 413
    connection.close()


DEPTH = MAX_BODY // 2 - 1000
DEEP = {
    "body": "[" * DEPTH + "]" * DEPTH,
    "params": '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":' + '{"a":' * (DEPTH // 6) + "1" + "}" * (DEPTH // 6) + "}",
    "unclosed": '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":' + "[" * DEPTH,
    "id": '{"jsonrpc":"2.0","method":"tools/list","id":' + "[" * DEPTH + "]" * DEPTH + "}",
}


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("name", DEEP)
def test_deep_json_is_refused(example, name, revision):
    caller = Http(example.url("example"), revision)
    with others_are_served(example):
        answer = caller.post(DEEP[name].encode(), caller._headers("tools/list", {}))
    assert answer.failed and 400 <= answer.status < 500, answer


@pytest.mark.parametrize("revision", REVISIONS)
def test_deep_values_of_a_request_are_refused(example, revision):
    caller = Http(example.url("example"), revision)
    deep = "[" * 60_000 + "]" * 60_000
    with others_are_served(example):
        for arguments in ({"turn.heartbeat": deep}, {"turn.now": deep}, {"tools": deep}, {"turn.user.name": deep}):
            answer = caller.call("prompts/get", {"name": "kai-local", "arguments": arguments})
            assert answer.failed or "turn.user.name" in arguments, answer
    nested = 1
    for _ in range(100):
        nested = {"a": nested}
    for params in ({"_meta": {"x.y/z": nested}}, {"name": "findings", "arguments": nested}):
        answer = caller.call("tools/call" if "name" in params else "tools/list", params)
        assert answer.status in (200, 400, 415), answer


def test_subscriptions_are_bounded(example):
    caller = Http(example.url("example"))
    floods = {
        "empty": [""] * 60_000,
        "unknown": [f"w://{number}" for number in range(18_000)],
        "again": [RULES] * 7_000,
        "last": [f"x:{number}" for number in range(18_000)] + [RULES],
    }
    with others_are_served(example):
        for name, uris in floods.items():
            began = time.monotonic()
            with caller.listen(resourceSubscriptions=uris) as events:
                assert time.monotonic() - began < PATIENCE_SECONDS, name
                if "error" in events.opened:
                    assert events.opened["error"]["code"] == INVALID_PARAMS, name
                else:
                    accepted = events.opened["params"]["notifications"].get("resourceSubscriptions", [])
                    assert len(accepted) <= MAX_SUBSCRIPTIONS and len(set(accepted)) == len(accepted), name


LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "skills/list": "skills",
    "resources/templates/list": "resourceTemplates",
}


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_forged_cursor_is_refused(example, revision):
    caller = Http(example.url("example"), revision)
    forged = ["x", "1", "-1", "1-zz", "1-ff", "2-00", "0", "{}", "null", "skills:", "../..", "\0", "é", " "]
    # One that could be of another list, and what is not text.
    others = ["1-", "1-" + "61" * 100_000, 7, [], {}, True]
    for method in LISTS:
        for cursor in forged:
            answer = caller.call(method, {"cursor": cursor})
            assert answer.failed and answer.error["code"] == INVALID_PARAMS, (method, cursor, answer.text)
        for cursor in others:
            assert caller.call(method, {"cursor": cursor}).status < 500, (method, cursor)


STREAMS = 24


def is_refused(events):
    """Whether the first message that says so is an error. The SDK acknowledges a subscription before the server can refuse it."""
    if events.status != 200:
        return True
    message = events.opened if "error" in events.opened else events.next()
    return "error" in message


def test_listeners_are_bounded():
    with Server({"example": EXAMPLE}, limits={"max_streams": STREAMS}) as server, contextlib.ExitStack() as stack:
        caller = Http(server.url("example"))

        def listen():
            return stack.enter_context(caller.listen(resourceSubscriptions=[RULES]))

        with others_are_served(server):
            open = [listen() for _ in range(STREAMS)]
            assert all("params" in events.opened for events in open)
            for _ in range(2 * STREAMS):
                assert is_refused(listen())
            rules = server.workspace("example") / "AGENTS.md"
            rules.write_text("# Changed\n", encoding="utf-8")
            for events in open:
                events.until("notifications/resources/updated", RULES)
        # Each that leaves makes room for one, as soon as the server notices.
        stack.close()
        deadline = time.monotonic() + WAIT_SECONDS
        with contextlib.ExitStack() as again:
            while True:
                events = again.enter_context(caller.listen(resourceSubscriptions=[RULES], resourcesListChanged=True))
                rules.write_text(f"# Changed at {time.monotonic()}\n", encoding="utf-8")
                if not is_refused(events):
                    break
                assert time.monotonic() < deadline, events.seen


def test_listeners_that_do_not_read_hold_up_nobody():
    with Server({"example": EXAMPLE}) as server, contextlib.ExitStack() as stack:
        caller = Http(server.url("example"))
        uris = [RULES, *(file_uri("example", f"{'x' * 150}{number}") for number in range(200))]
        message = caller.message(
            "subscriptions/listen", {"notifications": {"resourceSubscriptions": uris, "resourcesListChanged": True}}
        )
        for _ in range(50):
            connection = socket.create_connection(tuple(server.address.split(":")))
            stack.callback(connection.close)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            body = json.dumps(message).encode()
            headers = caller._headers("subscriptions/listen", {}) | {"Host": caller.host, "Content-Length": len(body)}
            head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            connection.sendall(f"POST {caller.path} HTTP/1.1\r\n{head}\r\n".encode() + body)
        with others_are_served(server), caller.listen(resourceSubscriptions=[RULES]) as events:
            for number in range(100):
                (server.workspace("example") / "AGENTS.md").write_text(f"# Rules {number}\n", encoding="utf-8")
                events.until("notifications/resources/updated", RULES)


def test_clients_that_send_slowly_hold_up_nobody(example):
    with contextlib.ExitStack() as stack:
        caller = Http(example.url("example"))
        headers = caller._headers("tools/list", {}) | {"Host": caller.host, "Content-Length": MAX_BODY}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        for _ in range(200):
            connection = stack.enter_context(socket.create_connection(tuple(example.address.split(":"))))
            connection.sendall(f"POST {caller.path} HTTP/1.1\r\n{head}\r\n".encode() + b"{" + b" " * 100_000)
        with others_are_served(example):
            for _ in range(20):
                assert caller.result("tools/list")["tools"]


def test_many_clients_at_once(example):
    """None is turned away, and nothing adds up."""

    def work(_):
        caller = Http(example.url("example"))
        for _ in range(10):
            assert len(caller.pages("skills/list", "skills")) == 5
            assert caller.result("prompts/get", {"name": "five-layer"})["messages"]
        caller.close()

    with others_are_served(example), ThreadPoolExecutor(32) as pool:
        list(pool.map(work, range(64)))


@pytest.mark.parametrize("revision", REVISIONS)
def test_only_posts_are_served(example, revision):
    connection = http.client.HTTPConnection(example.address, timeout=WAIT_SECONDS)
    for method in ("GET", "DELETE", "PUT", "PATCH"):
        connection.request(method, "/mcp/example", headers={"Accept": "text/event-stream", "MCP-Protocol-Version": revision})
        response = connection.getresponse()
        response.read()
        assert response.status == 405, method
    caller = Http(example.url("example"), revision)
    assert caller.capabilities()["resources"].get("subscribe", False) == (revision == MODERN)
    for method in ("resources/subscribe", "resources/unsubscribe", "unknown/method", "tools"):
        assert caller.call(method).error["code"] == METHOD_NOT_FOUND, method


def test_a_page_of_another_origin_is_refused(example):
    for headers in ({"Origin": "http://evil.example.com"}, {"Host": "evil.example.com"}, {"Origin": "null"}):
        answer = Http(example.url("example"), MODERN, None, **headers).call("tools/list")
        assert answer.status == 403 and answer.failed, headers


def test_where_there_are_several_workspaces_the_address_names_one(example):
    for revision in REVISIONS:
        caller = Http(example.url(), revision)
        assert caller.capabilities()
        for method, params in [("resources/list", {}), ("skills/list", {}), ("prompts/get", {"name": "five-layer"})]:
            said = caller.call(method, params).error["message"]
            assert "/mcp/" in said and "example" in said and "other" in said
        alone = Http(example.url("nobody"), revision)
        assert alone.call("resources/list").failed
        assert Http(example.url("other"), revision).read(file_uri("other", "AGENTS.md"))["text"] == "# Another harbour\n"
        # One address is about one workspace.
        assert Http(example.url("other"), revision).call("resources/read", {"uri": RULES}).failed


def test_one_workspace_needs_no_name():
    with Server({"example": EXAMPLE}) as server:
        for revision in REVISIONS:
            assert Http(server.url(), revision).read(RULES)["text"] == Http(server.url("example"), revision).read(RULES)["text"]


TOKEN, OTHER = "a-token-of-this-test-1", "a-token-of-this-test-2"


@pytest.fixture
def guarded():
    with Server({"example": EXAMPLE, "other": {"AGENTS.md": "# Other\n"}}, tokens=[{"name": "one", "token": TOKEN}]) as server:
        yield server


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_call_needs_a_token(guarded, revision):
    wrong = [None, "", "unknown-token-0123456789", TOKEN + "x", TOKEN[:-1], TOKEN.upper(), "x" * 60_000]
    for token in wrong:
        for method in (
            "server/discover",
            "initialize",
            "tools/list",
            "resources/list",
            "prompts/get",
            "subscriptions/listen",
            "nothing",
        ):
            caller = Http(guarded.url("example"), revision, token)
            answer = caller.call(method)
            if token and len(token) > 10_000:
                assert 400 <= answer.status < 500
                continue
            assert answer.status == 401 and answer.failed, (token, method, answer)
            assert caller.answer_headers["WWW-Authenticate"].startswith("Bearer"), method
    for scheme in ("Basic", "bearer-ish", ""):
        assert Http(guarded.url("example"), revision, None, Authorization=f"{scheme} {TOKEN}").call("tools/list").status == 401
    assert Http(guarded.url("example"), revision, TOKEN).result("tools/list")["tools"]


def test_a_revoked_token_ends_its_listeners(guarded):
    guarded.write_tokens([{"name": "one", "token": TOKEN}, {"name": "two", "token": OTHER}])
    keeps, loses = Http(guarded.url("example"), MODERN, TOKEN), Http(guarded.url("example"), MODERN, OTHER)
    served(loses)
    with keeps.listen(resourceSubscriptions=[RULES]) as kept, loses.listen(resourceSubscriptions=[RULES]) as lost:
        guarded.write_tokens([{"name": "one", "token": TOKEN}])
        lost.end()
        assert loses.call("tools/list").status == 401
        (guarded.workspace("example") / "AGENTS.md").write_text("# Changed\n", encoding="utf-8")
        kept.until("notifications/resources/updated", RULES)
    assert not any(message.get("method") == "notifications/resources/updated" for message in lost.seen)


def test_a_narrowed_token_ends_its_listeners(guarded):
    caller = Http(guarded.url("example"), MODERN, TOKEN)
    with caller.listen(resourceSubscriptions=[RULES]) as events:
        guarded.write_tokens([{"name": "one", "token": TOKEN, "workspaces": ["other"]}])
        events.end()
    assert caller.call("resources/read", {"uri": RULES}).failed
    assert Http(guarded.url(), MODERN, TOKEN).read(file_uri("other", "AGENTS.md"))["text"] == "# Other\n"


def test_the_quota_of_a_token_counts_listeners(guarded):
    guarded.write_tokens([{"name": "two", "token": OTHER, "in_flight": 2}])
    caller = Http(guarded.url("example"), MODERN, OTHER)
    served(caller)
    with caller.listen(resourceSubscriptions=[RULES]) as one, caller.listen(resourceSubscriptions=[RULES]) as two:
        assert "error" not in one.opened and "error" not in two.opened
        with caller.listen(resourceSubscriptions=[RULES]) as third:
            assert is_refused(third)


def served(caller):
    """Waits until the server has read the new tokens."""
    deadline = time.monotonic() + WAIT_SECONDS
    while caller.call("tools/list").status == 401:
        assert time.monotonic() < deadline, "the token is not accepted"


def test_a_message_is_read_strictly(example):
    """None of these is a request; each is refused, and the server goes on."""
    about = {ABOUT + "protocolVersion": MODERN, ABOUT + "clientCapabilities": {}}
    bodies = [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"7",
        b'"x"',
        b"\xff\xfe",
        b"{",
        b'{"jsonrpc":"2.0"}',
        b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
    ]
    bodies += [
        json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": {"_meta": about}}).encode()
        for id in (None, [], {}, 1.5, True)
    ]
    bodies += [json.dumps([{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": about}}] * 1000).encode()]
    for revision in REVISIONS:
        caller = Http(example.url("example"), revision)
        for body in bodies:
            answer = caller.post(body, REVISION_HEADERS | {"MCP-Protocol-Version": revision, "Mcp-Method": "tools/list"})
            assert 400 <= answer.status < 500 and answer.failed, (body[:80], answer)
        for headers in (
            {"Content-Type": "text/plain"},
            {"Content-Type": ""},
            {"Accept": "text/html"},
            {"MCP-Protocol-Version": "1999-01-01"},
        ):
            answer = Http(example.url("example"), revision, None, **headers).call("tools/list")
            assert 400 <= answer.status < 500 and answer.failed, (headers, answer)
        assert caller.result("tools/list")["tools"]
