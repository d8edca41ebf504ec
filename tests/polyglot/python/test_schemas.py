"""The JSON Schemas say what promptd says, also where others read the YAML: check-jsonschema, and the language server of editors.

tests/schema has the same for values; here it is the text of files, each with one line changed.
"""

import json
import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from language_server import LanguageServer
from ruamel.yaml import YAML
from server import ROOT

PROMPTD = os.environ["PROMPTD_BIN"]
EXCEPTIONS = YAML(typ="safe").load(ROOT / "tests/schema/exceptions.yaml")
KINDS = ["workspace", "config", "profile", "turn", "skill"]
MAX_CHANGES = {"workspace": 250, "config": 200, "profile": 150, "turn": 150, "skill": 60}

# What a value may be replaced by, in any form that YAML has for it.
WORDS = "~ null true True yes on 0 5 -1 +5 5.0 1.5 .5 1e3 '5' 'true' '' 10s 64KiB 2026-01-01 12:30 Europe/Berlin text [] {} [~] [a] [5]"
VALUES = [*WORDS.split(" "), "{a: 1}", "'a b'"]

# Not among them are scalars that parsers of YAML read in different ways, and promptd as text: `0x1F`, `0o17` and `.inf`, which
# are numbers to YAML 1.2, and `1_000`, which is one to check-jsonschema.


def defaults():
    """A config that sets every setting to its default, a line each."""
    schema = json.loads(promptd("schema", "config").stdout)
    lines = []
    for name, section in schema["properties"].items():
        nested = section.get("properties", {})
        values = {key: value["default"] for key, value in nested.items()}
        lines.append(f"{name}: {'' if nested else json.dumps(section['default'])}")
        lines += [f"  {key}: {json.dumps(value)}" for key, value in values.items()]
    return "\n".join(lines) + "\n"


def valid(kind):
    read = lambda path: (ROOT / path).read_text(encoding="utf-8")
    match kind:
        case "workspace":
            return [read("workspace-example/workspace.yaml"), read("src/cli/init/workspace.yaml")]
        case "config":
            return [read("config/promptd.yaml"), defaults()]
        case "profile":
            return [read("config/profiles/lucidpal-briefing.yaml").replace("name: lucidpal-briefing", "name: other")]
        case "turn":
            return [path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples/turns").iterdir())]
        case "skill":
            return [read(path).split("---\n")[1] for path in ["src/cli/init/SKILL.md", "workspace-example/skills/storm-watch/SKILL.md"]]


def changes(text):
    """The text with one line left out, twice, with its key misspelt, or with another value."""
    lines = [line for line in text.splitlines() if "yaml-language-server" not in line]
    for index, line in enumerate(lines):
        key, colon, value = line.partition(":")
        if not colon or line.lstrip().startswith("#"):
            continue
        put = lambda *new: "\n".join(lines[:index] + list(new) + lines[index + 1 :]) + "\n"
        yield put()
        yield put(line, line)
        yield put(f"{key}z:{value}")
        begins_block = index + 1 < len(lines) and len(lines[index + 1]) - len(lines[index + 1].lstrip()) > len(line) - len(line.lstrip())
        if value.strip() and not begins_block:
            for other in VALUES:
                yield put(f"{key}: {other}")


def promptd(*arguments):
    return subprocess.run([PROMPTD, *map(str, arguments)], capture_output=True, text=True, check=False)


def errors_of(kind, path, folder):
    """The errors that promptd has of a file."""
    match kind:
        case "workspace" | "skill":
            workspace = folder / f"{path.stem}.workspace"
            place = workspace / ("workspace.yaml" if kind == "workspace" else "skills/a/SKILL.md")
            place.parent.mkdir(parents=True)
            text = path.read_text(encoding="utf-8")
            place.write_text(text if kind == "workspace" else f"---\n{text}---\nbody\n", encoding="utf-8")
            ran = promptd("check", workspace)
        case "config":
            ran = promptd("check", "--config", path, folder / "empty")
        case "profile":
            ran = promptd("profile", "check", path)
        case "turn":
            ran = promptd("render", folder / "empty", "--turn", path)
    lines = (ran.stdout if ran.returncode == 1 and ran.stdout else ran.stderr).splitlines()
    found = [line for line in lines if line.startswith("error")]
    assert ran.returncode in (0, 1) and (ran.returncode == 0) == (not found), (path, ran)
    return found


def is_allowed(kind, file, message):
    # A turn that can be read, and does not fit the inputs of its profile.
    if kind == "turn" and "turn.inputs." in message:
        return True
    extending = "\nextends:" in "\n" + file
    kinds = {kind} | ({"extending profile"} if kind == "profile" and extending else set())
    return any(one.get("reader", "\0") in message and kinds & set(one["of"]) for one in EXCEPTIONS)


def check_jsonschema(schema, files):
    """The files that check-jsonschema refuses."""
    command = [sys.executable, "-m", "check_jsonschema", "--schemafile", str(schema), "--output-format", "json", *map(str, files)]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    return {Path(one["filename"]).name: one.get("message", "") for one in report.get("errors", []) + report.get("parse_errors", [])}


@pytest.mark.parametrize("kind", KINDS)
def test_promptd_check_jsonschema_and_the_language_server_agree(kind, tmp_path):
    schema = tmp_path / "schemas" / f"{kind}.json"
    schema.parent.mkdir()
    schema.write_text(promptd("schema", kind).stdout, encoding="utf-8")
    (tmp_path / "empty").mkdir()
    texts = valid(kind)
    changed = [text for whole in texts for text in changes(whole)]
    random.Random(1).shuffle(changed)
    files = []
    for number, text in enumerate(dict.fromkeys(texts + changed[: MAX_CHANGES[kind]])):
        path = tmp_path / f"{number}.yaml"
        path.write_text(f"# yaml-language-server: $schema=schemas/{kind}.json\n{text}", encoding="utf-8")
        files.append(path)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        own = dict(zip(files, pool.map(lambda path: errors_of(kind, path, tmp_path), files)))
    others = check_jsonschema(schema, files)
    with LanguageServer() as server:
        underlined = server.errors(files)
    differences = []
    for path in files:
        text = path.read_text(encoding="utf-8")
        alone = [error for error in own[path] if not is_allowed(kind, text, error)]
        for name, refused in (("check-jsonschema", others.get(path.name)), ("the editor", underlined[path])):
            if alone and not refused:
                differences.append(f"{name} accepts what promptd refuses: {alone}\n{text}")
            if refused and not own[path]:
                differences.append(f"{name} alone refuses: {refused}\n{text}")
    refusals = sum(bool(found) for found in own.values())
    assert not differences, f"{len(differences)} differences\n" + "\n".join(differences[:5])
    assert 0 < refusals < len(files) and len(files) > 30, f"{refusals} of {len(files)} are refused"


def test_an_editor_shows_what_a_key_does(tmp_path):
    assert promptd("init", tmp_path / "ada").returncode == 0
    path = tmp_path / "ada/workspace.yaml"
    with LanguageServer() as server:
        assert server.errors([path]) == {path: []}
        assert "of all context files together" in server.hover(path, "max_chars_total")
