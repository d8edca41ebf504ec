"""The real server over a copy of the example workspace; it can be killed and started again at the same address."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from ports import free_port

ROOT = Path(__file__).parents[3]
START_SECONDS = 30
PATIENCE_SECONDS = 60


class Server:
    """Runs for the length of a `with` block."""

    def __init__(self, **settings):
        self.settings = settings
        self.address = f"127.0.0.1:{free_port()}"

    def __enter__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="promptd-"))
        self.workspace = self.folder / "workspaces/example"
        shutil.copytree(ROOT / "workspace-example", self.workspace)
        self.start()
        return self

    def start(self):
        """Returns once it listens."""
        config = self.folder / "promptd.yaml"
        settings = {"workspaces": {"root": "workspaces"}, "memory": {"store": "memory"}, "log": {"level": "error"}}
        # JSON is YAML.
        config.write_text(json.dumps(settings | self.settings))
        command = [os.environ["PROMPTD_BIN"], "serve", "--config", str(config), "--listen", self.address]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        late = threading.Timer(START_SECONDS, self.process.kill)
        late.start()
        ready = self.process.stdout.readline()
        late.cancel()
        assert ready.startswith("promptd listening on "), f"no ready line but {ready!r}"
        self.address = ready.split()[-1]

    def kill(self):
        """At once, as a machine dies."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(START_SECONDS)
        self.process.stdout.close()

    def __exit__(self, *_):
        self.kill()
        shutil.rmtree(self.folder)


def until(look):
    """What `look` gives, once it is something."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not (seen := look()):
        assert time.monotonic() < end
        time.sleep(0.1)
    return seen
