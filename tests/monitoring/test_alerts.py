"""Each alert of deploy/alerts.yaml fires on what it is for, and on nothing else."""

import os
import subprocess

import pytest
import yaml
from service import ROOT

RULES = ROOT / "deploy/alerts.yaml"
SERIES = yaml.safe_load((ROOT / "tests/monitoring/alerts.yaml").read_text())
ALERTS = {rule["alert"]: rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]}
# Of an hour of series, one value a minute: each alert has had its time by then.
AT = "30m"

needs_promtool = pytest.mark.skipif(not os.environ.get("PROMTOOL"), reason="no promtool on this machine")


def promtool(*arguments):
    ran = subprocess.run([os.environ["PROMTOOL"], *arguments], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@needs_promtool
def test_the_rules_are_valid():
    promtool("check", "rules", str(RULES))


def test_every_alert_has_series_and_a_row_of_the_manual():
    assert list(SERIES) == list(ALERTS)
    manual = (ROOT / "docs/operating.md").read_text()
    for alert in ALERTS:
        assert f"| `{alert}` |" in manual, alert


@needs_promtool
@pytest.mark.parametrize("alert", ALERTS)
@pytest.mark.parametrize("kind", ["fires", "quiet"])
def test_an_alert_fires_where_it_must(alert, kind, tmp_path):
    rule = ALERTS[alert]
    kept = {"instance", "file", "reason", "section", "state", "job"}
    labels = yaml.safe_load(SERIES[alert][kind][0]["series"].partition("{")[2].rstrip("}").join("{}").replace("=", ": ") or "{}")
    labels = {name: value for name, value in labels.items() if name in kept}
    fired = [{"exp_labels": labels | rule["labels"], "exp_annotations": rule["annotations"]}]
    case = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": SERIES[alert][kind],
                "alert_rule_test": [
                    {"eval_time": AT, "alertname": alert, "exp_alerts": fired if kind == "fires" else []}
                ],
            }
        ],
    }
    file = tmp_path / "case.yaml"
    file.write_text(yaml.safe_dump(case))
    promtool("test", "rules", str(file))
