"""`promptd serve` over workspaces that a test writes, for the length of a `with` block."""

import json
import os
import shutil
import subprocess
import tempfile
import threading
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "workspace-example"
PROMPTD = os.environ["PROMPTD_BIN"]
NODE_MODULES = Path(__file__).parent / "node_modules"
WAIT_SECONDS = 20


def write(folder, files):
    """Writes files by path: text or bytes. A path as the value makes a link."""
    for path, content in files.items():
        path = folder / path
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Path):
            path.symlink_to(content)
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)


class Folder:
    """A folder of workspaces: each a folder to copy, or files by path. `files` are beside them."""

    def __init__(self, workspaces, files=None):
        self.workspaces = workspaces
        self.files = files or {}

    def __enter__(self):
        self.path = Path(tempfile.mkdtemp(prefix="promptd-mcp-"))
        for name, content in self.workspaces.items():
            folder = self.workspace(name)
            if isinstance(content, Path):
                shutil.copytree(content, folder)
            else:
                folder.mkdir(parents=True)
                write(folder, content)
        write(self.path, self.files)
        return self

    def workspace(self, name):
        return self.path / "workspaces" / name

    def __exit__(self, *_):
        shutil.rmtree(self.path)


class Server(Folder):
    """Settings are those of promptd.yaml; `tokens` is the list of tokens.yaml."""

    def __init__(self, workspaces, tokens=None, files=None, **settings):
        super().__init__(workspaces, files)
        self.tokens = tokens
        self.settings = settings

    def __enter__(self):
        super().__enter__()
        settings = {"workspaces": {"root": "workspaces"}, "admin": {"listen": "127.0.0.1:0"}, "inspector": {"listen": "off"}}
        if self.tokens is not None:
            self.write_tokens(self.tokens)
            settings["auth"] = {"tokens_file": "tokens.yaml"}
        # JSON is YAML.
        config = self.path / "promptd.yaml"
        config.write_text(json.dumps(settings | self.settings), encoding="utf-8")
        command = [PROMPTD, "serve", "--config", str(config), "--listen", "127.0.0.1:0"]
        with open(self.path / "log", "wb") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        late = threading.Timer(WAIT_SECONDS, self.process.kill)
        late.start()
        ready = self.process.stdout.readline()
        late.cancel()
        assert ready.startswith("promptd listening on "), f"no ready line but {ready!r}: {self.log()}"
        self.address = ready.split()[-1]
        return self

    def url(self, workspace=None):
        """The address of a workspace; without one, of the only one."""
        return f"http://{self.address}/mcp" + (f"/{workspace}" if workspace else "")

    def write_tokens(self, tokens):
        """Replaces the file as editors do."""
        new = self.path / "tokens.new"
        new.write_text(json.dumps({"tokens": tokens}), encoding="utf-8")
        new.rename(self.path / "tokens.yaml")

    def log(self):
        return (self.path / "log").read_text(encoding="utf-8")

    def healthy(self):
        """Whether the health check answers that it serves."""
        body = urllib.request.Request(
            f"http://{self.address}/grpc.health.v1.Health/Check", b"{}", {"content-type": "application/json"}
        )
        with urllib.request.urlopen(body, timeout=WAIT_SECONDS) as answer:
            return json.load(answer).get("status") in (1, "SERVING")

    def memory(self):
        """Resident memory in MiB, now and at its highest."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        sizes = dict(line.split(":", 1) for line in status.splitlines())
        return [int(sizes[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM")]

    def __exit__(self, *error):
        self.process.terminate()
        try:
            code = self.process.wait(WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.process.stdout.close()
        log = self.log()
        super().__exit__(*error)
        assert code == 0, f"the server ended with {code}: {log}"
        assert "panicked" not in log, log
