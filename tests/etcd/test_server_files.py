"""The server's own files, profiles and tokens, published in etcd."""

import pytest

from cluster import wait_for
from service import promptd
from test_publishing import folder

TOKEN = "first-first-first-first"
PROFILE = """name: tone
extends: five-layer
description: Says how to answer.
"""


def bundle(home, token=TOKEN, profile=PROFILE):
    """A folder of the server's own files."""
    files = home / "fleet-files"
    (files / "profiles").mkdir(parents=True, exist_ok=True)
    (files / "tokens.yaml").write_text(f"tokens:\n  - {{name: dana, token: {token}}}\n")
    (files / "profiles/tone.yaml").write_text(profile)
    return files


def status_of(service, token):
    body = {"workspaceId": "harbor", "turn": {}, "profile": "tone"}
    return service.call("PromptService/AssemblePrompt", body, {"authorization": f"Bearer {token}"})[0]


@pytest.fixture
def fleet(etcd, tmp_path):
    """Where to publish, and the settings of a server that takes its profiles and tokens from there."""
    to = f"etcd://{etcd.nodes[0].address}/promptd"
    promptd("publish", folder(tmp_path, "harbor", "one"), "--to", to, "-m", "First.")
    current = tmp_path / "server-files" / "current"
    return to, {
        "settings": {"files": {"id": "fleet-files", "dir": str(current.parent)}},
        "config": {"profiles": str(current / "profiles"), "auth": {"tokens_file": str(current / "tokens.yaml")}},
    }


def publish(files, to, message):
    promptd("publish", files, "--to", to, "-m", message)


def test_profiles_and_tokens_are_taken_from_etcd_and_replaced_together(etcd, serve, tmp_path, fleet):
    to, options = fleet
    publish(bundle(tmp_path), to, "Profiles and tokens.")
    service = serve(etcd, **options)
    assert status_of(service, TOKEN) == 200 and status_of(service, "other-other-other-other") == 401
    publish(bundle(tmp_path, "later-later-later-later"), to, "A new token.")
    wait_for(lambda: status_of(service, "later-later-later-later") == 200, "the new token is known")
    wait_for(lambda: status_of(service, TOKEN) == 401, "the old one is not")
    # They are not served as a workspace.
    headers = {"authorization": "Bearer later-later-later-later"}
    listed = service.call("WorkspaceService/ListWorkspaces", {}, headers)[1]["workspaces"]
    assert [one["id"] for one in listed] == ["harbor"]
    # Neither can be read by others on the machine.
    assert (tmp_path / "server-files").stat().st_mode & 0o777 == 0o700


def test_what_is_wrong_changes_nothing_and_is_said(etcd, serve, tmp_path, fleet):
    to, options = fleet
    publish(bundle(tmp_path), to, "Good.")
    service = serve(etcd, **options)
    publish(bundle(tmp_path, "short"), to, "A token that is too short.")
    service.logged("the last good version stays in use")
    assert status_of(service, TOKEN) == 200
    assert 'promptd_server_file_invalid{file="tokens"} 1' in service.get("/metrics")[1]
    promptd("rollback", "fleet-files", "1", "--to", to)
    wait_for(lambda: 'promptd_server_file_invalid{file="tokens"} 0' in service.get("/metrics")[1], "it is good again")
    assert status_of(service, TOKEN) == 200


def test_files_that_cannot_be_written_are_written_once_they_can_be(etcd, serve, tmp_path, fleet):
    to, options = fleet
    publish(bundle(tmp_path), to, "Good.")
    service = serve(etcd, **options)
    # A folder where the service writes each file at first.
    in_the_way = tmp_path / "server-files" / ".unfinished"
    in_the_way.mkdir()
    publish(bundle(tmp_path, "later-later-later-later"), to, "A new token.")
    service.logged("the server's files of etcd cannot be written")
    assert status_of(service, TOKEN) == 200
    in_the_way.rmdir()
    wait_for(lambda: status_of(service, TOKEN) == 401, "the old token is gone")


def test_a_start_without_etcd_uses_those_of_the_last_run(etcd, serve, tmp_path, fleet):
    to, options = fleet
    publish(bundle(tmp_path), to, "Good.")
    options["settings"]["cache"] = {"dir": str(tmp_path / "cache")}
    service = serve(etcd, **options)
    assert status_of(service, TOKEN) == 200
    service.stop()
    etcd.stop()
    service.start()
    assert status_of(service, TOKEN) == 200


def test_a_first_start_needs_them(etcd, serve, tmp_path, fleet):
    _, options = fleet
    with pytest.raises(AssertionError, match="the server's files `fleet-files` are not here"):
        serve(etcd, **options)


def test_through_a_promptd_they_can_be_neither_published_nor_read(etcd, serve, tmp_path, fleet):
    to, options = fleet
    files = bundle(tmp_path)
    (files / "tokens.yaml").write_text(f"tokens:\n  - {{name: dana, token: {TOKEN}, publish: ['*']}}\n")
    publish(files, to, "A token that may publish everything.")
    service = serve(etcd, **options)
    (tmp_path / "dana.token").write_text(TOKEN)
    through = ["--to", service.url, "--token-file", tmp_path / "dana.token"]
    (files / "tokens.yaml").write_text("tokens: []\n")
    for command in (
        ["publish", files, "-m", "Mine."], ["pull", "fleet-files", tmp_path / "pulled"], ["history", "fleet-files"],
        ["rollback", "fleet-files", "1"], ["publish", files, "-m", "Mine.", "--canary", "10%", "--by", "user.id"],
    ):
        ran = promptd(*command, *through, check=False)
        assert ran.returncode == 2 and "the server's own files" in ran.stderr, (command, ran.stderr)
    assert "First." in promptd("history", "harbor", *through).stdout
