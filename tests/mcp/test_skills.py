"""Every skill: what is listed against the files on the disk, by digest, size and front matter; folders; pages."""

import base64
import hashlib
import json
import subprocess
from pathlib import Path

import pytest
from peers import PEERS, each_peer
from server import EXAMPLE
from wire import INVALID_PARAMS, MODERN, skill_uri

MAX_FILE_BYTES = 1 << 20
# The extension's rule for hosts and servers.
CACHED = {"ttlMs", "cacheScope", "resultType"}


def skill(front_matter, body="# How\n\nDo it.\n"):
    return f"---\n{front_matter}\n---\n{body}"


def plain(name):
    return skill(f"name: {name}\ndescription: Does {name}.")


# Values that readers of YAML disagree about.
SCALARS = """\
name: scalars
description: >-
  Folded
  over lines.
words: [yes, no, on, off, y, n, true, false, True, FALSE, ~, null, Null]
dates: [2026-01-01, 2026-01-01T10:00:00Z, 12:30:45]
numbers: [0, -7, 1.10, 1e3, 1E-3, .5, 0o14, 0x1F, 014, 1_000, +3, 9007199254740993, 12345678901234567890]
texts: ["a\\tb\\u00e9\\x41", 'it''s', plain text # not this
  , "#this", "  kept  "]
literal: |
  first

    indented
  last
kept: |+
  line

folded: >
  one
  two

  three
nested: {a: {b: {c: [1, [2, [3, {d: null}]]]}}, empty: {}, none: []}
anchors: &one {x: 1}
again: *one
"quoted key": 1
"\\u00e9": é
emoji: "🙂"
1: a number as the key
metadata:
  version: "1.0"
  owner: Tomasz"""
MERGE = "name: merge\ndescription: Merges.\nbase: &base {a: 1}\nmore: {<<: *base, b: 2}"

CONTENTS = {
    "skills/scalars/SKILL.md": skill(SCALARS),
    "skills/merge/SKILL.md": skill(MERGE),
    "skills/crlf/SKILL.md": skill("name: crlf\ndescription: Has other line ends.\ntext: |\n  a\n  b").replace("\n", "\r\n"),
    "skills/bom/SKILL.md": "\ufeff" + plain("bom"),
    "skills/no-body/SKILL.md": skill("name: no-body\ndescription: Ends with its front matter.", ""),
    "skills/a/SKILL.md": plain("a"),
    f"skills/{'n' * 64}/SKILL.md": plain("n" * 64),
    # promptd repairs it.
    "skills/colon/SKILL.md": skill("name: colon\ndescription: Use when: it has a colon."),
    "skills/group/deeper/nested/SKILL.md": plain("nested"),
    "skills/files/SKILL.md": plain("files"),
    "skills/files/binary.bin": bytes(range(256)) * 100,
    "skills/files/nul.txt": b"a\0b",
    "skills/files/latin.txt": "é".encode("latin-1"),
    "skills/files/empty": b"",
    "skills/files/bom.txt": "\ufeffmarked".encode(),
    "skills/files/lines.txt": b"a\r\nb\rc\n",
    "skills/files/with space/a b#c?d%20e.md": "strange",
    "skills/files/ümläut/日本語.txt": "text",
    "skills/files/[a]{b}^`|<>\"'.txt": "signs",
    "skills/files/a&b=c;d+e,f@g:h$i!j*(k)~_.-": "signs",
    "skills/files/one/two/three/four.txt": "deep",
    "skills/files/largest.txt": b"x" * MAX_FILE_BYTES,
    "skills/files/references/SKILL.md": plain("inner"),
}
# Skills that prompts show, and the extension has no name for.
UNNAMED = {
    "skills/Upper/SKILL.md": plain("Upper"),
    "skills/dou--ble/SKILL.md": plain("dou--ble"),
    "skills/ünï/SKILL.md": plain("ünï"),
    "skills/under_score/SKILL.md": plain("under_score"),
    f"skills/{'m' * 65}/SKILL.md": plain("m" * 65),
}
TOO_LARGE = {"skills/files/large.bin": b"x" * (MAX_FILE_BYTES + 1)}
# Not part of a skill.
LEFT_OUT = {
    "skills/files/.hidden": "hidden",
    "skills/files/node_modules/x.js": "x",
    "skills/no-description/SKILL.md": skill("name: no-description"),
    "skills/hidden/SKILL.md": skill("name: hidden\ndescription: x\nhidden: true"),
    "skills/blocked/SKILL.md": plain("blocked"),
    "workspace.yaml": "skills: {blocklist: [blocked]}\n",
}
MANY = {f"skills/s{number:03}/SKILL.md": plain(f"s{number:03}") for number in range(250)}


def expected(workspace, files):
    """By the address of a skill, its files by theirs."""
    skills = {}
    folders = {path.removesuffix("/SKILL.md"): path.split("/")[-2] for path in files if path.endswith("/SKILL.md")}
    folders = {folder: name for folder, name in folders.items() if not any(folder.startswith(other + "/") for other in folders)}
    for path, content in files.items():
        folder = next((folder for folder in folders if path.startswith(folder + "/")), None)
        if folder is not None:
            name = folders[folder]
            uri = skill_uri(workspace, name, path.removeprefix(folder + "/"))
            content = content.encode() if isinstance(content, str) else content
            skills.setdefault(skill_uri(workspace, name), {})[uri] = content
    return skills


def on_disk(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


EXAMPLES_FILES = {path: content for path, content in on_disk(EXAMPLE).items() if "internal" not in path}


@pytest.fixture(scope="module", params=["example", "contents", "many"])
def shown(request):
    """A workspace's id, the files that its skills should have, and a caller of each kind."""
    workspace = request.param
    files = {"example": EXAMPLES_FILES, "contents": CONTENTS, "many": MANY}[workspace]
    source = {"example": EXAMPLE, "contents": CONTENTS | UNNAMED | TOO_LARGE | LEFT_OUT, "many": MANY}[workspace]
    with each_peer({workspace: source, "other": {"AGENTS.md": "# Other\n"}}, workspace) as (_, callers):
        yield workspace, expected(workspace, files), callers


def bytes_of(content):
    return content["text"].encode() if "text" in content else base64.b64decode(content["blob"], validate=True)


@pytest.mark.parametrize("peer", PEERS, ids="-".join)
def test_digests_and_sizes_are_those_of_the_bytes(shown, peer):
    workspace, skills, callers = shown
    caller = callers[peer]
    listed = {entry["uri"]: entry for entry in caller.pages("skills/list", "skills")}
    assert set(listed) == set(skills)
    for uri, files in skills.items():
        entry = listed[uri]
        resources = {resource["uri"]: resource for resource in entry["resources"]}
        assert list(resources) == [resource["uri"] for resource in entry["resources"]], uri
        assert set(resources) == set(files), uri
        for file, content in files.items():
            digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
            assert resources[file] == {"uri": file, "digest": digest, "size": len(content)}
            if workspace != "many" or file == min(files):
                read = caller.read(file)
                assert read["uri"] == file and bytes_of(read) == content, file
        assert caller.read(uri)["mimeType"] == "text/markdown" and "text" in caller.read(uri)


@pytest.mark.parametrize("peer", PEERS, ids="-".join)
def test_a_skill_is_got_as_it_is_listed(shown, peer):
    _, _, callers = shown
    caller = callers[peer]
    for entry in caller.pages("skills/list", "skills"):
        result = caller.result("skills/get", {"uri": entry["uri"]})
        assert result["skill"] == entry
        assert set(result) - CACHED <= {"skill", "_meta"}


@pytest.mark.parametrize("peer", PEERS, ids="-".join)
def test_front_matter_is_what_clients_read(shown, peer):
    _, skills, callers = shown
    caller = callers[peer]
    entries = {entry["uri"]: entry["frontmatter"] for entry in caller.pages("skills/list", "skills")}
    texts = {uri: {"text": skills[uri][uri].decode(), "frontmatter": read} for uri, read in entries.items()}
    script = Path(__file__).with_name("frontmatter.mjs")
    said = subprocess.run(["node", script], input=json.dumps(texts), capture_output=True, text=True, check=True)
    assert json.loads(said.stdout) == {}


@pytest.mark.parametrize("peer", PEERS, ids="-".join)
def test_folders_have_what_skills_list(shown, peer):
    _, skills, callers = shown
    caller = callers[peer]

    def walk(folder):
        found = set()
        for child in caller.pages("resources/directory/read", "resources", {"uri": folder}):
            below = child["uri"].removeprefix(folder + "/")
            assert below != child["uri"] and "/" not in below, f"{child['uri']} is not right in {folder}"
            if child.get("mimeType") == "inode/directory":
                found |= walk(child["uri"])
            else:
                assert child["uri"] not in found
                found.add(child["uri"])
        return found

    for uri, files in list(skills.items())[:20]:
        folder = uri.removesuffix("/SKILL.md")
        assert walk(folder) == set(files)
        for file in files:
            assert caller.call("resources/directory/read", {"uri": file}).error["code"] == INVALID_PARAMS


@pytest.mark.parametrize("peer", PEERS, ids="-".join)
def test_skills_are_resources_too(shown, peer):
    _, skills, callers = shown
    caller = callers[peer]
    resources = caller.pages("resources/list", "resources")
    uris = [resource["uri"] for resource in resources]
    assert len(set(uris)) == len(uris)
    entries = {entry["uri"]: entry["frontmatter"] for entry in caller.pages("skills/list", "skills")}
    listed = {resource["uri"]: resource for resource in resources if resource["uri"] in skills}
    assert set(listed) == set(skills)
    for uri, resource in listed.items():
        assert resource["name"] == entries[uri]["name"] and resource["mimeType"] == "text/markdown"
        assert resource["description"] == entries[uri]["description"]
    for resource in resources:
        if "size" in resource:
            assert len(bytes_of(caller.read(resource["uri"]))) == resource["size"], resource


def test_all_clients_are_told_the_same(shown):
    workspace, skills, callers = shown
    asked = [
        ("tools/list", {}),
        ("prompts/list", {}),
        ("resources/list", {}),
        ("skills/list", {}),
        ("resources/templates/list", {}),
    ]
    asked += [("resources/read", {"uri": uri}) for uri in list(skills)[:5]]
    asked += [
        ("tools/call", {"name": "findings", "arguments": {}}),
        ("tools/call", {"name": "read_skill", "arguments": {"name": "a"}}),
    ]
    asked += [("prompts/get", {"name": "five-layer", "arguments": {"turn.now": "2026-02-27T09:30:00Z"}})]
    asked += [("skills/get", {"uri": f"skill://{workspace}/nobody/SKILL.md"}), ("prompts/get", {"name": "nobody"})]
    for method, params in asked:
        told = []
        for caller in callers.values():
            message = caller.call(method, params).message
            answer = message.get("result") or message.get("error")
            told.append({key: value for key, value in answer.items() if key not in CACHED | {"_meta"}})
        assert all(one == told[0] for one in told), (method, params, told)


def test_what_the_extension_cannot_name_is_read_by_the_tool():
    workspace = CONTENTS | UNNAMED | TOO_LARGE
    with each_peer({"contents": workspace}, "contents") as (_, callers):
        for caller in callers.values():
            for path, text in UNNAMED.items():
                name = path.split("/")[1]
                uri = skill_uri("contents", name)
                assert caller.call("skills/get", {"uri": uri}).error["code"] == INVALID_PARAMS, uri
                read = caller.result("tools/call", {"name": "read_skill", "arguments": {"name": name}})
                assert read["content"][0]["text"] == text
            (entry,) = [
                entry for entry in caller.pages("skills/list", "skills") if entry["uri"] == skill_uri("contents", "files")
            ]
            assert any("large.bin" in note for note in entry["_meta"]["promptd.v1/notes"])
            large = skill_uri("contents", "files", "large.bin")
            assert caller.call("resources/read", {"uri": large}).failed


def test_a_result_says_how_long_it_may_be_kept(shown):
    _, skills, callers = shown
    for (_, revision), caller in callers.items():
        for method in ("tools/list", "prompts/list", "resources/list", "skills/list", "resources/templates/list"):
            result = caller.result(method)
            # A list depends on the caller and changes with any save.
            assert revision != MODERN or result["cacheScope"] == "private", method
