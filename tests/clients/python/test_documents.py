"""The programs of the README, of the manual and of examples/, as a reader runs them."""

import re
import subprocess
import sys

import pytest

from running import ROOT

ADDRESS = "127.0.0.1:50051"
PACKAGE = ROOT / "clients/python"


def run(*command, **options):
    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, timeout=30, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "document, blocks, expected",
    [
        (PACKAGE / "README.md", 1, ["--- skeleton\nYou are a conversational AI assistant.", "--- workspace_context"]),
        (
            ROOT / "docs/clients/python.md",
            6,
            [
                "system runtime_facts ",
                "warning CONTEXT_FILE_TRUNCATED docs/RUNBOOK.md cut",
                "'tide-window'",
                "['ephemeral']",
                "False 0.0",
                "0 user Any berth free?\n1 assistant Berth 4.\n",
                "INVALID_ARGUMENT INVALID_REQUEST usr\nINVALID_ARGUMENT INVALID_REQUEST turn.time_zone\n",
            ],
        ),
    ],
)
def test_a_document_works_as_printed(server, document, blocks, expected, tmp_path):
    """Its blocks are one program, from top to bottom."""
    found = re.findall(r"^```python\n(.*?)^```$", document.read_text(encoding="utf-8"), re.S | re.M)
    assert len(found) == blocks
    program = "\n".join(found)
    assert ADDRESS in program
    printed = run("-", input=program.replace(ADDRESS, server.address), cwd=tmp_path)
    for text in expected:
        assert text in printed, printed


def test_the_first_call_of_the_projects_readme_works_as_printed(server):
    """The program between the quotes of `python -c`."""
    [program] = re.findall(r"bin/python -c '(.*?)'\n", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    assert ADDRESS in program
    assert run("-c", program.replace(ADDRESS, server.address)).startswith("You are a conversational AI assistant.")


def test_a_chat_gets_each_message_once(server):
    printed = run(PACKAGE / "examples/chat.py", "--target", server.address, input="Any berth free?\nAnd tomorrow?\n")
    first, _, second, answer = printed.splitlines()
    assert "skeleton" in first and "workspace_context" in first
    assert "skeleton" not in second and "workspace_context" not in second and "user" in second
    assert answer == "(a model would now read 6 messages)"


def test_a_stored_chat_goes_on_where_it_was(server):
    command = [PACKAGE / "examples/stored.py", "--session", "printed", "--target", server.address]
    for position in (1, 3):
        printed = run(*command, input="Any berth free?\n")
        assert printed == f"[position {position}]\n(a model would now read {3 + position} messages)\n"


def test_a_sub_agent_narrows_its_skills(server):
    printed = run(PACKAGE / "examples/subagent.py", "Find a berth.", "--skills", "berth-*", "--target", server.address)
    assert "ephemeral: " in printed and "this turn only" in printed and "arguments of anthropic's messages.create: " in printed
    assert printed.endswith("Task: Find a berth.\n")


def test_a_heartbeat_has_nothing_to_say(server):
    printed = run(PACKAGE / "examples/heartbeat.py", "--once", "--target", server.address)
    assert printed == "nothing to say\n"


def test_an_example_without_a_server_says_what_to_do():
    command = [sys.executable, PACKAGE / "examples/heartbeat.py", "--once", "--target", "127.0.0.1:1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert done.returncode == 1 and "no server answers at 127.0.0.1:1" in done.stderr and "Traceback" not in done.stderr
