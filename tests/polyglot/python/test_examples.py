"""The programs of examples/, as a reader runs them."""

import os
import re
import subprocess
import sys

import pytest

from server import ROOT, SERVICE_CONFIG, Server


@pytest.fixture(scope="module")
def server():
    with Server() as running:
        yield running


def run(*command, **options):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30, **options)


def test_a_sub_agent_narrows_its_skills(server):
    skills = ["--skills", "berth-*", "internal-*"]
    done = run(sys.executable, "examples/subagent.py", "Find a berth.", *skills, "--target", server.address)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "skills: berth-allocation" in lines
    assert lines[-1].endswith("Task: Find a berth.")
    assert any(line.startswith("ephemeral:") and line.endswith("this turn only") for line in lines)


def test_a_chat_gets_each_message_once(server):
    done = run("node", "examples/chat.mjs", "--target", server.address, input="Any berth free?\nAnd tomorrow?\n")
    assert done.returncode == 0, done.stderr
    first, _, second, _ = done.stdout.splitlines()
    assert "skeleton" in first and "workspace_context" in first
    assert "skeleton" not in second and "workspace_context" not in second and "ROLE_USER" in second


def snippet(language):
    """A program of the README, between its heredoc's marks."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.search(rf"<<'{language}'\n(.*?)\n{language}\n", readme, re.S).group(1)


@pytest.mark.parametrize("language, command", [("PY", (sys.executable, "-")), ("JS", ("node", "-"))])
def test_the_readmes_first_calls_work_as_printed(server, language, command):
    program = snippet(language)
    assert "127.0.0.1:50051" in program
    # Where the test tree has the packages that the README installs in the current folder.
    modules = os.environ | {"NODE_PATH": str(ROOT / "examples/node_modules")}
    done = run(*command, input=program.replace("127.0.0.1:50051", server.address), env=modules)
    assert done.returncode == 0, done.stderr
    assert "--- skeleton\nYou are a conversational AI assistant." in done.stdout
    assert "--- workspace_context" in done.stdout


def test_the_readme_shows_the_service_config_that_is_there():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert SERVICE_CONFIG.strip() in readme
