"""Every expression of deploy/ has a value over a Prometheus that scrapes the real server."""

import json
import os
import re
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request

import pytest
import yaml
from collector import Collector
from ports import free_port
from service import ROOT, WAIT_SECONDS, Service

pytestmark = pytest.mark.skipif(not os.environ.get("PROMETHEUS"), reason="no prometheus on this machine")

SCRAPE = "1s"


def expressions():
    """Each with where it is."""
    dashboard = json.loads((ROOT / "deploy/grafana-dashboard.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            expression = target["expr"].replace("$__rate_interval", "10s").replace("$instance", ".*")
            yield f"panel {panel['title']!r}", expression
    for group in yaml.safe_load((ROOT / "deploy/alerts.yaml").read_text())["groups"]:
        for rule in group["rules"]:
            # With `bool` an alert that does not fire has a value as well, if its series are there.
            yield f"alert {rule['alert']}", re.sub(r" (>|==) (?=[0-9.]+$)", r" \1 bool ", rule["expr"])


class Prometheus:
    """Scrapes one server for the length of a `with` block."""

    def __init__(self, folder, target):
        self.address = f"127.0.0.1:{free_port()}"
        config = folder / "prometheus.yml"
        jobs = [{"job_name": "promptd", "static_configs": [{"targets": [target]}]}]
        config.write_text(yaml.safe_dump({"global": {"scrape_interval": SCRAPE}, "scrape_configs": jobs}))
        self.command = [
            os.environ["PROMETHEUS"],
            f"--config.file={config}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={self.address}",
            "--log.level=error",
        ]

    def __enter__(self):
        self.process = subprocess.Popen(self.command)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def query(self, expression):
        """The series; none while it starts."""
        url = f"http://{self.address}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        try:
            with urllib.request.urlopen(url, timeout=WAIT_SECONDS) as answer:
                # A quantile of nothing is NaN, which shows nothing either.
                return [one for one in json.load(answer)["data"]["result"] if one["value"][1] != "NaN"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{expression}: {error.read().decode()}") from error
        except urllib.error.URLError:
            return []

    def wait(self, place, expression):
        late = time.monotonic() + WAIT_SECONDS
        while not self.query(expression):
            assert time.monotonic() < late, f"{place}: {expression} has no value"
            time.sleep(0.2)  # Prometheus tells nobody that it has scraped.


def busy(service, done):
    """Edits, and calls of which most fail, until it is told to stop: series that begin with an event need one."""
    with (service.workspace / "workspace.yaml").open("a") as settings:
        settings.write("nonesuch: 1\n")
    note, edits = service.workspace / "SOUL.md", 0
    while not done.wait(0.2):
        edits += 1
        note.write_text(f"Edited {edits} times.\n")
        service.call()
        service.call(workspaceId="nowhere")
        service.call(turn={"ephemeralSystemPrompt": "x" * 3_000})
        # One stream is open already, and more may not be.
        open_stream(service).close()
        service.call(method="promptd.v1.WorkspaceService/Nothing")


def open_stream(service):
    """A stream that is not read."""
    host, port = service.address.split(":")
    stream = socket.create_connection((host, int(port)), timeout=WAIT_SECONDS)
    body = json.dumps({"workspaceId": "example"}).encode()
    envelope = bytes([0]) + len(body).to_bytes(4, "big") + body
    head = (
        "POST /promptd.v1.WorkspaceService/WatchWorkspace HTTP/1.1\r\n"
        f"host: {service.address}\r\ncontent-type: application/connect+json\r\ncontent-length: {len(envelope)}\r\n\r\n"
    )
    stream.sendall(head.encode() + envelope)
    assert stream.recv(12) == b"HTTP/1.1 200"
    return stream


def test_no_expression_is_empty(tmp_path):
    settings = {
        # Nobody listens there: its series are there all the same.
        "workspaces": {"single": ["example"], "etcd": {"endpoints": ["127.0.0.1:1"]}},
        "record": {"dir": str(tmp_path / "records")},
        "memory": {"store": str(tmp_path / "conversations")},
        "limits": {"max_streams": 1, "max_message_bytes": 2_000},
    }
    with Collector() as collector, Service(collector.port, settings) as service:
        done = threading.Event()
        caller = threading.Thread(target=busy, args=(service, done))
        stream = open_stream(service)
        caller.start()
        try:
            with Prometheus(tmp_path, service.admin) as prometheus:
                prometheus.wait("the start", 'count_over_time(promptd_calls_total{code="UNAVAILABLE"}[1m]) > 3')
                checked = 0
                for place, expression in expressions():
                    prometheus.wait(place, expression)
                    checked += 1
                assert checked > 50
        finally:
            done.set()
            caller.join()
            stream.close()
