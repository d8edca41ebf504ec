"""The real server over a copy of the example workspace, its spans sent to a collector."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[2]
WAIT_SECONDS = 20


class Service:
    """Runs for the length of a `with` block."""

    def __init__(self, port, settings=None, **otlp):
        self.otlp = {"endpoint": f"http://127.0.0.1:{port}", "timeout": "1s"} | otlp
        self.settings = settings or {}

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="promptd-")
        config = Path(self.folder.name) / "promptd.yaml"
        self.workspace = Path(self.folder.name) / "example"
        shutil.copytree(ROOT / "workspace-example", self.workspace)
        # JSON is YAML.
        config.write_text(
            json.dumps(
                {
                    "workspaces": {"single": ["example"]},
                    "admin": {"listen": "127.0.0.1:0"},
                    "inspector": {"listen": "off"},
                    "otlp": self.otlp,
                }
                | self.settings
            )
        )
        command = [os.environ["PROMPTD_BIN"], "serve", "--config", str(config), "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.log = []
        self.logged = threading.Condition()
        threading.Thread(target=self._read_log, daemon=True).start()
        self.address = self.process.stdout.readline().split()[-1]
        self.admin = re.search(r"admin=(\S+)", self.wait_for_log("serving"))[1]
        return self

    def _read_log(self):
        for line in self.process.stderr:
            with self.logged:
                self.log.append(line)
                self.logged.notify_all()

    def wait_for_log(self, text):
        """The first line that has the text."""
        find = lambda: next((line for line in self.log if text in line), None)  # noqa: E731
        with self.logged:
            assert self.logged.wait_for(find, WAIT_SECONDS), f"no line has {text!r}: {self.log}"
            return find()

    def call(self, method="promptd.v1.PromptService/AssemblePrompt", headers=None, **request):
        """The status of a call, and its answer."""
        body = json.dumps({"workspaceId": "example"} | request).encode()
        headers = {"content-type": "application/json"} | (headers or {})
        call = urllib.request.Request(f"http://{self.address}/{method}", body, headers)
        try:
            with urllib.request.urlopen(call, timeout=WAIT_SECONDS) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def metric(self, name):
        with urllib.request.urlopen(f"http://{self.admin}/metrics", timeout=WAIT_SECONDS) as page:
            return float(re.search(rf"^{name} (\S+)$", page.read().decode(), re.MULTILINE)[1])

    def stop(self):
        """As a supervisor does; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(WAIT_SECONDS)

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()
