"""Review before publishing: what is published through a promptd waits until others have approved it."""

import json
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

import publisher as by_another
from cluster import b64, wait_for
from service import PROMPTD, promptd
from test_publishing import folder, newest

NAMES = ["dana", "kim", "lee", "max", "ida", "pat"]
SECRETS = {name: f"{name}-" * 6 for name in NAMES}
TOKENS = json.dumps({
    "tokens": [{"name": name, "token": SECRETS[name], "publish": ["harbor"] if name == "pat" else ["*"]} for name in NAMES]
})


@pytest.fixture
def reviewed(etcd, serve, tmp_path):
    """Starts servers with tokens that require so many approvals, and gives the arguments of a token at one of them."""
    (tmp_path / "tokens.yaml").write_text(TOKENS)
    for name, secret in SECRETS.items():
        (tmp_path / f"{name}.token").write_text(secret + "\n")

    def start(needed, count=1):
        config = {"auth": {"tokens_file": str(tmp_path / "tokens.yaml")}}
        services = [serve(etcd, settings={"require_approval": needed}, config=config) for _ in range(count)]
        return services, lambda name, at=0: ["--to", services[at].url, "--token-file", tmp_path / f"{name}.token"]

    return start


def proposed(ran):
    """The id of the proposal that a command has made."""
    return re.search(r"proposed as ([0-9a-f]{12});", ran.stdout)[1]


def shows(service, workspace, text):
    headers = {"authorization": f"Bearer {SECRETS['dana']}"}
    status, answer = service.call("PromptService/AssemblePrompt", {"workspaceId": workspace, "turn": {}}, headers)
    return status == 200 and any(text in message["content"] for message in answer["messages"])


def audit(service):
    pattern = r'action="(\w+)" author="(\w+)".* workspaces="([\w,]*)".* proposal="(\w*)".* result="(\w+)"'
    return [re.search(pattern, line).groups() for line in service.audit()]


def test_nothing_is_live_before_so_many_others_have_approved_it(etcd, reviewed, tmp_path):
    [service], to = reviewed(2)
    ws, yard = folder(tmp_path, "harbor", "SECRET one"), folder(tmp_path, "yard", "SECRET two")
    ran = promptd("publish", ws, yard, *to("dana"), "-m", "Both.")
    name = proposed(ran)
    assert ran.stdout == f"harbor, yard: proposed as {name}; 2 others must approve it: `promptd approve harbor {name}`\n"
    assert etcd.count("/promptd/workspaces/") == etcd.count("/promptd/history/") == 0
    listed = promptd("proposals", "yard", *to("kim")).stdout
    assert listed.startswith(f"{name}  2") and listed.endswith("  dana  Both.  [with harbor]  [0 of 2 have approved it]\n"), listed
    # Its author does not count; who may not publish all of it sees nothing of it, and cannot approve it.
    ran = promptd("approve", "harbor", name, *to("dana"), check=False)
    assert ran.returncode == 2 and "the proposal is by dana" in ran.stderr, ran.stderr
    assert promptd("proposals", "harbor", *to("pat")).stdout == "harbor has no open proposal\n"
    for command in ("approve", "reject"):
        ran = promptd(command, "harbor", name, *to("pat"), check=False)
        assert ran.returncode == 2 and "may not publish this workspace" in ran.stderr, ran.stderr
    # Nobody counts twice.
    for _ in range(2):
        assert promptd("approve", "yard", name, *to("kim")).stdout == f"yard: 1 of 2 have approved {name}\n"
    assert promptd("proposals", "harbor", *to("lee")).stdout.endswith("[1 of 2 have approved it: kim]\n")
    assert etcd.count("/promptd/workspaces/") == 0
    ran = promptd("approve", "harbor", name, *to("lee"))
    assert ran.stdout.startswith("harbor: revision 1 (") and "yard: revision 1 (" in ran.stdout, ran.stdout
    wait_for(lambda: shows(service, "harbor", "SECRET one") and shows(service, "yard", "SECRET two"), "served")
    for workspace in ("harbor", "yard"):
        assert (newest(etcd, workspace)["author"], newest(etcd, workspace)["message"]) == ("dana", "Both.")
    assert etcd.count("/promptd/proposals/") == etcd.count("/promptd/proposals-of/") == 0
    ran = promptd("approve", "harbor", name, *to("max"), check=False)
    assert ran.returncode == 2 and f"harbor has no open proposal `{name}`: it was published or rejected" in ran.stderr, ran.stderr
    service.logged('author="max"', 'result="PROPOSAL_NOT_FOUND"')
    lines = audit(service)
    for line in [
        ("publish", "dana", "harbor,yard", name, "proposed"), ("approve", "dana", "harbor", name, "OWN_PROPOSAL"),
        ("approve", "pat", "harbor", name, "PUBLISH_FORBIDDEN"), ("reject", "pat", "harbor", name, "PUBLISH_FORBIDDEN"),
        ("approve", "kim", "harbor,yard", name, "approved"), ("approve", "lee", "harbor", name, "published"),
        ("approve", "max", "harbor", name, "PROPOSAL_NOT_FOUND"),
    ]:
        assert line in lines, (line, lines)
    assert "SECRET" not in service.log()
    # What is published already is not proposed.
    assert "as it was: nothing is published" in promptd("publish", ws, *to("kim"), "-m", "Again.").stdout


def test_a_proposal_is_seen_before_it_is_approved_and_one_that_is_rejected_is_gone(etcd, reviewed, tmp_path):
    [service], to = reviewed(1)
    ws = folder(tmp_path, "harbor", "The tide is low.")
    promptd("approve", "harbor", proposed(promptd("publish", ws, *to("dana"), "-m", "First.")), *to("kim"))
    mine = tmp_path / "mine"
    promptd("pull", "harbor", mine, *to("dana"))
    (mine / "AGENTS.md").write_text("The tide is high.")
    name = proposed(promptd("publish", f"harbor={mine}", *to("dana"), "-m", "Second."))
    ran = promptd("diff", *to("kim"), "harbor", f"harbor@{name}", check=False)
    assert ran.returncode == 1 and "low" in ran.stdout and "high" in ran.stdout, ran.stdout + ran.stderr
    theirs = tmp_path / "theirs"
    ran = promptd("pull", "harbor", theirs, "--revision", name, *to("kim"))
    assert ran.stdout == f"{theirs}: harbor, proposal {name}\n" and (theirs / "AGENTS.md").read_text() == "The tide is high."
    assert promptd("reject", "harbor", name, *to("kim"), "-m", "Too high.").stdout == f"harbor: rejected {name}\n"
    service.logged('note="Too high."')
    assert audit(service)[-1] == ("reject", "kim", "harbor", name, "rejected")
    for command in (["approve", "harbor", name], ["reject", "harbor", name], ["pull", "harbor", tmp_path / "no", "--revision", name]):
        assert promptd(*command, *to("lee"), check=False).returncode == 2
    assert newest(etcd, "harbor")["sequence"] == 1 and etcd.count("/promptd/proposals/") == 0
    # What kim has pulled of it is an edit of what is published: it goes on from there. An author withdraws by the same command.
    (theirs / "AGENTS.md").write_text("The tide is neither.")
    name = proposed(promptd("publish", f"harbor={theirs}", *to("kim"), "-m", "Third."))
    promptd("reject", "harbor", name, *to("kim"))
    for wrong in ("1234567", "zzzzzzzz"):
        ran = promptd("approve", "harbor", wrong, *to("dana"), check=False)
        assert ran.returncode == 1 and "proposal_id" in ran.stderr, ran.stderr
    ran = promptd("proposals", "harbor", "--to", f"etcd://{etcd.nodes[0].address}/promptd", check=False)
    assert ran.returncode == 2 and "a proposal needs a promptd" in ran.stderr


def test_what_was_proposed_on_something_older_is_a_conflict(etcd, reviewed, tmp_path):
    [service], to = reviewed(1)
    ws = folder(tmp_path, "harbor", "one")
    first, second = (proposed(promptd("publish", ws, *to(who), "-m", f"By {who}.")) for who in ("dana", "kim"))
    promptd("approve", "harbor", first, *to("lee"))
    ran = promptd("approve", "harbor", second, *to("lee"), check=False)
    assert ran.returncode == 1 and "harbor: dana has published revision 1 since" in ran.stderr and "By dana." in ran.stderr, ran.stderr
    (ws / "AGENTS.md").write_text("two")
    third = proposed(promptd("publish", ws, *to("dana"), "-m", "Third."))
    # Who holds etcd's credentials needs nobody's approval.
    by_another.publish(etcd, {"harbor": {"AGENTS.md": b"by another"}})
    ran = promptd("approve", "harbor", third, *to("kim"), check=False)
    assert ran.returncode == 1 and "harbor: test has published revision 2 since" in ran.stderr, ran.stderr
    assert newest(etcd, "harbor")["sequence"] == 2
    service.logged('author="kim"', f'proposal="{third}"', 'result="PUBLISHED_SINCE"')
    # What would have errors by now is not published: what it extends is gone.
    base, heir = folder(tmp_path, "base", "the base"), folder(tmp_path, "heir", "the heir")
    (base / "workspace.yaml").write_text("extendable_by: [heir]\n")
    promptd("approve", "base", proposed(promptd("publish", base, *to("dana"), "-m", "Base.")), *to("kim"))
    wait_for(lambda: shows(service, "base", "the base"), "served")
    files = {"AGENTS.md": b"the heir", "workspace.yaml": b"extends: [base]\n"}
    name = propose(service, "heir", files)
    etcd.delete("/promptd/workspaces/base")
    wait_for(lambda: not shows(service, "base", "the base"), "removed")
    ran = promptd("approve", "heir", name, *to("kim"), check=False)
    assert ran.returncode == 1 and "LAYER_UNAVAILABLE" in ran.stderr, ran.stderr
    assert etcd.count("/promptd/history/heir/") == 0


def ask_to_publish(service, workspaces):
    """What dana is answered by the JSON of Connect, without the checks of the command."""
    headers = {"authorization": f"Bearer {SECRETS['dana']}"}
    request = {"workspaces": [], "message": "By a test."}
    for workspace, files in workspaces.items():
        contents = [b64(data) for data in files.values()]
        assert service.call("AdminService/UploadFiles", {"workspaceId": workspace, "contents": contents}, headers)[0] == 200
        entries = [{"path": path, "sha256": by_another.sha256(data), "bytes": len(data)} for path, data in files.items()]
        request["workspaces"].append({"workspaceId": workspace, "files": entries})
    return service.call("AdminService/Publish", request, headers)


def propose(service, workspace, files):
    """The id of a proposal of dana's."""
    status, answer = ask_to_publish(service, {workspace: files})
    assert status == 200 and "workspaces" not in answer, answer
    return answer["proposal"]["proposalId"]


def test_whoever_approves_at_the_same_moment_it_is_published_once(etcd, reviewed, tmp_path):
    services, to = reviewed(2, count=3)
    ws = folder(tmp_path, "harbor", "text 0")
    for round_ in range(1, 9):
        (ws / "AGENTS.md").write_text(f"text {round_}")
        name = proposed(promptd("publish", ws, *to("dana"), "-m", f"Number {round_}."))

        def approve(who):
            index = NAMES.index(who)
            arguments = ["approve", "harbor", name, *to(who, index % 3)]
            return subprocess.run([PROMPTD, *map(str, arguments)], capture_output=True, text=True, timeout=60)

        with ThreadPoolExecutor(4) as pool:
            ran = list(pool.map(approve, ["kim", "lee", "max", "ida"]))
        said = [one.stdout + one.stderr for one in ran]
        assert sum(f"harbor: revision {round_} (" in text for text in said) == 1, said
        assert sum("1 of 2 have approved" in text for text in said) == 1, said
        assert sum("has no open proposal" in text for text in said) == 2, said
        assert newest(etcd, "harbor")["sequence"] == round_ == etcd.count("/promptd/history/harbor/")
    for service in services:
        wait_for(lambda: shows(service, "harbor", "text 8"), "served")

    def results():
        return [line[4] for service in services for line in audit(service)]

    # In each round one proposes, and four try to approve it.
    wait_for(lambda: len(results()) == 8 * 5, "logged")
    assert results().count("published") == 8


def test_what_takes_effect_needs_approval_and_what_takes_it_away_does_not(etcd, reviewed, tmp_path):
    [service], to = reviewed(1)
    ws = folder(tmp_path, "harbor", "stable")
    promptd("approve", "harbor", proposed(promptd("publish", ws, *to("dana"), "-m", "First.")), *to("kim"))

    def side():
        ask = {"workspaceId": "harbor", "turn": {"user": {"id": "1"}}}
        return service.call("PromptService/AssemblePrompt", ask, {"authorization": f"Bearer {SECRETS['dana']}"})[1].get("canarySide")

    def begin(text):
        (ws / "AGENTS.md").write_text(text)
        name = proposed(promptd("publish", ws, *to("dana"), "-m", "Tried.", "--canary", "100%", "--by", "user.id"))
        assert "[canary: 100% by user.id]" in promptd("proposals", "harbor", *to("kim")).stdout
        assert side() is None and etcd.count("/promptd/workspaces-canary/") == 0
        assert promptd("approve", "harbor", name, *to("kim")).stdout.startswith("harbor: revision ")
        wait_for(lambda: side() == "CANARY_SIDE_CANDIDATE", "tried")

    begin("tried")
    promotion = proposed(promptd("promote", "harbor", *to("dana"), "-m", "All is well."))
    assert "All is well.  [promotes the canary]" in promptd("proposals", "harbor", *to("kim")).stdout
    assert promptd("abort", "harbor", *to("dana")).stdout.startswith("harbor: revision 3 (")
    wait_for(lambda: side() is None, "aborted")
    ran = promptd("approve", "harbor", promotion, *to("kim"), check=False)
    assert ran.returncode == 1 and "harbor: no canary runs" in ran.stderr, ran.stderr
    begin("tried again")
    # That of another canary promotes nothing of this one.
    ran = promptd("approve", "harbor", promotion, *to("kim"), check=False)
    assert ran.returncode == 1 and "someone else has ended the canary" in ran.stderr, ran.stderr
    promptd("reject", "harbor", promotion, *to("kim"))
    promotion = proposed(promptd("promote", "harbor", *to("dana")))
    assert promptd("approve", "harbor", promotion, *to("kim")).stdout.startswith("harbor: revision 5 (")
    wait_for(lambda: shows(service, "harbor", "tried again") and side() is None, "promoted")
    back = proposed(promptd("rollback", "harbor", "1", *to("dana")))
    assert newest(etcd, "harbor")["sequence"] == 5
    promptd("approve", "harbor", back, *to("kim"))
    wait_for(lambda: shows(service, "harbor", "stable"), "back")
    assert (newest(etcd, "harbor")["message"], newest(etcd, "harbor")["author"]) == ("Back to revision 1.", "dana")


def age(etcd, proposal):
    """As if it were of last year."""
    key = f"/promptd/proposals/{proposal}"
    etcd.put(key, json.dumps({**json.loads(etcd.get(key)), "time": "2026-01-01T00:00:00Z"}))


def test_proposals_are_bounded_and_gc_spares_what_the_open_ones_name(etcd, reviewed, tmp_path):
    [service], to = reviewed(1)
    direct = f"etcd://{etcd.nodes[0].address}/promptd"
    ids = [propose(service, "harbor", {"AGENTS.md": f"text {number}".encode()}) for number in range(16)]
    assert len(promptd("proposals", "harbor", *to("kim")).stdout.splitlines()) == 16
    ws = folder(tmp_path, "harbor", "one more")
    ran = promptd("publish", ws, *to("dana"), "-m", "More.", check=False)
    assert ran.returncode == 2 and "RESOURCE_EXHAUSTED: harbor has 16 open proposals, which is the most" in ran.stderr, ran.stderr
    service.logged('result="TOO_MANY_PROPOSALS"')
    # Those that have expired make room, and are neither seen nor approved.
    age(etcd, ids[0])
    age(etcd, ids[1])
    ran = promptd("approve", "harbor", ids[0], *to("kim"), check=False)
    assert ran.returncode == 2 and "or has expired" in ran.stderr, ran.stderr
    assert len(promptd("proposals", "harbor", *to("kim")).stdout.splitlines()) == 14
    newest_one = proposed(promptd("publish", ws, *to("dana"), "-m", "More."))
    assert etcd.count("/promptd/proposals/") == etcd.count("/promptd/proposals-of/harbor/") == 15
    # All files are old for gc once a state is that was published behind them.
    by_another.publish(etcd, {"yard": {"AGENTS.md": b"yard"}})
    key = "/promptd/history/yard/0000000001"
    etcd.put(key, json.dumps({**json.loads(etcd.get(key)), "time": "2026-01-01T00:00:00Z"}))
    age(etcd, ids[2])
    assert promptd("gc", "--to", direct).stdout == "removed: 0 revisions, 3 files, 1 proposal\n"
    promptd("approve", "harbor", newest_one, *to("kim"))
    wait_for(lambda: shows(service, "harbor", "one more"), "served")
    # All others are of what is no longer the newest.
    assert promptd("approve", "harbor", ids[3], *to("kim"), check=False).returncode == 1
    assert etcd.count("/promptd/proposals/") == etcd.count("/promptd/proposals-of/harbor/") == 13


def test_so_many_workspaces_are_proposed_together_as_one_transaction_publishes(etcd, reviewed):
    [service], to = reviewed(1)
    files = {f"w{number}": {"AGENTS.md": b"text"} for number in range(43)}
    status, answer = ask_to_publish(service, files)
    assert status == 400 and "43 workspaces cannot be proposed together: etcd takes 42" in answer["message"], answer
    assert etcd.count("/promptd/proposals/") == 0
    del files["w42"]
    status, answer = ask_to_publish(service, files)
    assert status == 200, answer
    ran = promptd("approve", "w7", answer["proposal"]["proposalId"], *to("kim"))
    assert len(ran.stdout.splitlines()) == 42 == etcd.count("/promptd/workspaces/"), ran.stdout
    assert etcd.count("/promptd/proposals/") == etcd.count("/promptd/proposals-of/w7/") == 0


def test_without_tokens_nobody_else_could_approve(etcd, tmp_path):
    config = {"workspaces": {"etcd": {"endpoints": [etcd.nodes[0].address], "require_approval": 1}}}
    (tmp_path / "promptd.yaml").write_text(json.dumps(config))
    ran = promptd("serve", "--config", tmp_path / "promptd.yaml", "--listen", "127.0.0.1:0", check=False)
    assert ran.returncode == 1 and "`workspaces.etcd.require_approval` needs tokens" in ran.stderr, ran.stderr
