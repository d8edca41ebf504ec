"""The conformance suite of MCP against the real server, held to what conformance.yaml says of each check."""

import json
import re
import subprocess
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml
from server import NODE_MODULES

SUITE = NODE_MODULES / "@modelcontextprotocol/conformance/dist/index.js"
EXPECTED = yaml.load(Path(__file__).with_name("conformance.yaml").read_text(encoding="utf-8"), yaml.BaseLoader)
SUITE_SECONDS = 90


@pytest.mark.parametrize("run", EXPECTED["runs"], ids=lambda run: f"{run['scenario']}-{run['revision']}")
def test_scenario(example, tmp_path, run):
    # --force: an extension belongs to no revision, so the suite would skip its scenarios.
    command = ["node", SUITE, "server", "--url", example.url("example"), "--scenario", run["scenario"]]
    command += ["--spec-version", run["revision"], "--force", "--timeout", "60000", "-o", tmp_path]
    said = subprocess.run(command, capture_output=True, text=True, timeout=SUITE_SECONDS)
    results = list(tmp_path.glob("*/checks.json"))
    assert len(results) == 1, said.stdout + said.stderr
    checks = json.loads(results[0].read_text(encoding="utf-8"))
    counts = Counter(check["status"] for check in checks)
    others = {check["id"]: check for check in checks if check["status"] not in ("SUCCESS", "INFO")}
    expected = {id: text.split(",")[0] for id, text in run.get("others", {}).items()}
    why = {
        id: check.get("errorMessage") or check.get("details")
        for id, check in others.items()
        if expected.get(id) != check["status"]
    }
    assert {id: check["status"] for id, check in others.items()} == expected, why
    assert counts["SUCCESS"] == int(run["passes"]), counts


def test_every_scenario_is_run_or_left_out():
    said = subprocess.run(["node", SUITE, "list", "--server"], capture_output=True, text=True, check=True, timeout=SUITE_SECONDS)
    scenarios = set(re.findall(r"^  - (\S+)", said.stdout, re.MULTILINE))
    run = {run["scenario"] for run in EXPECTED["runs"]}
    assert len(scenarios) > 50 and run <= scenarios
    for scenario in scenarios - run:
        assert any(fnmatch(scenario, glob) for glob in EXPECTED["left_out"]), scenario
    for glob in EXPECTED["left_out"]:
        assert any(fnmatch(scenario, glob) for scenario in scenarios - run), glob
