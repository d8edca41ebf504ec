"""Starts promptd on the volumes of a Kubernetes manifest, laid out as a kubelet lays them out.

usage: kubernetes.py MANIFEST BINARY
"""

import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import yaml

START_SECONDS = 30
SECRETS = {"promptd-tokens": {"tokens.yaml": "tokens:\n  - {name: desk, token: 0123456789abcdef}\n"}}


def main():
    manifest, binary = sys.argv[1:]
    objects = list(yaml.safe_load_all(Path(manifest).read_text(encoding="utf-8")))
    maps = {o["metadata"]["name"]: o["data"] for o in objects if o["kind"] == "ConfigMap"}
    pod = next(o for o in objects if o["kind"] == "Deployment")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    volumes = {v["name"]: v for v in pod["volumes"]}

    with tempfile.TemporaryDirectory() as root:
        for mount in container["volumeMounts"]:
            assert "subPath" not in mount, f"{mount['name']} is mounted by subPath: edits would never arrive"
            lay_out(Path(root + mount["mountPath"]), files(volumes[mount["name"]], maps))
        config = root + container["args"][container["args"].index("--config") + 1]
        workspaces = Path(root, "etc/promptd/workspaces")
        subprocess.run([binary, "check", *sorted(workspaces.iterdir())], check=True)
        serve([binary, "serve", "--config", config, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])


def files(volume, maps):
    """The files of a volume: path to text."""
    if "secret" in volume:
        return SECRETS[volume["secret"]["secretName"]]
    source = volume["configMap"]
    data = maps[source["name"]]
    items = source.get("items") or [{"key": key, "path": key} for key in data]
    return {item["path"]: data[item["key"]] for item in items}


def lay_out(folder, contents):
    """A kubelet's atomic volume: visible names are links through `..data`."""
    version = folder / "..2026_01_01_00_00_00.1"
    version.mkdir(parents=True)
    (folder / "..data").symlink_to(version.name)
    for path, text in contents.items():
        file = version / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        top = path.split("/")[0]
        if not (folder / top).is_symlink():
            (folder / top).symlink_to(Path("..data", top))


def serve(command):
    """Starts the server, waits for its ready line, and stops it."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        deadline = threading.Timer(START_SECONDS, server.kill)
        deadline.start()
        line = server.stdout.readline()
        deadline.cancel()
        server.terminate()
    assert line.startswith("promptd listening on "), f"no ready line but {line!r}"
    assert server.returncode == 0, f"exit code {server.returncode}"
    print(line.strip())


if __name__ == "__main__":
    main()
