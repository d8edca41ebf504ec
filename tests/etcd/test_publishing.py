"""`promptd publish`, `pull`, `history`, `rollback` and `gc`, and what they say when it cannot be done."""

import base64
import json

from cluster import b64
from publisher import manifest, publish, sha256
from service import promptd


def folder(home, name, text):
    path = home / name
    path.mkdir(parents=True, exist_ok=True)
    (path / "AGENTS.md").write_text(text)
    return path


def url(etcd):
    return f"etcd://{etcd.nodes[0].address}/promptd"


def newest(etcd, name):
    return json.loads(etcd.get(f"/promptd/workspaces/{name}"))


def test_a_folder_is_published_pulled_and_rolled_back(etcd, serve, tmp_path):
    ws, to = folder(tmp_path, "harbor", "one"), url(etcd)
    (ws / ".git").mkdir()
    (ws / ".git" / "config").write_text("no part of it")
    (ws / "skills" / "s").mkdir(parents=True)
    (ws / "skills" / "s" / "SKILL.md").write_text("---\nname: s\ndescription: D.\n---\nBody.\n")
    ran = promptd("publish", ws, "--to", to, "-m", "First.", "--author", "dana")
    assert ran.stdout.startswith("harbor: revision 1 (")
    service = serve(etcd)
    assert "one" in service.text("harbor")
    head = newest(etcd, "harbor")
    assert sorted(head["files"]) == ["AGENTS.md", "skills/s/SKILL.md"] and head["author"] == "dana"
    assert "nothing is published" in promptd("publish", ws, "--to", to, "-m", "Again.").stdout
    (ws / "AGENTS.md").write_text("two")
    ran = promptd("publish", ws, "--to", to, "-m", "Second.", "--dry-run")
    assert "+{+two+}" in ran.stdout and "anthropic-messages  lost from byte" in ran.stdout, ran.stdout
    assert newest(etcd, "harbor")["sequence"] == 1
    promptd("publish", ws, "--to", to, "-m", "Second.")
    service.shows("harbor", "two")
    history = promptd("history", "harbor", "--to", to).stdout.splitlines()
    assert len(history) == 2 and "Second." in history[0] and "dana" in history[1]
    promptd("rollback", "harbor", "1", "--to", to)
    service.shows("harbor", "one")
    assert newest(etcd, "harbor")["message"] == "Back to revision 1." and newest(etcd, "harbor")["sequence"] == 3
    pulled = tmp_path / "pulled"
    promptd("pull", "harbor", pulled, "--from", to, "--revision", "2")
    assert (pulled / "AGENTS.md").read_text() == "two" and not (pulled / ".git").exists()
    assert "is not empty" in promptd("pull", "harbor", pulled, "--from", to, check=False).stderr


def test_errors_stop_it(etcd, tmp_path):
    good, bad = folder(tmp_path, "good", "fine"), folder(tmp_path, "bad", "fine")
    (bad / "workspace.yaml").write_text("agent: [\n")
    ran = promptd("publish", good, bad, "--to", url(etcd), "-m", "No.", check=False)
    assert ran.returncode == 1 and "nothing is published" in ran.stderr and "workspace.yaml:1" in ran.stderr
    assert etcd.count("/promptd/") == 0


def test_a_conflict_is_told_and_nothing_is_published(etcd, tmp_path):
    to = url(etcd)
    promptd("publish", folder(tmp_path, "a", "one"), folder(tmp_path, "b", "one"), "--to", to, "-m", "First.")
    mine = tmp_path / "mine"
    promptd("pull", "a", mine, "--from", to)
    promptd("publish", folder(tmp_path, "a", "two"), "--to", to, "-m", "Faster.", "--author", "kim")
    (mine / "AGENTS.md").write_text("mine")
    (tmp_path / "b" / "AGENTS.md").write_text("mine")
    ran = promptd("publish", f"a={mine}", tmp_path / "b", "--to", to, "-m", "Late.", check=False)
    assert ran.returncode == 1 and "a: kim has published revision 2 since" in ran.stderr and "Faster." in ran.stderr
    assert newest(etcd, "a")["sequence"] == 2 and newest(etcd, "b")["sequence"] == 1
    promptd("publish", f"a={mine}", tmp_path / "b", "--to", to, "-m", "Late.", "--force")
    assert newest(etcd, "a")["sequence"] == 3 and newest(etcd, "b")["sequence"] == 2


def test_what_etcd_cannot_take_is_counted(etcd, tmp_path):
    to = url(etcd)
    many = [folder(tmp_path / "many", f"w{number}", f"text {number}") for number in range(65)]
    promptd("publish", *many[:64], "--to", to, "-m", "All.")
    assert etcd.count("/promptd/workspaces/") == 64
    ran = promptd("publish", *many, "--to", to, "-m", "All.", check=False)
    assert ran.returncode == 1 and "65 workspaces cannot be published together: etcd takes 64" in ran.stderr
    large = folder(tmp_path, "large", "text")
    (large / "data.bin").write_bytes(b"x" * (1 << 20))
    promptd("publish", large, "--to", to, "-m", "Just.")
    (large / "data.bin").write_bytes(b"x" * ((1 << 20) + 1))
    ran = promptd("publish", large, "--to", to, "-m", "Much.", check=False)
    assert ran.returncode == 1 and "data.bin has 1048577 bytes; a published file has 1048576 at most" in ran.stderr


def test_gc_spares_what_is_young_or_needed(etcd, tmp_path):
    to, ws = url(etcd), tmp_path / "a"
    old = "2026-01-01T00:00:00Z"
    for number in range(4):
        publish(etcd, {"a": {"AGENTS.md": b"text %d" % number}})
    etcd.put(f"/promptd/blobs/{sha256(b'orphan')}", b"orphan")
    assert promptd("gc", "--keep", "2", "--to", to).stdout == "removed: 2 revisions, 0 files, 0 proposals\n", "all are young"
    # As if the newest state alone were of last year: its publisher's clock may be slow.
    aged = {key: json.dumps({**json.loads(etcd.get(key)), "time": old}) for key in [f"/promptd/history/a/000000000{n}" for n in (3, 4)]}
    newest_key = max(aged)
    etcd.put(newest_key, aged[newest_key])
    assert promptd("gc", "--keep", "2", "--to", to).stdout == "removed: 0 revisions, 0 files, 0 proposals\n"
    # As if all that are left were: what was written before the last of them is as old.
    for key, state in aged.items():
        etcd.put(key, state)
    etcd.put(f"/promptd/blobs/{sha256(b'young')}", b"young")
    assert promptd("gc", "--keep", "2", "--to", to).stdout == "removed: 0 revisions, 3 files, 0 proposals\n"
    left = {sha256(b"text 2"), sha256(b"text 3"), sha256(b"young")}
    blobs = etcd.call("kv/range", {"key": b64("/promptd/blobs/"), "range_end": b64("/promptd/blobs0"), "keys_only": True})
    assert {base64.b64decode(kv["key"]).decode().rsplit("/", 1)[1] for kv in blobs["kvs"]} == left
    promptd("pull", "a", ws, "--from", to)
    assert (ws / "AGENTS.md").read_text() == "text 3"
    # What it names cannot be known.
    etcd.put("/promptd/history/b/0000000001", manifest({}).replace(b'"format": 1', b'"format": 2'))
    ran = promptd("gc", "--to", to, check=False)
    assert ran.returncode == 1 and "/promptd/history/b/0000000001 in etcd: the manifest has format 2" in ran.stderr


def test_what_is_wrong_with_the_place_is_said(etcd, tmp_path):
    ws = folder(tmp_path, "a", "one")
    ran = promptd("publish", ws, "--to", "etcd://127.0.0.1:1/promptd", "-m", "No.", check=False)
    assert ran.returncode == 2 and "etcd at 127.0.0.1:1 cannot be reached" in ran.stderr
    ran = promptd("publish", ws, "--to", "http://127.0.0.1:1/promptd", "-m", "No.", check=False)
    assert ran.returncode == 2 and "must be `etcd://HOST:PORT/PREFIX`" in ran.stderr
    ran = promptd("publish", ws, "-m", "No.", check=False, cwd=tmp_path)
    assert ran.returncode == 2 and "nowhere to publish: give --to" in ran.stderr
    ran = promptd("pull", "nope", tmp_path / "nope", "--from", url(etcd), check=False)
    assert ran.returncode == 2 and "nothing was published of nope" in ran.stderr
