"""Publishing through a promptd: who may, what it checks, what it says, and that the log has it."""

import base64
import hashlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import time

import pytest

import publisher as by_another
from cluster import wait_for
from service import PROMPTD, promptd
from test_publishing import folder, newest

TOKENS = """tokens:
  - {name: dana, token: dana-dana-dana-dana, workspaces: [harbor, yard], publish: ["*"]}
  - {name: kim, token: kim-kim-kim-kim-kim, workspaces: [harbor, yard], publish: [harbor]}
  - {name: reader, token: reader-reader-reader}
"""


@pytest.fixture
def guarded(etcd, serve, tmp_path):
    """A server with tokens, and a function that gives the arguments of one of them."""
    (tmp_path / "tokens.yaml").write_text(TOKENS)
    service = serve(etcd, config={"auth": {"tokens_file": str(tmp_path / "tokens.yaml")}})

    def to(name):
        file = tmp_path / f"{name}.token"
        file.write_text({"dana": "dana-dana-dana-dana", "kim": "kim-kim-kim-kim-kim", "reader": "reader-reader-reader"}[name] + "\n")
        return ["--to", service.url, "--token-file", file]

    return service, to


def test_every_command_works_through_a_promptd(etcd, serve, tmp_path):
    service, ws = serve(etcd), folder(tmp_path, "harbor", "one")
    (ws / "data.bin").write_bytes(random.randbytes(1 << 20))
    (ws / "more").mkdir()
    for number in range(150):
        (ws / "more" / f"{number}.txt").write_text(f"file {number % 7}")
    (ws / "empty").write_text("")
    ran = promptd("publish", ws, "--to", service.url, "-m", "First.", "--author", "nobody")
    assert ran.stdout.startswith("harbor: revision 1 ("), ran.stdout
    service.shows("harbor", "one")
    assert newest(etcd, "harbor")["author"] == "loopback" and len(newest(etcd, "harbor")["files"]) == 153
    assert "nothing is published" in promptd("publish", ws, "--to", service.url, "-m", "Again.").stdout
    (ws / "AGENTS.md").write_text("two")
    ran = promptd("publish", ws, "--to", service.url, "-m", "Second.", "--dry-run")
    assert "+{+two+}" in ran.stdout and newest(etcd, "harbor")["sequence"] == 1
    promptd("publish", ws, "--to", service.url, "-m", "Second.")
    service.shows("harbor", "two")
    history = promptd("history", "harbor", "--to", service.url).stdout.splitlines()
    assert len(history) == 2 and "Second." in history[0] and "First." in history[1]
    promptd("rollback", "harbor", "1", "--to", service.url)
    service.shows("harbor", "one")
    assert newest(etcd, "harbor")["message"] == "Back to revision 1."
    pulled = tmp_path / "pulled"
    promptd("pull", "harbor", pulled, "--from", service.url, "--revision", "2")
    assert (pulled / "AGENTS.md").read_text() == "two"
    assert (pulled / "data.bin").read_bytes() == (ws / "data.bin").read_bytes() and (pulled / "empty").read_bytes() == b""
    for place in (service.url, f"etcd://{etcd.nodes[0].address}/promptd"):
        ran = promptd("diff", "--from", place, "harbor@1", "harbor@2", check=False)
        assert ran.returncode == 1 and "[-one-]" in ran.stdout and "{+two+}" in ran.stdout, ran.stdout + ran.stderr
        assert promptd("diff", "--from", place, "harbor@1", "harbor").returncode == 0
    ran = promptd("pull", "nope", tmp_path / "nope", "--from", service.url, check=False)
    assert ran.returncode == 2 and "nothing was published of nope" in ran.stderr
    ran = promptd("rollback", "harbor", "9", "--to", service.url, check=False)
    assert ran.returncode == 2 and "harbor has no revision `9`" in ran.stderr
    assert "gc needs etcd itself" in promptd("gc", "--to", service.url, check=False).stderr


def test_a_token_publishes_what_it_lists_and_the_log_says_who(guarded, etcd, tmp_path):
    service, to = guarded
    ws, yard = folder(tmp_path, "harbor", "SECRET one"), folder(tmp_path, "yard", "SECRET two")
    promptd("publish", ws, yard, *to("dana"), "-m", "Both.", "--author", "somebody else")
    assert newest(etcd, "harbor")["author"] == newest(etcd, "yard")["author"] == "dana"
    (ws / "AGENTS.md").write_text("SECRET three")
    promptd("publish", ws, *to("kim"), "-m", "Mine.")
    before = etcd.count("/promptd/")
    for who, workspace, reason in [
        ("kim", yard, "PUBLISH_FORBIDDEN"), ("reader", ws, "PUBLISH_FORBIDDEN"),
        ("dana", folder(tmp_path, "other", "x"), "WORKSPACE_FORBIDDEN"),
    ]:
        (workspace / "AGENTS.md").write_text(f"by {who}")
        ran = promptd("publish", workspace, *to(who), "-m", "No.", check=False)
        assert ran.returncode == 2 and "PERMISSION_DENIED" in ran.stderr, ran.stderr
        for command in (["history", "yard"], ["pull", "yard", tmp_path / "x"], ["rollback", "yard", "1"]):
            ran = promptd(*command, *to("kim"), check=False)
            assert ran.returncode == 2 and "may not publish this workspace" in ran.stderr, ran.stderr
        files = [{"path": "a", "sha256": sha256(b"a"), "bytes": 1}]
        tokens = {"dana": "dana-dana-dana-dana", "kim": "kim-kim-kim-kim-kim", "reader": "reader-reader-reader"}
        status, answer = service.call(
            "AdminService/Publish", {"workspaces": [{"workspaceId": workspace.name, "files": files}], "message": "No.\nAt all."},
            {"authorization": f"Bearer {tokens[who]}"},
        )
        assert status == 403 and answer["code"] == "permission_denied" and answer["details"][0]["debug"]["reason"] == reason
    assert etcd.count("/promptd/") == before
    service.logged('author="dana"', 'result="WORKSPACE_FORBIDDEN"', 'note="No.')
    lines = service.audit()
    first = next(line for line in lines if 'note="Both."' in line)
    assert 'author="dana"' in first and 'workspaces="harbor,yard"' in first and 'result="published"' in first
    assert 'from="127.0.0.1:' in first and 'revisions="harbor=1:' in first and "yard=1:" in first
    refused = [line for line in lines if 'action="publish"' in line and 'result="PUBLISH_FORBIDDEN"' in line]
    assert any('author="kim"' in line and 'workspaces="yard"' in line for line in refused), lines
    assert any('action="rollback"' in line and 'result="PUBLISH_FORBIDDEN"' in line for line in lines)
    assert "SECRET" not in service.log() and "dana-dana" not in service.log()


def test_a_canary_is_begun_and_ended_through_a_promptd(guarded, etcd, tmp_path):
    service, to = guarded
    ws, yard = folder(tmp_path, "harbor", "stable"), folder(tmp_path, "yard", "stable")
    flags = ["-m", "Shorter.", "--canary", "100%", "--by", "user.id"]
    ran = promptd("publish", ws, *to("dana"), *flags, check=False)
    assert ran.returncode == 1 and "harbor: there is nothing to try it against" in ran.stderr, ran.stderr
    promptd("publish", ws, yard, *to("dana"), "-m", "First.")
    for folder_ in (ws, yard):
        (folder_ / "AGENTS.md").write_text("tried")
    ran = promptd("publish", ws, yard, *to("dana"), *flags)
    assert ran.stdout.endswith(")\n") and "harbor: revision 2 (" in ran.stdout and "yard: revision 2 (" in ran.stdout, ran.stdout
    headers = {"authorization": "Bearer reader-reader-reader"}
    ask = {"workspaceId": "harbor", "turn": {"user": {"id": "1"}}}

    def side():
        return service.call("PromptService/AssemblePrompt", ask, headers)[1].get("canarySide")

    wait_for(lambda: side() == "CANARY_SIDE_CANDIDATE", "tried")
    history = promptd("history", "harbor", *to("kim")).stdout.splitlines()
    assert history[0].endswith("dana  Shorter.  [canary: 100% by user.id]") and history[1].endswith("dana  First.")
    # Nothing is published beside it, and only a token that lists the workspace ends it.
    for refused in (["publish", ws, "-m", "No.", "--force"], ["publish", ws, *flags], ["rollback", "harbor", "1"]):
        ran = promptd(*refused, *to("kim"), check=False)
        assert ran.returncode == 1 and "dana tries out revision 2 on 100% by user.id" in ran.stderr, ran.stderr
    for command in ("promote", "abort"):
        ran = promptd(command, "yard", *to("kim"), check=False)
        assert ran.returncode == 2 and "may not publish this workspace" in ran.stderr, ran.stderr
    assert promptd("promote", "harbor", *to("kim"), "-m", "All is well.", "--author", "somebody").stdout.startswith("harbor: revision 3 (")
    assert (newest(etcd, "harbor")["author"], newest(etcd, "harbor")["message"]) == ("kim", "All is well.")
    assert promptd("abort", "yard", *to("dana")).stdout.startswith("yard: revision 3 (")
    assert newest(etcd, "yard")["message"] == "Aborted the canary."
    wait_for(lambda: side() is None, "all get it")
    for command in ("promote", "abort"):
        ran = promptd(command, "harbor", *to("kim"), check=False)
        assert ran.returncode == 1 and "harbor: no canary runs" in ran.stderr, ran.stderr
    # Someone who publishes past it ends what turns get of it.
    (ws / "AGENTS.md").write_text("next")
    promptd("publish", ws, *to("kim"), *flags)
    assert "[canary: 100% by user.id]" in promptd("history", "harbor", *to("kim")).stdout
    # The history has the candidate still, but no turn gets it.
    before = etcd.get("/promptd/workspaces/harbor")
    etcd.put("/promptd/workspaces/harbor", by_another.manifest({"AGENTS.md": b"tried"}, 9))
    assert "[canary" not in promptd("history", "harbor", *to("kim")).stdout
    etcd.put("/promptd/workspaces/harbor", before)
    by_another.publish(etcd, {"harbor": {"AGENTS.md": b"by another"}})
    ran = promptd("promote", "harbor", *to("kim"), check=False)
    assert ran.returncode == 1 and "test has published revision 4 since the canary began" in ran.stderr, ran.stderr
    assert "as it was: nothing is published" in promptd("abort", "harbor", *to("kim")).stdout
    service.logged('action="abort"', 'author="kim"', 'result="unchanged"')
    results = [re.search(r'action="(\w+)" author="(\w+)".* result="(\w+)"', line).groups() for line in service.audit()]
    for line in [
        ("canary", "dana", "PUBLICATION_INVALID"), ("canary", "dana", "published"), ("publish", "kim", "CANARY_RUNS"),
        ("rollback", "kim", "CANARY_RUNS"), ("abort", "kim", "PUBLISH_FORBIDDEN"), ("promote", "kim", "published"),
        ("abort", "dana", "published"), ("promote", "kim", "NO_CANARY"), ("promote", "kim", "PUBLISHED_SINCE"), ("abort", "kim", "unchanged"),
    ]:
        assert line in results, (line, results)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def test_without_tokens_only_programs_on_this_machine_publish(etcd, serve, tmp_path):
    service, ws = serve(etcd, config={"insecure": True}, listen="0.0.0.0"), folder(tmp_path, "harbor", "one")
    promptd("publish", ws, "--to", service.url, "-m", "First.")
    ask = ("AdminService/GetPublished", {"workspaceId": "harbor"})
    assert service.call(*ask)[0] == 200
    status, answer = service.call(*ask, {"origin": service.url, "host": f"127.0.0.1:{service.port}"})
    assert status == 403 and "by loopback" in answer["message"], answer
    other = own_address()
    if other:
        elsewhere = f"http://{other}:{service.port}"
        ran = promptd("history", "harbor", "--to", elsewhere, check=False)
        assert ran.returncode == 2 and "by loopback" in ran.stderr, ran.stderr


def own_address():
    """An address of this machine that is not loopback; none in a sandbox without a network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        address = probe.getsockname()[0]
    return None if address.startswith("127.") else address


def test_errors_stop_it_whatever_the_client_does(etcd, serve, tmp_path):
    service, bad = serve(etcd), folder(tmp_path, "bad", "fine")
    (bad / "workspace.yaml").write_text("agent: [\n")
    ran = promptd("publish", bad, "--to", service.url, "-m", "No.", check=False)
    assert ran.returncode == 1 and "nothing is published" in ran.stderr
    files = {"AGENTS.md": b"fine", "workspace.yaml": b"agent: [\n"}
    status, answer = publish(service, "bad", files)
    assert status == 400 and "workspace `bad` cannot be used until it is fixed: workspace.yaml:" in answer["message"], answer
    assert [violation["subject"] for violation in of_type(answer, "PreconditionFailure")["violations"]][0].startswith("workspace.yaml:")
    service.logged('result="WORKSPACE_INVALID"')
    assert len(service.audit()) == 1, "the command has found it, and has not asked"
    assert etcd.count("/promptd/workspaces/") == etcd.count("/promptd/history/") == 0
    # Both of one call: what the second extends is what the first will be.
    base = {"AGENTS.md": b"the base", "workspace.yaml": b"extendable_by: [heir]\n"}
    heir = {"AGENTS.md": b"the heir", "workspace.yaml": b"extends: [base]\n"}
    status, answer = publish(service, "heir", heir)
    assert status == 400 and "LAYER_UNAVAILABLE" in json.dumps(answer), answer
    status, answer = publish(service, "heir", heir, base=base)
    assert status == 200 and [one["workspaceId"] for one in answer["workspaces"]] == ["base", "heir"], answer
    service.shows("heir", "the heir")


def of_type(answer, name):
    return next(detail["debug"] for detail in answer["details"] if detail["type"].endswith(name))


def publish(service, workspace, files, upload=True, **others):
    """Publishes by the JSON of Connect, as any program can: `workspace`, and `others` with it."""
    workspaces = []
    for name, content in {workspace: files, **others}.items():
        if upload:
            contents = [base64.b64encode(data).decode() for data in content.values()]
            status, answer = service.call("AdminService/UploadFiles", {"workspaceId": name, "contents": contents})
            assert status == 200 and answer["sha256"] == [sha256(data) for data in content.values()], answer
        entries = [{"path": path, "sha256": sha256(data), "bytes": len(data)} for path, data in content.items()]
        workspaces.append({"workspaceId": name, "files": entries})
    return service.call("AdminService/Publish", {"workspaces": workspaces, "message": "By a test."})


def test_a_hash_alone_publishes_nothing(etcd, serve, tmp_path):
    service = serve(etcd)
    secret = {"AGENTS.md": b"nobody else may read this"}
    assert publish(service, "a", secret)[0] == 200
    missing = {"workspaceId": "b", "sha256": [sha256(secret["AGENTS.md"])]}
    assert service.call("AdminService/FindMissingFiles", missing)[1] == {"sha256": missing["sha256"]}
    status, answer = publish(service, "b", secret, upload=False)
    assert status == 400 and "b: 1 files must be uploaded first, AGENTS.md among them" in answer["message"], answer
    assert service.call("AdminService/FindMissingFiles", {**missing, "workspaceId": "a"})[1] == {}
    assert publish(service, "b", secret)[0] == 200
    # The size is what it is said to be, too.
    entry = {"path": "AGENTS.md", "sha256": missing["sha256"][0], "bytes": 3}
    request = {"workspaces": [{"workspaceId": "a", "files": [entry]}], "message": "Wrong."}
    status, answer = service.call("AdminService/Publish", request)
    assert status == 400 and "PUBLICATION_INVALID" in json.dumps(answer), answer


def test_no_file_that_other_programs_act_on_is_published_or_pulled(etcd, serve, tmp_path):
    service = serve(etcd)
    config = {"AGENTS.md": b"one", ".git/config": b"[core]\n\tfsmonitor = ./run\n"}
    status, answer = publish(service, "a", config)
    assert status == 400 and "workspaces[0].files[1].path" in json.dumps(answer), answer
    # Another publisher may have.
    by_another.publish(etcd, {"a": config})
    ran = promptd("pull", "a", tmp_path / "pulled", "--from", service.url, check=False)
    assert ran.returncode != 0 and "`.git/config` begins with a dot" in ran.stderr, ran.stderr
    assert not (tmp_path / "pulled").exists()
    # It can be repaired.
    promptd("publish", folder(tmp_path, "a", "two"), "--to", service.url, "-m", "Repaired.")
    promptd("pull", "a", tmp_path / "pulled", "--from", service.url)


def test_a_conflict_is_told_with_both_changes(etcd, serve, tmp_path):
    service = serve(etcd)
    to = f"etcd://{etcd.nodes[0].address}/promptd"
    for name, place in [("a", service.url), ("b", to)]:
        promptd("publish", folder(tmp_path, name, "The tide is low."), "--to", place, "-m", "First.")
        mine = tmp_path / f"mine-{name}"
        promptd("pull", name, mine, "--from", place)
        theirs = folder(tmp_path, name, "The tide is high.")
        promptd("publish", theirs, "--to", to, "-m", "Faster.", "--author", "kim")
        (mine / "AGENTS.md").write_text("The tide is mine.")
        ran = promptd("publish", f"{name}={mine}", "--to", place, "-m", "Late.", check=False)
        assert ran.returncode == 1 and f"{name}: kim has published revision 2 since" in ran.stderr, ran.stderr
        theirs, yours = ran.stderr.split("what you have changed:")
        assert "what kim has changed:" in theirs and "high" in theirs and "mine" not in theirs, theirs
        assert "mine" in yours and "high" not in yours and "nothing is published" in yours, yours
        assert newest(etcd, name)["sequence"] == 2
    # A program that brings an old base is refused too.
    old = json.loads(etcd.get("/promptd/history/a/0000000001"))
    base = sha256(etcd.get("/promptd/history/a/0000000001"))
    files = [{"path": path, **entry} for path, entry in newest(etcd, "a")["files"].items()]
    request = {"workspaces": [{"workspaceId": "a", "files": files, "baseRevision": base}], "message": "By a program."}
    status, answer = service.call("AdminService/Publish", request)
    assert status == 409 and answer["code"] == "aborted" and "PUBLISHED_SINCE" in json.dumps(answer), answer
    assert old["sequence"] == 1
    service.logged('note="By a program."', 'result="PUBLISHED_SINCE"')


def test_a_killed_publisher_or_service_leaves_the_old_state_or_the_new(etcd, serve, tmp_path):
    service, ws = serve(etcd), folder(tmp_path, "harbor", "text 0")
    for number in range(40):
        (ws / f"{number}.txt").write_bytes(random.randbytes(100_000))
    promptd("publish", ws, "--to", service.url, "-m", "First.")
    started = time.monotonic()
    rewrite(ws, 1)
    promptd("publish", ws, "--to", service.url, "-m", "Timed.")
    took = time.monotonic() - started
    texts = {"text 1"}
    for round_ in range(2, 12):
        rewrite(ws, round_)
        texts.add(f"text {round_}")
        arguments = [PROMPTD, "publish", str(ws), "--to", service.url, "-m", f"Number {round_}."]
        command = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            command.wait(timeout=random.uniform(0, 1.2 * took))
        except subprocess.TimeoutExpired:
            pass
        victim = service.process if round_ % 2 else command
        if victim.poll() is None:
            os.kill(victim.pid, signal.SIGKILL)
        command.wait()
        if round_ % 2:
            service.restart()
        head = newest(etcd, "harbor")
        assert len(head["files"]) == 41
        for entry in head["files"].values():
            assert etcd.get(f"/promptd/blobs/{entry['sha256']}") is not None
        shown = wait_for(lambda: next((text for text in texts if text in service.text("harbor").split("\n")), None), "whole")
        assert shown in texts
    wait_for(lambda: promptd("publish", ws, "--to", service.url, "-m", "Last.").returncode == 0, "published")
    service.shows("harbor", "text 11")


def rewrite(ws, number):
    (ws / "AGENTS.md").write_text(f"text {number}")
    for index in range(40):
        (ws / f"{index}.txt").write_bytes(random.randbytes(100_000))


def test_requests_that_cannot_be_used_name_their_fields(etcd, serve):
    service = serve(etcd)
    entry = {"path": "../a", "sha256": "x", "bytes": 1}
    for method, body, fields in [
        ("Publish", {"workspaces": [{"workspaceId": "a", "files": [entry]}]}, ["workspaces[0].files[0].sha256", "message"]),
        ("ListPublished", {"workspaceId": "a", "limit": 1001}, ["limit"]),
        ("GetPublished", {"workspaceId": "../a"}, ["workspace_id"]),
        ("FindMissingFiles", {"workspaceId": "a"}, ["sha256"]),
        ("UploadFiles", {"workspaceId": "a", "contents": [base64.b64encode(b"x" * ((1 << 20) + 1)).decode()]}, ["contents[0]"]),
        ("Rollback", {"workspaceId": "a"}, ["revision"]),
        ("PromoteCanary", {"workspaceId": "a", "message": "x" * 4097}, ["message"]),
        ("AbortCanary", {"workspaceId": "../a"}, ["workspace_id"]),
    ]:
        status, answer = service.call(f"AdminService/{method}", body)
        assert status == 400 and answer["code"] == "invalid_argument", (method, answer)
        found = [violation["field"] for violation in of_type(answer, "BadRequest")["fieldViolations"]]
        assert found == fields, method
    status, answer = service.call("AdminService/ListPublished", {"workspaceId": "a"})
    assert (status, answer) == (200, {})


def test_what_is_away_is_said(etcd, serve, tmp_path):
    ws = folder(tmp_path, "harbor", "one")
    service = serve(etcd)
    promptd("publish", ws, "--to", service.url, "-m", "First.")
    etcd.nodes[0].kill()
    ran = promptd("history", "harbor", "--to", service.url, check=False)
    assert ran.returncode == 2 and "UNAVAILABLE: etcd does not answer" in ran.stderr, ran.stderr
    assert etcd.nodes[0].address not in ran.stderr
    service.stop()
    ran = promptd("history", "harbor", "--to", service.url, check=False)
    assert ran.returncode == 2 and f"{service.url} cannot be used" in ran.stderr
    ran = promptd("history", "harbor", "--to", service.url.replace("http", "https"), check=False)
    assert ran.returncode == 2 and "give --ca FILE" in ran.stderr


def test_a_publish_is_tried_on_the_requests_of_the_past(etcd, serve, tmp_path):
    ws, records = folder(tmp_path, "harbor", "one"), tmp_path / "records"
    service = serve(etcd, config={"record": {"dir": str(records)}})
    promptd("publish", ws, "--to", service.url, "-m", "First.")
    service.shows("harbor", "one")
    for _ in range(4):
        service.assemble("harbor")
    wait_for(lambda: promptd("replay", records, check=False).returncode == 0, "recorded")
    (ws / "AGENTS.md").write_text("two")
    publish_it = ["publish", ws, "--to", service.url, "-m", "Second.", "--replay", records]
    ran = promptd(*publish_it, "--max-changed", "50%", check=False)
    assert ran.returncode == 1 and "harbor: more of the recorded requests would change" in ran.stderr, ran.stderr
    assert "requests change (100 %)" in ran.stdout and newest(etcd, "harbor")["sequence"] == 1
    other = folder(tmp_path, "yard", "three")
    ran = promptd(*publish_it[:2], other, *publish_it[2:], "--max-changed", "100%")
    assert "yard: none of its requests was recorded" in ran.stdout
    assert newest(etcd, "harbor")["sequence"] == 2 and newest(etcd, "yard")["sequence"] == 1


def test_gc_forgets_uploads_once_they_are_old(etcd, serve):
    service, to = serve(etcd), f"etcd://{etcd.nodes[0].address}/promptd"
    assert publish(service, "a", {"AGENTS.md": b"one"})[0] == 200
    late = {"workspaceId": "a", "contents": [base64.b64encode(b"two").decode()]}
    assert service.call("AdminService/UploadFiles", late)[0] == 200
    promptd("gc", "--to", to)
    assert etcd.count("/promptd/uploads/") == etcd.count("/promptd/blobs/") == 2
    # As if that state were of last year: what was written before it is as old.
    key = "/promptd/history/a/0000000001"
    etcd.put(key, json.dumps({**json.loads(etcd.get(key)), "time": "2026-01-01T00:00:00Z"}))
    promptd("gc", "--to", to)
    assert etcd.count("/promptd/uploads/") == 0 and etcd.count("/promptd/blobs/") == 1
    missing = {"workspaceId": "a", "sha256": [sha256(b"one"), sha256(b"two")]}
    assert service.call("AdminService/FindMissingFiles", missing)[1] == {"sha256": [sha256(b"two")]}
