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
    options = {"timeout": 30} | options
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, **options)


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


def test_a_long_conversation_is_summarised_without_a_gap(server):
    command = [sys.executable, "examples/kern_loop.py", "--messages", "500", "--target", server.address]
    done = run(*command, timeout=240)
    assert done.returncode == 0, done.stderr
    counted, shown, _ = done.stdout.splitlines()
    leaves, rollups = map(int, re.match(r"500 messages; segments by level: \[(\d+), (\d+), 0\], 0 without", counted).groups())
    assert leaves >= 10 and rollups == leaves // 10
    summaries, window, summarised = map(int, re.findall(r"\d+", shown))
    assert summaries > 1 and 0 < window <= summarised < 500


# Where the test tree has the packages that the documents install in the current folder.
MODULES = os.environ | {"NODE_PATH": str(ROOT / "examples/node_modules")}
ADDRESS = "127.0.0.1:50051"


def run_as_printed(server, command, program):
    assert ADDRESS in program
    done = run(*command, input=program.replace(ADDRESS, server.address), env=MODULES)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("mark, command", [("PY", (sys.executable, "-")), ("JS", ("node", "-"))])
def test_the_readmes_first_calls_work_as_printed(server, mark, command):
    """The program between a heredoc's marks."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    printed = run_as_printed(server, command, re.search(rf"<<'{mark}'\n(.*?)\n{mark}\n", readme, re.S).group(1))
    assert "--- skeleton\nYou are a conversational AI assistant." in printed
    assert "--- workspace_context" in printed


def calling():
    return (ROOT / "docs/calling.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "language, command, blocks, expected",
    [
        (
            "python",
            (sys.executable, "-"),
            7,
            ["['ephemeral']", "name: tide-window", "True '' 0", "0 4 1", "NOT_FOUND WORKSPACE_NOT_FOUND"],
        ),
        ("js", ("node", "-"), 2, ["[ 'ephemeral' ]"]),
    ],
)
def test_the_manual_of_calls_works_as_printed(server, language, command, blocks, expected):
    """The blocks of one language are one program, from top to bottom."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", calling(), re.S | re.M)
    assert len(found) == blocks
    printed = run_as_printed(server, command, "\n".join(found))
    for text in expected:
        assert text in printed


def test_the_manual_of_calls_shows_the_service_config_that_is_there():
    assert SERVICE_CONFIG.strip() in calling()
