"""What a blocklist, a lock, `skip_context_files` or a token hides is in no answer and no notification, whatever is asked for.

The workspaces are random; PROMPTD_MCP_SEED and PROMPTD_MCP_WORLDS choose others. Also: whether something hidden exists cannot be
told from the answer, an address has one spelling, and no path of the host is shown unless prompts may show paths.
"""

import contextlib
import json
import os

import pytest
from asking import Asking
from peers import pipe
from server import Server
from wire import INVALID_PARAMS, LEGACY, MODERN, REVISIONS, Http, file_uri
from worlds import EVERYONE, HOME, MARK, VIEWS, World, mangled

SEED = int(os.environ.get("PROMPTD_MCP_SEED", "1"))
WORLDS = int(os.environ.get("PROMPTD_MCP_WORLDS", "4"))
TOKENS = {view: f"token-of-{view}-0123456789" for view in VIEWS}
# Mangled spellings of so many addresses a view.
MANGLED = 6
PROFILES = ["five-layer", "kai-local", "kai-remote", "kai-heartbeat", "lucidpal", "airi", "kern", "cache-first", "nobody"]
# The code for a resource that there is not.
MISSING = {MODERN: {INVALID_PARAMS}, LEGACY: {INVALID_PARAMS, -32002}}
# What an argument of each name may say.
ARGUMENTS = {
    "turn.heartbeat": "true",
    "turn.skip_context_files": "false",
    "turn.now": "2026-02-27T09:30:00Z",
    "turn.working_directory": "docs",
}


@pytest.mark.parametrize("seed", range(SEED, SEED + WORLDS))
def test_nothing_hidden_is_told(seed):
    world = World(seed)
    tokens = [{"name": view, "token": TOKENS[view]} | admits for view, admits in VIEWS.items()]
    with Server(world.workspaces, tokens, world.files, **world.settings) as server:
        for skill in list(server.workspace(HOME).rglob("SKILL.md")):
            (skill.parent / "link.txt").symlink_to(server.path / "outside.txt")
        (server.workspace(HOME) / "docs/LINK.md").symlink_to(server.path / "outside.txt")
        config = server.path / "stdio.yaml"
        config.write_text(json.dumps(world.settings), encoding="utf-8")
        with contextlib.ExitStack() as stack:
            asking = [
                Asking(world, view, Http(server.url(HOME), revision, token), str(server.path))
                for view, token in TOKENS.items()
                for revision in REVISIONS
            ]
            for revision in REVISIONS:
                caller = stack.enter_context(pipe(server, HOME, revision, "--config", config))
                asking.append(Asking(world, "whole", caller, str(server.path)))
            for one in asking:
                ask_everything(one)
            for one in asking:
                changes_are_not_told(one, server)
            faults = {}
            for kind, text in (fault for one in asking for fault in one.faults):
                faults.setdefault(kind, []).append(text)
            shown = [f"{kind}, {len(texts)} times:\n" + "\n".join(texts[:5]) for kind, texts in faults.items()]
            assert not faults, "\n".join(shown)


def ask_everything(one):
    world = one.world
    one.ask("server/discover" if one.caller.revision == MODERN else "ping")
    one.ask("tools/list")
    one.ask("tools/call", {"name": "findings", "arguments": {}})
    listed = {resource["uri"] for resource in one.pages("resources/list", "resources")}
    skills = one.pages("skills/list", "skills")
    listed |= {file["uri"] for skill in skills for file in skill["resources"]}
    one.pages("resources/templates/list", "resourceTemplates")
    prompts = one.pages("prompts/list", "prompts")
    for method in ("completion/complete", "logging/setLevel", "sessions/list", "tasks/list", "roots/list"):
        one.ask(method, {"ref": {"type": "ref/prompt", "name": "five-layer"}, "argument": {"name": "x", "value": "zq"}})

    shown = {address.uri for address in world.addresses if one.view not in address.hidden_from}
    hidden = {address.uri for address in world.addresses} - shown
    one.check(not listed & hidden, "listed", listed & hidden)
    unlisted = {uri for uri in shown if uri.endswith("/SKILL.md")} - listed
    one.check(not unlisted, "not listed", unlisted)
    for address in world.addresses:
        ask_about(one, address)
    for address in one.world.random.sample(world.addresses, MANGLED):
        for uri in sorted(mangled(address.uri) - shown):
            one.check(one.ask("resources/read", {"uri": uri}).error["code"] in MISSING[one.caller.revision], "mangled", uri)
            one.ask("skills/get", {"uri": uri})
            one.ask("resources/directory/read", {"uri": uri})

    offered = {prompt["name"]: prompt["arguments"] for prompt in prompts}
    for profile in {*PROFILES, *offered}:
        ask_for_prompts(one, profile, offered.get(profile))
    for locked in world.locked:
        for argument in arguments_under(locked):
            one.check(argument not in {offer["name"] for offers in offered.values() for offer in offers}, "offers", argument)
            answer = one.ask("prompts/get", {"name": "five-layer", "arguments": {argument: "UTC"}})
            one.check(answer.failed, "not locked", argument, answer.text)
    one.check(list(offered) == ["five-layer"] or not world.locks_profile, "offers", list(offered))


def arguments_under(lock):
    fields = {
        "persona": ["persona"],
        "ephemeral": ["ephemeral_system_prompt"],
        "agent": ["agent.name", "agent.id"],
        "time_zone": ["time_zone"],
        "working_directory": ["working_directory"],
    }
    return [f"turn.{field}" for field in fields.get(lock, [])]


def ask_about(one, address):
    hidden = one.view in address.hidden_from
    ask = one.refused if hidden else one.ask
    for method in ("resources/read", "skills/get", "resources/directory/read", "resources/templates/read"):
        ask(method, {"uri": address.uri})
    read = one.ask("resources/read", {"uri": address.uri})
    one.check(read.failed == (hidden or address.is_folder), "read", address, read.text)
    if address.skill:
        arguments = {"name": address.skill} | ({"file": address.file} if address.file else {})
        ask("tools/call", {"name": "read_skill", "arguments": arguments})
        for path in (
            f"../{address.skill}/SKILL.md",
            f"./../../{address.file}",
            f"{address.file}/.",
            "../../workspace.yaml",
            "/etc/passwd",
        ):
            answer = one.ask("tools/call", {"name": "read_skill", "arguments": {"name": address.skill, "file": path}})
            one.check(answer.failed or answer.result["isError"], "read by the tool", address, path, answer.text)
    if one.caller.revision == LEGACY:
        for method in ("resources/subscribe", "resources/unsubscribe"):
            one.ask(method, {"uri": address.uri})


def ask_for_prompts(one, profile, offered):
    required = {argument["name"]: "[]" for argument in offered or [] if argument.get("required")}
    answer = one.ask("prompts/get", {"name": profile, "arguments": required})
    one.check(answer.failed == (offered is None), "offered or not", profile, answer.text)
    for argument in offered or []:
        name = argument["name"]
        one.ask("prompts/get", {"name": profile, "arguments": required | {name: ARGUMENTS.get(name, "x")}})


def changes_are_not_told(one, server):
    """Everything hidden is edited, then a file that is shown; what is told about ends there."""
    if isinstance(one.caller, Http) and one.caller.revision == LEGACY:
        return
    world, sentinel = one.world, file_uri(HOME, "HEARTBEAT.md")
    uris = [address.uri for address in world.addresses]
    twins = {uri: world.twin(uri, one.view) for uri in uris}
    lists = {"resourcesListChanged": True, "promptsListChanged": True, "toolsListChanged": True}
    with one.caller.listen(resourceSubscriptions=sorted({*uris, *twins.values()}), **lists) as events:
        opened = one.caller.revision == MODERN and events.opened["params"]["notifications"].get("resourceSubscriptions")
        before = len(events.seen)
        for folder, files in ((server.workspace(HOME), world.home), (server.path, world.files)):
            for path, text in files.items():
                if path != "workspace.yaml" and set(MARK.findall(path + text)) <= one.hidden:
                    with open(folder / path, "a", encoding="utf-8") as file:
                        file.write("\nmore\n")
        # Twice: what belongs to the revision of the first may come after it.
        for _ in range(2):
            with open(server.workspace(HOME) / "HEARTBEAT.md", "a", encoding="utf-8") as file:
                file.write("more\n")
            events.until("notifications/resources/updated", sentinel)
    told = {message.get("params", {}).get("uri") for message in events.seen[before:]}
    for message in events.seen[before:]:
        one.search(json.dumps(message), set(MARK.findall(json.dumps(uris))), message["method"])
    # Of what is hidden, and of what does not exist, a subscription tells the same.
    for uri, twin in twins.items():
        one.check((uri in told) == (twin in told), "told of a change", uri)
        one.check(not opened or (uri in opened) == (twin in opened), "accepts", uri)


def test_a_cursor_names_nothing_hidden():
    """Where a page would end with a skill that is hidden."""
    world = World(SEED)
    names = [
        f"s{number:03}-{'blk' if number % 2 else 'pub'}-{world.mark(EVERYONE if number % 2 else ())}" for number in range(400)
    ]
    files = {f"skills/{name}/SKILL.md": f"---\nname: {name}\ndescription: Does it.\n---\n" for name in names}
    files["workspace.yaml"] = 'skills: {blocklist: ["*-blk-*"]}'
    with Server({HOME: files}) as server:
        for revision in REVISIONS:
            one = Asking(world, "whole", Http(server.url(HOME), revision), str(server.path))
            skills = one.pages("skills/list", "skills")
            assert [skill["frontmatter"]["name"] for skill in skills] == names[::2]
            listed = one.pages("resources/list", "resources")
            assert [resource["name"] for resource in listed] == names[::2]
            assert not one.faults, one.faults[:3]
