"""The real server, with workspaces in etcd."""

import http.client
import json
import os
import subprocess
import time

from cluster import wait_for
from ports import free_port

PROMPTD = os.environ["PROMPTD_BIN"]
# More rounds, and times that are held to what docs/fleet.md says of them, on a machine that does nothing else.
LONG = os.environ.get("PROMPTD_ETCD") == "long"


class Service:
    """A server; `call` and `assemble` are as its clients make them."""

    def __init__(self, home, cluster=None, prefix="/promptd", settings=None, root=None, endpoints=None, config=None, listen="127.0.0.1"):
        self.home, self.port, self.admin, self.listen = home, free_port(), free_port(), listen
        home.mkdir(parents=True, exist_ok=True)
        members = endpoints or [node.address for node in cluster.nodes]
        etcd = {"endpoints": members, "prefix": prefix, **(settings or {})}
        workspaces = {"etcd": etcd, **({"root": str(root)} if root else {})}
        config = {"workspaces": workspaces, "inspector": {"listen": "off"}, **(config or {})}
        (home / "promptd.yaml").write_text(json.dumps(config))
        self.process = None
        self.start()

    def start(self):
        arguments = [
            PROMPTD, "serve", "--config", str(self.home / "promptd.yaml"), "--listen", f"{self.listen}:{self.port}",
            "--admin", f"127.0.0.1:{self.admin}",
        ]
        with open(self.home / "log", "ab") as log:
            self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.process.stdout.readline().startswith("promptd listening"), self.log()

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def restart(self):
        self.stop()
        self.start()

    def log(self):
        """Its whole lines. A thread of its own writes them, in their order, perhaps after the answer to what they tell of."""
        lines, end, _ = (self.home / "log").read_text().rpartition("\n")
        return lines + end

    def logged(self, *texts):
        """The first line of the log that has all the texts, once it is there."""
        def line():
            return next((line for line in self.log().splitlines() if all(text in line for text in texts)), None)

        return wait_for(line, f"logged {texts}")

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def audit(self):
        """The log's lines of what was published and refused; wait for the last of them by `logged`."""
        return [line for line in self.log().splitlines() if "promptd::audit" in line]

    def call(self, method, body, headers=None, host="127.0.0.1"):
        """The status and the answer."""
        connection = http.client.HTTPConnection(host, self.port, timeout=10)
        try:
            headers = {"content-type": "application/json", **(headers or {})}
            connection.request("POST", f"/promptd.v1.{method}", json.dumps(body), headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def assemble(self, workspace):
        turn = {"user": {"name": "Dana"}, "now": "2026-11-29T12:00:00Z"}
        status, answer = self.call("PromptService/AssemblePrompt", {"workspaceId": workspace, "turn": turn})
        assert status == 200, answer
        return answer

    def text(self, workspace):
        return "\n".join(message["content"] for message in self.assemble(workspace)["messages"])

    def codes(self, workspace):
        return [finding["code"] for finding in self.assemble(workspace).get("findings", [])]

    def shows(self, workspace, text, seconds=20.0):
        def holds():
            status, answer = self.call("PromptService/AssemblePrompt", {"workspaceId": workspace, "turn": {}})
            return status == 200 and any(text in message["content"] for message in answer["messages"])

        wait_for(holds, f"{workspace} shows {text}", seconds, 0.005)

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.admin, timeout=10)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def metric(self, name):
        line = next(line for line in self.get("/metrics")[1].splitlines() if line.startswith(f"promptd_{name} "))
        return float(line.split()[1])


def promptd(*arguments, check=True, cwd=None):
    """A command; with `check` it must succeed."""
    ran = subprocess.run([PROMPTD, *map(str, arguments)], capture_output=True, text=True, cwd=cwd, timeout=60)
    assert not check or ran.returncode == 0, ran.stderr
    return ran


def elapsed(since):
    return time.monotonic() - since
