"""Runs the `sh` blocks of the documents, each document in a fresh copy of the repository, from its root; and in the same way the
commands at the head of each program of examples/, which are indented.

A document's blocks run in their order. Before a block it can say, in a comment that readers do not see:

    <!-- not run: REASON -->      the block does not run here; all such are listed at the end
    <!-- prints: TEXT -->         what the block prints has this text in it
    <!-- needs: PROGRAM -->       the block runs where this program is installed

`promptd`, and `cargo run -- …`, run the server that is built already; other commands of cargo do not run here. A line that starts a
server runs until the document ends. Where a document calls 127.0.0.1:50051 and starts no server, one is started for it: that port,
and those that a document names, must be free.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
# Texts of the product, and tables that a program writes.
ELSEWHERE = ("tests/", "src/", "crates/", "fuzz/", "workspace-example/", "docs/reference/")
PROGRAMS = (".py", ".mjs", ".html")
ADDRESS = "127.0.0.1:50051"
START_SECONDS, BLOCK_SECONDS = 30, 240

BLOCK = re.compile(r"((?:^<!-- [a-z ]+: [^\n]* -->\n)*)^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Any fence that a reader takes for commands; a longer one is what a program printed.
FENCE = re.compile(r"^[ \t]*(?:```|~~~)(?:sh|bash|shell|zsh|console)\b.*$", re.MULTILINE)
NOTE = re.compile(r"^<!-- ([a-z ]+): (.*) -->$", re.MULTILINE)
HEAD = re.compile(r"(?:^(?:// {3}| {4,5})\S.*\n)+", re.MULTILINE)
SERVER = re.compile(r"^(?:(?:promptd|cargo run (?:--release )?--) (?:serve|inspect)|python3 -m http\.server)\b")
READY = re.compile(r"promptd listening on |inspector at |Serving HTTP on ")

SHIMS = {
    "promptd": '#!/bin/sh\nexec "$PROMPTD_BIN" "$@"\n',
    "cargo": """#!/bin/sh
[ "$1" = run ] && shift && [ "$1" = --release ] && shift
[ "$1" = -- ] && shift && exec "$PROMPTD_BIN" "$@"
echo "only \\`cargo run -- …\\` runs here: write \\`<!-- not run: REASON -->\\` before the block" >&2
exit 1
""",
}


@dataclass
class Block:
    """A block of a document."""

    document: str
    line: int
    script: str
    notes: dict = field(default_factory=dict)

    def __str__(self):
        return f"{self.document}:{self.line}"

    @property
    def skipped(self):
        """Why it does not run here."""
        if (needed := self.notes.get("needs")) and not shutil.which(needed):
            return f"{needed} is not installed"
        return self.notes.get("not run")


def blocks(document):
    text = (ROOT / document).read_text(encoding="utf-8")
    if document.endswith(PROGRAMS):
        head = HEAD.search(text) or sys.exit(f"{document}: no command at its head says how to run it")
        yield Block(document, text.count("\n", 0, head.start()) + 1, re.sub(r"^(//)? +", "", head[0], flags=re.MULTILINE))
        return
    seen = {found.start(2) for found in BLOCK.finditer(text)}
    for fence in FENCE.finditer(text):
        if fence.end() + 1 not in seen:
            line = text.count("\n", 0, fence.start()) + 1
            sys.exit(f"{document}:{line}: commands must be between lines ```sh and ```, not indented, to be run; this does not")
    for found in BLOCK.finditer(text):
        notes = dict(NOTE.findall(found[1]))
        if unknown := notes.keys() - {"not run", "prints", "needs"}:
            sys.exit(f"{document}: unknown note {', '.join(unknown)}; see tests/documents/commands.py")
        yield Block(document, text.count("\n", 0, found.start(2)) + 1, found[2], notes)


class Reader:
    """A fresh copy of the repository, with the servers that a document starts in it."""

    def __init__(self, folder, tools):
        self.folder, self.servers = folder, []
        # pip, npm and curl as they are set up for this user; everything else of the home is new.
        caches = {"PIP_CACHE_DIR": Path.home() / ".cache/pip", "npm_config_cache": Path.home() / ".npm"}
        home = folder.parent / "home"
        home.mkdir()
        (home / ".curlrc").write_text("fail-with-body\n")
        path = os.pathsep.join([str(tools), str(TARGET / "ci/venv/bin"), os.environ["PATH"]])
        self.environment = os.environ | {"HOME": str(home), "PATH": path, "PYTHONUNBUFFERED": "1"} | {k: str(v) for k, v in caches.items()}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.kill()
            server.wait()

    def start(self, line):
        """Runs a server, and returns once it says that it is ready."""
        command = ["sh", "-c", f"exec {line}"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        server = subprocess.Popen(command, cwd=self.folder, env=self.environment, **pipes)
        self.servers.append(server)
        late = threading.Timer(START_SECONDS, server.kill)
        late.start()
        said = []
        for line_said in server.stdout:
            said.append(line_said)
            if READY.search(line_said):
                break
        else:
            raise AssertionError(f"`{line}` did not start:\n{''.join(said)}")
        late.cancel()
        threading.Thread(target=server.stdout.read, daemon=True).start()

    def run(self, block):
        printed, script = "", ""
        for line in block.script.splitlines(keepends=True):
            if not SERVER.match(line):
                script += line
                continue
            printed, script = printed + self.run_script(script), ""
            self.start(line.split("#")[0].strip())
        printed += self.run_script(script)
        expected = block.notes.get("prints")
        assert expected is None or expected in printed, f"{expected!r} is not in what is printed:\n{printed[-2000:]}"

    def run_script(self, script):
        if not script.strip():
            return ""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, "text": True}
        done = subprocess.run(
            ["bash", "-eu", "-c", script], cwd=self.folder, env=self.environment, timeout=BLOCK_SECONDS, **pipes
        )
        assert done.returncode == 0, f"exit code {done.returncode}:\n{done.stdout[-1000:]}{done.stderr[-2000:]}"
        return done.stdout


def copy(folder):
    """What git would commit."""
    names = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(names, cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name, follow_symlinks=False)


def check(document, found, tools):
    """Runs a document's blocks; what is wrong, if anything is."""
    with tempfile.TemporaryDirectory(prefix="documents-") as home:
        folder = Path(home) / "promptd"
        folder.mkdir()
        copy(folder)
        with Reader(folder, tools) as reader:
            calls = document.endswith(PROGRAMS) or any(ADDRESS in block.script for block in found)
            if calls and not any(SERVER.match(line) for block in found for line in block.script.splitlines()):
                reader.start("promptd serve")
            for block in found:
                try:
                    reader.run(block)
                except (AssertionError, subprocess.TimeoutExpired) as error:
                    return f"{block}: {error}"
    return None


def main():
    kinds = ["*.md", *(f":(glob)examples/**/*{kind}" for kind in PROGRAMS)]
    listed = subprocess.run(["git", "ls-files", *kinds], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    documents = sys.argv[1:] or [name for name in listed.split("\n") if name and not name.startswith(ELSEWHERE)]
    failed, skipped, count = [], [], 0
    with tempfile.TemporaryDirectory(prefix="tools-") as tools:
        for name, script in SHIMS.items():
            shim = Path(tools) / name
            shim.write_text(script)
            shim.chmod(0o755)
        for document in documents:
            found = list(blocks(document))
            skipped += [block for block in found if block.skipped]
            found = [block for block in found if not block.skipped]
            count += len(found)
            if found and (error := check(document, found, tools)):
                failed.append(error)
                print(f"FAILED {error}", file=sys.stderr)
            elif found:
                print(f"{document}: {len(found)} blocks run as printed", flush=True)
    for block in skipped:
        print(f"not run: {block}: {block.skipped} ({shlex.quote(block.script.splitlines()[0])})")
    print(f"{count} blocks ran, {len(skipped)} did not, {len(failed)} failed")
    sys.exit(1 if failed else 0)


main()
