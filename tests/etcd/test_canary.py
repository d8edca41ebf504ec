"""`promptd publish --canary`, `promote` and `abort`: two live revisions, and which users get which."""

import importlib.util
import json
from pathlib import Path

import pytest

from cluster import wait_for
from publisher import manifest, publish, sha256
from service import promptd

CLIENT = Path(__file__).parents[2] / "clients/python/src/promptd/canary.py"
SPEC = importlib.util.spec_from_file_location("canary", CLIENT)
canary = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(canary)

USERS = [f"user-{number}" for number in range(60)]


def url(etcd):
    return f"etcd://{etcd.nodes[0].address}/promptd"


def prompts(service):
    """How many prompts were of each side, by the metrics."""
    return [service.metric(f'canary_prompts_total{{side="{side}"}}') for side in ("stable", "candidate")]


def folder(home, name, text):
    path = home / name
    path.mkdir(parents=True, exist_ok=True)
    (path / "AGENTS.md").write_text(text)
    return path


def ask(service, user, workspace="a"):
    body = {"workspaceId": workspace, "turn": {"user": {"id": user}, "now": "2026-11-29T12:00:00Z"} if user else {}}
    status, answer = service.call("PromptService/AssemblePrompt", body)
    assert status == 200, answer
    return answer


def side(service, user, workspace="a"):
    return ask(service, user, workspace).get("canarySide", "").removeprefix("CANARY_SIDE_").lower()


def shows(service, user, text):
    return any(text in message["content"] for message in ask(service, user)["messages"])


def live(etcd, name="a"):
    """What etcd has of a canary: which turns, and the manifest."""
    value = etcd.get(f"/promptd/workspaces-canary/{name}")
    return tuple(json.loads(line) for line in value.split(b"\n", 1)) if value else None


@pytest.fixture
def running(etcd, serve, tmp_path):
    """A canary of 30 % of the users, of a workspace that was pulled, on two servers."""
    promptd("publish", folder(tmp_path, "a", "stable"), "--to", url(etcd), "-m", "First.")
    ws = tmp_path / "pulled"
    promptd("pull", "a", ws, "--from", url(etcd))
    (ws / "AGENTS.md").write_text("tried")
    services = [serve(etcd, settings={"cache": {"dir": "cache"}}), serve(etcd)]
    flags = ["--canary", "30%", "--by", "user.id", "--author", "dana"]
    ran = promptd("publish", f"a={ws}", "--to", url(etcd), "-m", "Shorter.", *flags)
    assert ran.stdout.endswith(")\n") and "a: revision 2 (" in ran.stdout and "+{+tried+}" in ran.stdout, ran.stdout
    for service in services:
        wait_for(lambda: side(service, USERS[0]), "both sides")
    return services, ws


def candidates(etcd):
    """The users that the rule of docs/fleet.md gives the candidate, by the client's code."""
    which, _ = live(etcd)
    return {user for user in USERS if canary.bucket(which["salt"], user) < which["share"]}


def test_each_user_gets_one_side_by_the_documented_rule(etcd, running):
    services, _ = running
    assert live(etcd)[0] == {"format": 1, "share": 3000, "by": "user.id", "salt": live(etcd)[0]["salt"]}
    expected = candidates(etcd)
    assert 8 < len(expected) < 30
    for service in services:
        assert service.metric("etcd_canaries") == 1
        before = prompts(service)
        for user in USERS:
            ask(service, user)
        assert [now - then for now, then in zip(prompts(service), before)] == [60 - len(expected), len(expected)]
        for user in USERS:
            tried = user in expected
            assert side(service, user) == ("candidate" if tried else "stable")
            assert shows(service, user, "tried" if tried else "stable") and not shows(service, user, "stable" if tried else "tried")
        assert side(service, "") == "stable"
    first, second = ({user: ask(service, user)["digest"] for user in USERS} for service in services)
    assert first == second, "all replicas agree"
    # A pin is given whatever the key says.
    user = min(expected)
    pinned = {"workspaceId": "a", "turn": {}, "revision": ask(services[0], user)["revision"]}
    assert services[0].call("PromptService/AssemblePrompt", pinned)[1]["canarySide"] == "CANARY_SIDE_CANDIDATE"
    assert "[canary: 30% by user.id]" in promptd("history", "a", "--to", url(etcd)).stdout.splitlines()[0]
    services[0].restart()
    assert {user: ask(services[0], user)["digest"] for user in USERS} == first


def test_what_is_promoted_is_what_all_get_and_its_folder_is_the_newest(etcd, running, tmp_path):
    [service, _], ws = running
    user = min(candidates(etcd))
    tried = ask(service, user)
    for refused in [
        ["publish", folder(tmp_path, "a", "other"), "-m", "No.", "--force"],
        ["publish", folder(tmp_path, "a", "other"), "-m", "No.", "--canary", "1%", "--by", "user.id"],
        ["rollback", "a", "1"],
    ]:
        ran = promptd(*refused, "--to", url(etcd), check=False)
        assert ran.returncode == 1 and "a: a canary runs since 2" in ran.stderr, ran.stderr
        assert "dana tries out revision 2 on 30% by user.id" in ran.stderr and "promptd promote a" in ran.stderr
    ran = promptd("promote", "a", "--to", url(etcd), "-m", "All is well.", "--author", "kim")
    assert ran.stdout.startswith("a: revision 3 (")
    wait_for(lambda: all(shows(service, user, "tried") for user in USERS), "all get it")
    now = ask(service, user)
    assert now["revision"] == tried["revision"] and now["digest"] == tried["digest"] and "canarySide" not in now
    assert live(etcd) is None and etcd.count("/promptd/history/a/") == 3
    history = promptd("history", "a", "--to", url(etcd)).stdout.splitlines()
    assert "kim  All is well." in history[0] and history[1].endswith("dana  Shorter."), "no mark"
    assert service.metric("etcd_canaries") == 0
    # Whoever tried it out goes on from there; whoever has the state before is told.
    (ws / "AGENTS.md").write_text("next")
    promptd("publish", f"a={ws}", "--to", url(etcd), "-m", "Next.")
    ran = promptd("promote", "a", "--to", url(etcd), check=False)
    assert ran.returncode == 1 and "a: no canary runs" in ran.stderr


def test_what_is_aborted_is_gone_but_for_the_history(etcd, running, tmp_path):
    [service, _], ws = running
    expected = candidates(etcd)
    before = ask(service, min(set(USERS) - expected))
    mine = tmp_path / "mine"
    promptd("pull", "a", mine, "--from", url(etcd))
    assert (mine / "AGENTS.md").read_text() == "stable", "what is pulled is the stable side"
    assert promptd("abort", "a", "--to", url(etcd)).stdout.startswith("a: revision 3 (")
    wait_for(lambda: all(shows(service, user, "stable") for user in USERS), "all get what they got")
    assert ask(service, min(set(USERS) - expected))["digest"] == before["digest"]
    history = promptd("history", "a", "--to", url(etcd)).stdout.splitlines()
    assert len(history) == 3 and "Aborted the canary." in history[0] and "Shorter." in history[1]
    promptd("pull", "a", tmp_path / "tried", "--from", url(etcd), "--revision", "2")
    assert (tmp_path / "tried" / "AGENTS.md").read_text() == "tried"
    # The files are those of before: who has them has missed nothing. Who tried it out is told.
    ran = promptd("publish", f"a={ws}", "--to", url(etcd), "-m", "No.", check=False)
    assert ran.returncode == 1 and "Aborted the canary." in ran.stderr
    (mine / "AGENTS.md").write_text("mine")
    promptd("publish", f"a={mine}", "--to", url(etcd), "-m", "Yes.")
    wait_for(lambda: shows(service, USERS[0], "mine"), "served")


def test_a_canary_that_cannot_be_used_is_said_and_all_get_the_stable_side(etcd, serve):
    for name in "abcd":
        publish(etcd, {name: {"AGENTS.md": b"stable"}})
    service = serve(etcd)
    line = b'{"format":1,"share":10000,"by":"user.id","salt":"s"}\n'
    parent = {name: sha256(etcd.get(f"/promptd/workspaces/{name}")) for name in "abcd"}
    tried = {name: manifest({"AGENTS.md": b"tried"}, 2, parent[name]) for name in "abcd"}
    for name, value, why in [
        ("a", line + tried["a"], f"AGENTS.md: the blob {sha256(b'tried')} is not in etcd"),
        ("b", line.replace(b'"format":1', b'"format":2') + tried["b"], "the canary has format 2, and this promptd reads up to 1"),
        ("c", line + manifest({"AGENTS.md": b"stable"}, 2, "0" * 64), "someone has published since the canary began: abort it"),
    ]:
        etcd.put(f"/promptd/workspaces-canary/{name}", value)
        wait_for(lambda: "PUBLICATION_INVALID" in service.codes(name), f"a finding of {name}")
        answer = ask(service, "any", name)
        assert "canarySide" not in answer and "stable" in service.text(name)
        messages = [finding["message"] for finding in answer["findings"]]
        assert any(f"/promptd/workspaces-canary/{name} in etcd" in message and why in message for message in messages), messages
    assert side(service, "any", "d") == "", "others are as they were"
    # Once the file is there and it is read again, it runs; one that cannot be read can still be ended.
    etcd.put(f"/promptd/blobs/{sha256(b'tried')}", b"tried")
    etcd.put("/promptd/workspaces-canary/a", line + tried["a"])
    wait_for(lambda: side(service, "any", "a") == "candidate", "repaired")
    assert "PUBLICATION_INVALID" not in service.codes("a")
    ran = promptd("promote", "b", "--to", url(etcd), check=False)
    assert ran.returncode == 1 and "update promptd" in ran.stderr and "promptd abort b" in ran.stderr
    for name in "bc":
        promptd("abort", name, "--to", url(etcd))
        wait_for(lambda: "PUBLICATION_INVALID" not in service.codes(name), "ended")
        assert etcd.count(f"/promptd/history/{name}/") == 1


def test_a_publisher_that_knows_no_canaries_ends_what_turns_get_of_it(etcd, running):
    [service, _], _ = running
    publish(etcd, {"a": {"AGENTS.md": b"by another"}})
    wait_for(lambda: all(shows(service, user, "by another") for user in USERS), "all get it")
    assert "PUBLICATION_INVALID" in service.codes("a")
    ran = promptd("promote", "a", "--to", url(etcd), check=False)
    assert ran.returncode == 1 and "test has published revision 2 since the canary began" in ran.stderr
    promptd("abort", "a", "--to", url(etcd))
    wait_for(lambda: "PUBLICATION_INVALID" not in service.codes("a"), "ended")
    assert shows(service, USERS[0], "by another")


def test_both_sides_survive_a_restart_without_etcd_and_gc(etcd, running):
    [service, _], _ = running
    expected = candidates(etcd)
    # As if all of it were of last year; of the history only the candidate is kept.
    for number in (1, 2):
        key = f"/promptd/history/a/{number:010}"
        etcd.put(key, json.dumps({**json.loads(etcd.get(key)), "time": "2026-01-01T00:00:00Z"}))
    assert promptd("gc", "--keep", "1", "--to", url(etcd)).stdout == "removed: 1 revision, 0 files, 0 proposals\n"
    sides = {user: ask(service, user)["digest"] for user in USERS}
    etcd.stop()
    service.restart()
    assert service.metric("etcd_canaries") == 1
    for user in USERS:
        answer = ask(service, user)
        assert answer["digest"] == sides[user] and answer["canarySide"].endswith("CANDIDATE" if user in expected else "STABLE")


def test_what_is_new_has_nothing_to_be_tried_against(etcd, tmp_path):
    ws = folder(tmp_path, "a", "first")
    flags = ["--to", url(etcd), "-m", "No."]
    ran = promptd("publish", ws, *flags, "--canary", "10%", "--by", "user.id", check=False)
    assert ran.returncode == 1 and "a: there is nothing to try it against" in ran.stderr
    for bad in (["--canary", "0.001%", "--by", "user.id"], ["--canary", "10%", "--by", "user.name"], ["--canary", "10%"], ["--by", "user.id"]):
        assert promptd("publish", ws, *flags, *bad, check=False).returncode == 2
    assert etcd.count("/promptd/") == 0


@pytest.mark.skipif(promptd("memory", "--help", check=False).returncode != 0, reason="a build without stored conversations")
def test_a_session_has_one_side_while_it_grows(etcd, serve, tmp_path):
    ws = folder(tmp_path, "a", "stable")
    promptd("publish", ws, "--to", url(etcd), "-m", "First.")
    service = serve(etcd, config={"memory": {"store": str(tmp_path / "memory")}})
    (ws / "AGENTS.md").write_text("tried")
    promptd("publish", ws, "--to", url(etcd), "-m", "Shorter.", "--canary", "50%", "--by", "session_id")
    wait_for(lambda: side(service, "") == "stable", "both sides")
    salt, sides = live(etcd)[0]["salt"], set()
    for number in range(24):
        session = {"workspaceId": "a", "sessionId": f"session-{number}"}
        expected = "candidate" if canary.bucket(salt, session["sessionId"]) < 5_000 else "stable"
        sides.add(expected)
        for step in range(2):
            messages = [{"id": str(step), "role": "ROLE_USER", "content": f"number {step}"}]
            status, answer = service.call("SessionService/AppendMessages", {**session, "messages": messages})
            assert status == 200, answer
            body = {"workspaceId": "a", "turn": {"sessionId": session["sessionId"], "now": "2026-11-29T12:00:00Z"}}
            status, answer = service.call("PromptService/AssemblePrompt", body)
            assert status == 200, answer
            assert answer["canarySide"] == f"CANARY_SIDE_{expected.upper()}"
    assert sides == {"stable", "candidate"}
