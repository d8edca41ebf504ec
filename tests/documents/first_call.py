"""The time from an empty folder to a first answer, with a server and packages that are built already: curl, Python, Node.

Building the packages does not count: a user gets them as files; nor does loading what they need, which takes as long as the network
does. Everything else does: a new workspace, the server's start, an environment, the package with what it needs, the call.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_SECONDS = 60
PROMPTD = os.environ["PROMPTD_BIN"]
NPM_INSTALL = ["npm", "install", "--silent", "--no-audit", "--no-fund"]

PYTHON = """
from promptd import Promptd
print(Promptd({address!r}).assemble("my-agent", user={{"name": "Dana"}}).messages[0].content)
"""
NODE = """
import {{ Promptd }} from "promptd";
const prompt = await new Promptd({address!r}).assemble("my-agent", {{ user: {{ name: "Dana" }} }});
console.log(prompt.messages[0].content);
"""


def run(*command, folder, text=None):
    done = subprocess.run([str(part) for part in command], cwd=folder, input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def with_curl(folder, address, _):
    url = f"http://{address}/promptd.v1.PromptService/AssemblePrompt"
    body = '{"workspaceId": "my-agent", "turn": {"user": {"name": "Dana"}}}'
    return run("curl", "-sS", "--fail", "-H", "content-type: application/json", "-d", body, url, folder=folder)


def with_python(folder, address, packages):
    run(sys.executable, "-m", "venv", "venv", folder=folder)
    run("venv/bin/pip", "install", "--quiet", "--no-index", "--find-links", packages, "promptd", folder=folder)
    return run("venv/bin/python", "-", folder=folder, text=PYTHON.format(address=address))


def with_node(folder, address, packages):
    [package] = packages.glob("*.tgz")
    run(*NPM_INSTALL, "--offline", package, folder=folder)
    (folder / "first.mjs").write_text(NODE.format(address=address))
    return run("node", "first.mjs", folder=folder)


def first_call(call, packages):
    """Its seconds."""
    with tempfile.TemporaryDirectory(prefix="first-call-") as home:
        folder, began = Path(home), time.monotonic()
        run(PROMPTD, "init", "my-agent", folder=folder)
        command = [PROMPTD, "serve", "--workspace", "my-agent", "--listen", "127.0.0.1:0"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
        with subprocess.Popen(command, cwd=folder, **pipes) as server:
            try:
                answer = call(folder, server.stdout.readline().split()[-1], packages)
            finally:
                server.kill()
        assert "Dana" in answer, answer
        return time.monotonic() - began


def build(packages):
    """Puts the packages into a folder, what they need beside them or into npm's cache."""
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "-w", packages, "./clients/python", folder=ROOT)
    run("npm", "ci", "--silent", "--no-audit", "--no-fund", folder=ROOT / "clients/node")
    run("npm", "run", "--silent", "build", folder=ROOT / "clients/node")
    run("npm", "pack", "--silent", "--pack-destination", packages, folder=ROOT / "clients/node")
    [package] = packages.glob("*.tgz")
    with tempfile.TemporaryDirectory(prefix="cached-") as home:
        run(*NPM_INSTALL, package, folder=Path(home))


def main():
    with tempfile.TemporaryDirectory(prefix="packages-") as home:
        packages = Path(home)
        build(packages)
        print("from an empty folder to the first answer:")
        took = {name: first_call(call, packages) for name, call in [("curl", with_curl), ("Python", with_python), ("Node", with_node)]}
    for name, seconds in took.items():
        print(f"  {name:7} {seconds:5.1f} s")
    assert max(took.values()) < MOST_SECONDS, "that is over a minute"


main()
