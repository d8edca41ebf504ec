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
    deployment = next(o for o in objects if o["kind"] == "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    volumes = {v["name"]: v for v in pod["volumes"]}
    budget = next(o for o in objects if o["kind"] == "PodDisruptionBudget")["spec"]
    assert budget["selector"] == deployment["spec"]["selector"], "the disruption budget is of other pods"
    assert budget["maxUnavailable"] < deployment["spec"]["replicas"], "a drained node may take every replica"

    with tempfile.TemporaryDirectory() as root:
        for mount in container["volumeMounts"]:
            assert "subPath" not in mount, f"{mount['name']} is mounted by subPath: edits would never arrive"
            lay_out(Path(root + mount["mountPath"]), files(volumes[mount["name"]], maps))
        config = Path(root + container["args"][container["args"].index("--config") + 1])
        text = config.read_text(encoding="utf-8")
        # Absolute paths are those of the pod.
        for mount in container["volumeMounts"]:
            text = text.replace(f" {mount['mountPath']}\n", f" {root}{mount['mountPath']}\n")
        config.resolve().write_text(text, encoding="utf-8")
        workspaces = Path(root, "etc/promptd/workspaces")
        if workspaces.exists():
            subprocess.run([binary, "check", *sorted(workspaces.iterdir())], check=True)
        log = serve([binary, "serve", "--config", str(config), "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
        for member in yaml.safe_load(text)["workspaces"].get("etcd", {}).get("endpoints", []):
            # There is none here; in the cluster a service has its name.
            assert f"etcd at {member} cannot be reached" in log, log
            name, port = member.split(":")
            service = next(o for o in objects if o["kind"] == "Service" and o["metadata"]["name"] == name)
            assert int(port) in [p["port"] for p in service["spec"]["ports"]], f"no service has {member}"


def files(volume, maps):
    """The files of a volume: path to text."""
    if "emptyDir" in volume:
        return {}
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
    """Starts the server, waits for its ready line, stops it, and gives its log."""
    with tempfile.TemporaryFile("w+") as log, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as server:
        deadline = threading.Timer(START_SECONDS, server.kill)
        deadline.start()
        line = server.stdout.readline()
        deadline.cancel()
        server.terminate()
        server.wait()
        log.seek(0)
        said = log.read()
    assert line.startswith("promptd listening on "), f"no ready line but {line!r}\n{said}"
    assert server.returncode == 0, f"exit code {server.returncode}"
    print(line.strip())
    return said


if __name__ == "__main__":
    main()
