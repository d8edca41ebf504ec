"""yaml-language-server, spoken to over its standard input and output as an editor does."""

import json
import subprocess
import threading

from server import ROOT

COMMAND = ["node", str(ROOT / "tests/polyglot/node/node_modules/yaml-language-server/bin/yaml-language-server"), "--stdio"]
SETTINGS = {"yaml": {"validate": True, "hover": True, "schemaStore": {"enable": False}}}
ERROR = 1
ANSWER_SECONDS = 120


class LanguageServer:
    """A server for the length of a `with` block."""

    def __enter__(self):
        self.process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.late = threading.Timer(ANSWER_SECONDS, self.process.kill)
        self.late.start()
        self.count = 0
        self.diagnostics = {}
        folders = [{"uri": "file:///", "name": "all"}]
        capabilities = {"workspace": {"configuration": True}, "textDocument": {"hover": {"contentFormat": ["markdown"]}}}
        self.ask("initialize", {"processId": None, "rootUri": None, "workspaceFolders": folders, "capabilities": capabilities})
        self.send("initialized", {})
        self.send("workspace/didChangeConfiguration", {"settings": SETTINGS})
        return self

    def __exit__(self, *_):
        self.late.cancel()
        self.process.kill()
        self.process.wait()

    def errors(self, paths):
        """The errors that an editor underlines, by file. All are open at once, since each is checked after a pause."""
        for path in paths:
            self.open(path)
        while any(path.as_uri() not in self.diagnostics for path in paths):
            self.receive()
        is_error = lambda found: found.get("severity", ERROR) == ERROR
        return {path: [one["message"] for one in self.diagnostics[path.as_uri()] if is_error(one)] for path in paths}

    def hover(self, path, word):
        """What an editor shows for the first place of the word."""
        lines = path.read_text(encoding="utf-8").splitlines()
        line = next(number for number, text in enumerate(lines) if word in text)
        self.open(path)
        place = {"line": line, "character": lines[line].index(word) + 1}
        answer = self.ask("textDocument/hover", {"textDocument": {"uri": path.as_uri()}, "position": place})
        return json.dumps(answer)

    def open(self, path):
        document = {"uri": path.as_uri(), "languageId": "yaml", "version": 1, "text": path.read_text(encoding="utf-8")}
        self.send("textDocument/didOpen", {"textDocument": document})

    def ask(self, method, parameters):
        self.count += 1
        self.write({"id": self.count, "method": method, "params": parameters})
        while (message := self.receive()).get("id") != self.count or "method" in message:
            pass
        assert "error" not in message, message
        return message["result"]

    def send(self, method, parameters):
        self.write({"method": method, "params": parameters})

    def write(self, message):
        body = json.dumps({"jsonrpc": "2.0"} | message).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def receive(self):
        length = None
        while (line := self.process.stdout.readline()).strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        assert length is not None, "the language server has ended"
        message = json.loads(self.process.stdout.read(length))
        if message.get("method") == "textDocument/publishDiagnostics":
            self.diagnostics[message["params"]["uri"]] = message["params"]["diagnostics"]
        elif "method" in message and "id" in message:
            is_configuration = message["method"] == "workspace/configuration"
            items = message["params"]["items"] if is_configuration else []
            answer = [SETTINGS.get(item.get("section")) for item in items] if is_configuration else None
            self.write({"id": message["id"], "result": answer})
        return message
