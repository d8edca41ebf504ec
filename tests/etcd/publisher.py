"""A publisher that knows only what docs/fleet.md says of the layout."""

import base64
import hashlib
import json
import time

from cluster import EtcdError, b64


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def manifest(files, sequence=1, parent=None, author="test", message="By a test.", **more):
    return json.dumps({
        "format": 1, "sequence": sequence, "parent": parent, "author": author, "message": message,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "files": {path: {"sha256": sha256(data), "bytes": len(data)} for path, data in files.items()},
        **more,
    }).encode()


def publish(cluster, workspaces, prefix="/promptd"):
    """Publishes workspaces together, whoever publishes meanwhile; gives the manifest of each."""
    for files in workspaces.values():
        for data in files.values():
            retry(lambda: cluster.put(f"{prefix}/blobs/{sha256(data)}", data))
    while True:
        compare, success, manifests = [], [], {}
        for name, files in workspaces.items():
            key = f"{prefix}/workspaces/{name}"
            kvs = retry(lambda: cluster.call("kv/range", {"key": b64(key)})).get("kvs", [])
            head = base64.b64decode(kvs[0]["value"]) if kvs else None
            sequence = json.loads(head)["sequence"] + 1 if head else 1
            json_of = manifests[name] = manifest(files, sequence, sha256(head) if head else None)
            revision = kvs[0]["mod_revision"] if kvs else "0"
            compare.append({"key": b64(key), "target": "MOD", "result": "EQUAL", "mod_revision": revision})
            for to in (key, f"{prefix}/history/{name}/{sequence:010}"):
                success.append({"request_put": {"key": b64(to), "value": b64(json_of)}})
        if retry(lambda: cluster.call("kv/txn", {"compare": compare, "success": success})).get("succeeded"):
            return manifests


def retry(call, seconds=30.0):
    """Calls until some node answers. What was written although no answer came is found by the next comparison."""
    end = time.monotonic() + seconds
    while True:
        try:
            return call()
        except EtcdError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
