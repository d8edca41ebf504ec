"""What a client is told of, and of nothing else: over HTTP at 2026-07-28, and on standard input and output at both revisions."""

import contextlib

import pytest
from peers import pipe
from server import EXAMPLE, Server
from wire import LEGACY, MODERN, Http, file_uri, skill_uri

UPDATED, LISTS_CHANGED = "notifications/resources/updated", "notifications/resources/list_changed"
# Edited last, so that what was told before is complete.
LAST = file_uri("example", "IDENTITY.md")


SETTINGS = ["http-modern", "stdio-modern", "stdio-legacy"]


@pytest.fixture(params=SETTINGS)
def setting(request):
    transport, _, era = request.param.partition("-")
    revision = MODERN if era == "modern" else LEGACY
    other = {"AGENTS.md": "# Another harbour\n"}
    with Server({"example": EXAMPLE, "other": other}) as server, contextlib.ExitStack() as stack:
        if transport == "http":
            yield server, Http(server.url("example"), revision)
        else:
            yield server, stack.enter_context(pipe(server, "example", revision))


def everything(caller):
    """The addresses of all that the client can read."""
    uris = {resource["uri"] for resource in caller.pages("resources/list", "resources")}
    return uris | {file["uri"] for skill in caller.pages("skills/list", "skills") for file in skill["resources"]}


def told_of(events, folder, edit):
    """The addresses that an edit is told with; the last file is edited twice, as what belongs to the edit may come after its first."""
    before = len(events.seen)
    edit()
    for number in range(2):
        with open(folder / "IDENTITY.md", "a", encoding="utf-8") as file:
            file.write(f"{number}\n")
        events.until(UPDATED, LAST)
    return {message["params"]["uri"] for message in events.seen[before:] if message["method"] == UPDATED} - {LAST}


def test_of_a_file_that_changed(setting):
    server, caller = setting
    folder = server.workspace("example")
    edits = {
        file_uri("example", "SOUL.md"): "SOUL.md",
        file_uri("example", "docs/RUNBOOK.md"): "docs/RUNBOOK.md",
        skill_uri("example", "tide-window"): "skills/tide-window/SKILL.md",
        skill_uri("example", "storm-watch", "references/checklist.md"): "skills/storm-watch/references/checklist.md",
    }
    with caller.listen(resourceSubscriptions=sorted(everything(caller)), resourcesListChanged=True) as events:
        for uri, path in edits.items():

            def edit(path=path):
                with open(folder / path, "a", encoding="utf-8") as file:
                    file.write("One more line.\n")

            assert told_of(events, folder, edit) == {uri}
        assert told_of(events, folder, (folder / "skills/radio-log/assets/entry.txt").unlink) == {
            skill_uri("example", "radio-log", "assets/entry.txt")
        }
        # What nobody reads, and another workspace.
        assert told_of(events, folder, lambda: (folder / "notes/new.txt").write_text("x", encoding="utf-8")) == set()
        assert (
            told_of(events, folder, lambda: (server.workspace("other") / "AGENTS.md").write_text("x", encoding="utf-8")) == set()
        )


def test_of_what_the_manifest_hides(setting):
    """It decides what can be read; what it leaves alone is not told of."""
    server, caller = setting
    folder = server.workspace("example")
    uris = everything(caller)
    manifest = folder / "workspace.yaml"
    text = manifest.read_text(encoding="utf-8")
    hides = text.replace('"internal-*"', '"internal-*", "tide-*"')
    hidden = {uri for uri in uris if uri.startswith("skill://example/tide-window/")}
    with caller.listen(resourceSubscriptions=sorted(uris), resourcesListChanged=True) as events:
        for written, readable in ((hides, uris - hidden), (text, uris)):
            assert told_of(events, folder, lambda written=written: manifest.write_text(written, encoding="utf-8")) == hidden
            assert everything(caller) == readable


def test_of_lists_when_a_skill_comes_and_goes(setting):
    server, caller = setting
    folder = server.workspace("example")
    skill = folder / "skills/new-skill"
    with caller.listen(resourceSubscriptions=[LAST], resourcesListChanged=True) as events:
        before = everything(caller)
        skill.mkdir()
        (skill / "SKILL.md").write_text("---\nname: new-skill\ndescription: Is new.\n---\n", encoding="utf-8")
        events.until(LISTS_CHANGED)
        assert everything(caller) - before == {skill_uri("example", "new-skill")}
        (skill / "SKILL.md").unlink()
        events.until(LISTS_CHANGED)
        assert everything(caller) == before


# The revision 2025-11-25 cannot choose.
@pytest.mark.parametrize("setting", SETTINGS[:2], indirect=True)
def test_of_what_was_asked_for_alone(setting):
    server, caller = setting
    folder = server.workspace("example")
    soul = file_uri("example", "SOUL.md")
    with caller.listen(resourceSubscriptions=[LAST]) as events:
        assert events.opened["params"]["notifications"] == {"resourceSubscriptions": [LAST]}
        assert told_of(events, folder, lambda: (folder / "SOUL.md").write_text("x", encoding="utf-8")) == set()
        assert {message["method"] for message in events.seen} <= {UPDATED, "notifications/subscriptions/acknowledged"}
        # Two at once, each with its own.
        if isinstance(caller, Http):
            with caller.listen(resourceSubscriptions=[soul]) as others:
                (folder / "SOUL.md").write_text("y", encoding="utf-8")
                others.until(UPDATED, soul)
                assert LAST not in {message["params"].get("uri") for message in others.seen}


def test_of_an_edit_between_two_reads(setting):
    """Every one of many saves ends in a read that shows it."""
    server, caller = setting
    rules, uri = server.workspace("example") / "AGENTS.md", file_uri("example", "AGENTS.md")
    with caller.listen(resourceSubscriptions=[uri]) as events:
        for number in range(30):
            text = f"# Rules {number}\n"
            rules.write_text(text, encoding="utf-8")
            # A save may be loaded half-way, and then once more.
            while events.until(UPDATED, uri) and caller.read(uri)["text"] != text:
                pass
