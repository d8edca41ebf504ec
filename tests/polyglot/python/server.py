"""The real server, started on a free port for the length of a `with` block."""

import json
import os
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).parents[3]
CASES = json.loads((ROOT / "tests/polyglot/cases.json").read_text(encoding="utf-8"))
SERVICE_CONFIG = (ROOT / "examples/service_config.json").read_text(encoding="utf-8")
TLS = Path(os.environ["PROMPTD_TLS"])
START_SECONDS = 30

# Beside the example: one that never loads, by two faults, and one that locks a field.
OTHERS = {"broken": "profil: x\nagent: {name: [1]}\n", "locked": "locked: [persona]\n"}


class Server:
    """`promptd serve` over a copy of the example workspace and some others."""

    def __init__(self, **settings):
        self.settings = settings

    def __enter__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="promptd-"))
        self.workspace = self.folder / "workspaces/example"
        shutil.copytree(ROOT / "workspace-example", self.workspace)
        for name, manifest in OTHERS.items():
            (self.folder / "workspaces" / name).mkdir()
            (self.folder / "workspaces" / name / "workspace.yaml").write_text(manifest, encoding="utf-8")
        config = self.folder / "promptd.yaml"
        # JSON is YAML.
        config.write_text(json.dumps({"workspaces": {"root": "workspaces"}, "log": {"level": "warn"}} | self.settings), encoding="utf-8")
        command = [os.environ["PROMPTD_BIN"], "serve", "--config", str(config), "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        late = threading.Timer(START_SECONDS, self.process.kill)
        late.start()
        ready = self.process.stdout.readline()
        late.cancel()
        assert ready.startswith("promptd listening on "), f"no ready line but {ready!r}"
        self.address = ready.split()[-1]
        self.port = int(self.address.rpartition(":")[2])
        return self

    def __exit__(self, *_):
        self.process.terminate()
        code = self.process.wait(START_SECONDS)
        self.process.stdout.close()
        shutil.rmtree(self.folder)
        assert code == 0, f"the server ended with {code}"
