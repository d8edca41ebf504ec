"""The official TypeScript SDK and the inspector of MCP, over HTTP and stdio, at both revisions."""

import json
import subprocess
from pathlib import Path

import pytest
from server import EXAMPLE, NODE_MODULES, PROMPTD, WAIT_SECONDS, Folder, Server

INSPECTOR = NODE_MODULES / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
SKILLS = ["berth-allocation", "harbour-dues", "radio-log", "storm-watch", "tide-window"]


@pytest.fixture(params=["http", "stdio"])
def target(request):
    """A folder with the example, and its server's URL or command."""
    with (Server if request.param == "http" else Folder)({"example": EXAMPLE}) as folder:
        command = [PROMPTD, "mcp", "--workspaces", str(folder.path / "workspaces")]
        yield folder, folder.url("example") if request.param == "http" else command


def node(*arguments):
    said = subprocess.run(["node", *map(str, arguments)], capture_output=True, text=True, timeout=3 * WAIT_SECONDS)
    assert said.returncode == 0, said.stdout + said.stderr
    return said.stdout


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_typescript(target, mode):
    folder, where = target
    setting = {"mode": mode, "workspace": str(folder.workspace("example"))}
    setting |= {"url": where} if isinstance(where, str) else {"command": where[0], "args": where[1:]}
    node(Path(__file__).with_name("typescript.mjs"), json.dumps(setting))


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_inspector(target, era):
    _, where = target

    def inspect(method, *arguments):
        server = ["--transport", "http", where] if isinstance(where, str) else where
        options = ["--protocol-era", era, "--format", "json", "--quiet", "--method", method]
        lines = node(INSPECTOR, "--cli", *server, *options, *arguments).splitlines()
        return [json.loads(line) for line in lines]

    # Every file of every skill, read and hashed: it ends with an error if one is not what was listed.
    reports = inspect("skills/list", "--verify", "--require-digests")
    assert [report["name"] for report in reports] == SKILLS
    for report in reports:
        assert report["outcome"] == "verified" and not report["conformance"] and not report["frontmatter"], report
        assert {file["status"] for file in report["files"]} == {"verified"}, report

    (prompt,) = inspect("prompts/get", "--prompt-name", "five-layer", "--prompt-args", "turn.user.name=Ahmed")
    assert "Ahmed" in json.dumps(prompt["result"]["messages"])
    (folder,) = inspect("resources/directory/read", "--uri", "skill://example/tide-window/scripts")
    assert [entry["name"] for entry in folder["result"]["resources"]] == ["window.py"]
    (found,) = inspect("tools/call", "--tool-name", "findings")
    assert found["result"]["structuredContent"]["workspace"] == "example"
    (tools,) = inspect("tools/list", "--strict")
    assert [tool["name"] for tool in tools["result"]["tools"]] == ["findings", "read_skill"]
