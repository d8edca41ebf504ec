"""The programs of examples/, as a reader runs them."""

import subprocess
import sys

import pytest

from server import ROOT, Server


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
