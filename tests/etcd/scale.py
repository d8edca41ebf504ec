"""How long a start with many published workspaces takes: `tests/etcd/scale.py [WORKSPACES]`. Needs ETCD, PROMPTD_BIN, 4 GB of
memory and 3 GB of disk."""

import base64
import json
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cluster import Cluster, b64
from publisher import manifest, sha256
from service import Service

BYTES = 28 << 10
FILES = ("AGENTS.md", "SOUL.md", "IDENTITY.md", "HEARTBEAT.md", "docs/one.md", "docs/two.md", "skills/s/SKILL.md")


def workspace(number):
    """28 KB, of which nothing is shared."""
    size = BYTES // len(FILES)
    body = {name: (f"{number} {name} " * size)[:size].encode() for name in FILES}
    body["skills/s/SKILL.md"] = b"---\nname: s\ndescription: D.\n---\n" + body["skills/s/SKILL.md"]
    return body


def fill(cluster, count):
    def one(number):
        files = workspace(number)
        puts = {f"/promptd/blobs/{sha256(data)}": data for data in files.values()}
        json_of = manifest(files)
        puts |= {f"/promptd/workspaces/w{number}": json_of, f"/promptd/history/w{number}/0000000001": json_of}
        success = [{"request_put": {"key": b64(key), "value": b64(value)}} for key, value in puts.items()]
        cluster.call("kv/txn", {"success": success})

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(one, range(count)))


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        cluster = Cluster(home)
        try:
            began = time.monotonic()
            fill(cluster, count)
            print(f"{count} workspaces of 28 KB published in {time.monotonic() - began:.0f} s")
            for name, cache in [("without a cache", {}), ("with a new cache", {"cache": {"dir": "c"}}), ("with it, again", {"cache": {"dir": "c"}})]:
                began = time.monotonic()
                service = Service(home / ("plain" if not cache else "cached"), cluster, settings=cache)
                took = time.monotonic() - began
                status = Path(f"/proc/{service.process.pid}/status").read_text()
                rss = next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]
                assert f"w{count - 1} AGENTS.md"[1:] in service.text(f"w{count - 1}")
                print(f"{name}: start {took:.1f} s, {int(rss) >> 10} MiB resident")
                service.stop()
        finally:
            cluster.stop()


if __name__ == "__main__":
    main()
