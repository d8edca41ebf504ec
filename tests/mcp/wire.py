"""MCP as bytes: a caller that adds nothing, checks nothing that a test should, and can send what no client would.

A caller has a `revision`, and `call(method, params)`, which gives an `Answer`. Over HTTP each call is a POST; on standard input
and output a process is one connection.
"""

import base64
import contextlib
import http.client
import json
import queue
import subprocess
import threading
import time
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from server import PROMPTD, WAIT_SECONDS

MODERN, LEGACY = "2026-07-28", "2025-11-25"
REVISIONS = [MODERN, LEGACY]
INVALID_PARAMS, METHOD_NOT_FOUND = -32602, -32601
ABOUT = "io.modelcontextprotocol/"
SUBSCRIPTION = ABOUT + "subscriptionId"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
# The parameter that the header Mcp-Name repeats.
NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def escaped(*segments):
    return "/".join(quote(segment, safe="-._~") for segment in segments)


def skill_uri(workspace, name, path="SKILL.md"):
    """The address of a skill's file or folder; an empty path is its own folder."""
    return "skill://" + escaped(workspace, name, *filter(None, path.split("/")))


def file_uri(workspace, path):
    return "workspace://" + escaped(workspace, *path.split("/"))


class Answer(NamedTuple):
    """The status of HTTP, or none; the message, or none where it is not JSON; all of its text."""

    status: int | None
    message: dict | None
    text: str

    @property
    def result(self):
        assert self.message and "result" in self.message, f"no result: {self.status} {self.text[:2000]}"
        return self.message["result"]

    @property
    def error(self):
        assert self.message and "error" in self.message, f"no error: {self.status} {self.text[:2000]}"
        return self.message["error"]

    @property
    def failed(self):
        return not self.message or "result" not in self.message


class Caller:
    """What both transports have."""

    def __init__(self, revision):
        self.revision = revision
        self.last = 0

    def message(self, method, params):
        """A request as a message, with what the revision wants in it."""
        self.last += 1
        params = dict(params or {})
        if self.revision == MODERN:
            about = {"protocolVersion": MODERN, "clientCapabilities": {}, "clientInfo": {"name": "wire", "version": "1"}}
            params["_meta"] = {ABOUT + key: value for key, value in about.items()} | params.get("_meta", {})
        return {"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}

    def result(self, method, params=None):
        return self.call(method, params).result

    def pages(self, method, key, params=None):
        """The items of all pages."""
        items, cursor, seen = [], {}, set()
        while True:
            page = self.result(method, (params or {}) | cursor)
            items += page[key]
            if "nextCursor" not in page:
                return items
            assert page["nextCursor"] not in seen, f"{method}: a cursor came twice"
            seen.add(page["nextCursor"])
            cursor = {"cursor": page["nextCursor"]}

    def read(self, uri):
        """The one content of a resource."""
        (content,) = self.result("resources/read", {"uri": uri})["contents"]
        return content

    def initialize(self):
        """The handshake of 2025-11-25; its result."""
        return self.result(
            "initialize", {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "wire", "version": "1"}}
        )

    def capabilities(self):
        result = self.result("server/discover") if self.revision == MODERN else self.initialize()
        return result["capabilities"]


class Events:
    """Messages that arrive on their own, in order."""

    def __init__(self, lines):
        self.queue = queue.Queue()
        self.seen = []
        threading.Thread(target=self._collect, args=(lines,), daemon=True).start()

    def _collect(self, lines):
        with contextlib.suppress(OSError, ValueError, AttributeError, http.client.HTTPException):
            for line in lines:
                self.queue.put(line)
        self.queue.put(None)

    def next(self, seconds=WAIT_SECONDS):
        """The next message; none at the end of the stream."""
        try:
            line = self.queue.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError(f"nothing within {seconds} s after {self.seen}") from None
        if line is None:
            return None
        message = json.loads(line)
        self.seen.append(message)
        return message

    def until(self, method, uri=None, seconds=WAIT_SECONDS):
        """All messages up to the first of a method, about a resource if one is named; that one is the last."""
        deadline = time.monotonic() + seconds
        messages = []
        while True:
            message = self.next(max(0, deadline - time.monotonic()))
            assert message is not None, f"the stream ended after {self.seen}"
            messages.append(message)
            if message.get("method") == method and uri in (None, message.get("params", {}).get("uri")):
                return messages

    def end(self, seconds=WAIT_SECONDS):
        """All messages up to the end of the stream."""
        messages = []
        while (message := self.next(seconds)) is not None:
            messages.append(message)
        return messages


class Http(Caller):
    """`headers` are added to those of the protocol."""

    def __init__(self, url, revision=MODERN, token=None, **headers):
        super().__init__(revision)
        parts = urlsplit(url)
        self.host, self.path = parts.netloc, parts.path
        self.headers = headers | ({"Authorization": f"Bearer {token}"} if token else {})
        self.connection = None

    def _headers(self, method, params):
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if method != "initialize":
            headers["MCP-Protocol-Version"] = self.revision
        if self.revision == MODERN:
            headers["Mcp-Method"] = method
            name = (params or {}).get(NAMES.get(method))
            if isinstance(name, str):
                plain = name.isascii() and name.isprintable() and name == name.strip()
                headers["Mcp-Name"] = name if plain else f"=?base64?{base64.b64encode(name.encode()).decode()}?="
        return headers | self.headers

    def post(self, body, headers):
        """An answer to any bytes. One connection serves them all, and is opened again when the server closed it."""
        for fresh in (False, True):
            if self.connection is None:
                self.connection, fresh = http.client.HTTPConnection(self.host, timeout=WAIT_SECONDS), True
            try:
                self.connection.request("POST", self.path, body, headers)
                response = self.connection.getresponse()
                text = response.read().decode()
            except (ConnectionError, http.client.HTTPException):
                self.close()
                if fresh:
                    raise
                continue
            self.answer_headers = response.headers
            if response.getheader("Content-Type", "").startswith("text/event-stream"):
                text = "".join(line[5:].strip() for line in text.splitlines() if line.startswith("data:"))
            with contextlib.suppress(ValueError):
                return Answer(response.status, json.loads(text), text)
            return Answer(response.status, None, text)
        raise AssertionError

    def call(self, method, params=None):
        return self.post(json.dumps(self.message(method, params)).encode(), self._headers(method, params))

    @contextlib.contextmanager
    def listen(self, **notifications):
        """The events of `subscriptions/listen`; `opened` is the message that came first: its acknowledgment, or an error."""
        params = {"notifications": notifications}
        connection = http.client.HTTPConnection(self.host, timeout=10 * WAIT_SECONDS)
        body = json.dumps(self.message("subscriptions/listen", params))
        connection.request("POST", self.path, body, self._headers("subscriptions/listen", params))
        socket = connection.sock
        response = connection.getresponse()
        try:
            if response.getheader("Content-Type", "").startswith("text/event-stream"):
                events = Events(line[5:] for line in response if line.startswith(b"data:") and line[5:].strip())
            else:
                events = Events([response.read()])
            events.status = response.status
            events.opened = events.next()
            yield events
        finally:
            with contextlib.suppress(OSError):
                socket.shutdown(2)
            connection.close()

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None


class Pipe(Caller):
    """`promptd mcp` with these arguments, for the length of a `with` block. Every line that it prints must be a message."""

    def __init__(self, *arguments, revision=MODERN, **options):
        super().__init__(revision)
        self.command = [PROMPTD, "mcp", *map(str, arguments)]
        self.options = options

    def __enter__(self):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(self.command, stdin=pipe, stdout=pipe, stderr=pipe, **self.options)
        self.printed = []
        self.complaints = []
        self.notes = queue.Queue()
        self.answers = {}
        self.arrived = threading.Condition()
        self.readers = [threading.Thread(target=read, daemon=True) for read in (self._read, self._complain)]
        for reader in self.readers:
            reader.start()
        self.events = Events(iter(self.notes.get, None))
        if self.revision == LEGACY:
            self.about = self.initialize()
            self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def _read(self):
        for line in self.process.stdout:
            self.printed.append(line)
            with contextlib.suppress(ValueError):
                message = json.loads(line)
                if message.get("method") == ACKNOWLEDGED:
                    self._arrive(message["params"]["_meta"][SUBSCRIPTION], message, line)
                elif "method" in message:
                    self.notes.put(line)
                else:
                    self._arrive(message.get("id"), message, line)
        self.notes.put(None)
        self._arrive(None, None, b"the end")

    def _arrive(self, id, message, line):
        with self.arrived:
            self.answers[id] = Answer(None, message, line.decode())
            self.arrived.notify_all()

    def _complain(self):
        for line in self.process.stderr:
            self.complaints.append(line)

    def write(self, message):
        """A message, or any bytes."""
        line = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def answer(self, id, seconds=WAIT_SECONDS):
        with self.arrived:
            came = self.arrived.wait_for(lambda: id in self.answers or not self.readers[0].is_alive(), seconds)
            assert came and id in self.answers, f"no answer to {id} within {seconds} s: {self.stderr()}"
            return self.answers.pop(id)

    def call(self, method, params=None):
        message = self.message(method, params)
        self.write(message)
        return self.answer(message["id"])

    @contextlib.contextmanager
    def listen(self, resourceSubscriptions=(), **notifications):
        """As over HTTP. 2025-11-25 subscribes to one resource at a time, and acknowledges nothing."""
        if self.revision == LEGACY:
            for uri in resourceSubscriptions:
                self.call("resources/subscribe", {"uri": uri})
            yield self.events
            return
        filter = notifications | {"resourceSubscriptions": list(resourceSubscriptions)}
        message = self.message("subscriptions/listen", {"notifications": filter})
        self.write(message)
        self.events.opened = self.answer(message["id"]).message
        yield self.events
        with contextlib.suppress(OSError, ValueError):
            self.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": message["id"]}})

    def stderr(self):
        return b"".join(self.complaints).decode(errors="replace")

    def finish(self):
        """Ends its input, as a client does; its exit code."""
        self.process.stdin.close()
        code = self.process.wait(WAIT_SECONDS)
        for reader in self.readers:
            reader.join(WAIT_SECONDS)
        return code

    def __exit__(self, *error):
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            if error[0] is None:
                raise
        finally:
            self.process.wait()
            for reader in self.readers:
                reader.join(WAIT_SECONDS)
            self.process.stdout.close()
            self.process.stderr.close()
        if error[0] is None:
            for line in self.printed:
                message = json.loads(line)
                assert message["jsonrpc"] == "2.0" and ("method" in message or "id" in message or "error" in message), line
