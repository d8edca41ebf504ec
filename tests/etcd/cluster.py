"""Nodes of etcd on loopback, and what is asked of them by their JSON gateway."""

import base64
import http.client
import json
import os
import signal
import subprocess
import time

from ports import free_port

ETCD = os.environ["ETCD"]


def b64(data):
    return base64.b64encode(data if isinstance(data, bytes) else data.encode()).decode()


def wait_for(holds, what, seconds=20.0, every=0.02):
    """The first true value that `holds` gives."""
    end = time.monotonic() + seconds
    while not (value := holds()):
        assert time.monotonic() < end, f"never {what}"
        time.sleep(every)
    return value


class EtcdError(Exception):
    pass


class Node:
    """One member: its process and its ports."""

    def __init__(self, name, home, flags=(), tls=False):
        self.name, self.home, self.flags, self.tls = name, home, list(flags), tls
        self.client, self.peer, self.secure = free_port(), free_port(), free_port()
        self.process = None

    @property
    def address(self):
        return f"127.0.0.1:{self.client}"

    @property
    def tls_address(self):
        return f"127.0.0.1:{self.secure}"

    def start(self, cluster):
        own = f"http://127.0.0.1:{self.peer}"
        listen = f"http://{self.address}" + (f",https://{self.tls_address}" if self.tls else "")
        arguments = [
            ETCD, "--name", self.name, "--data-dir", str(self.home / self.name), "--log-level", "error",
            "--listen-client-urls", listen, "--advertise-client-urls", f"http://{self.address}",
            "--listen-peer-urls", own, "--initial-advertise-peer-urls", own, "--initial-cluster", cluster,
            "--heartbeat-interval", "100", "--election-timeout", "1000", *self.flags,
        ]
        with open(self.home / f"{self.name}.log", "ab") as log:
            self.process = subprocess.Popen(arguments, stdout=log, stderr=log, cwd=self.home)

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def call(self, path, body, token=None, timeout=5.0):
        connection = http.client.HTTPConnection("127.0.0.1", self.client, timeout=timeout)
        try:
            headers = {"authorization": token} if token else {}
            connection.request("POST", f"/v3/{path}", json.dumps(body), headers)
            response = connection.getresponse()
            answer = json.loads(response.read())
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise EtcdError(str(error)) from error
        finally:
            connection.close()
        if response.status != 200:
            raise EtcdError(answer.get("message") or answer.get("error"))
        return answer

    def is_leader(self):
        status = self.call("maintenance/status", {}, timeout=1.0)
        return status.get("leader") == status["header"]["member_id"]


class Cluster:
    """Some nodes that are one etcd."""

    def __init__(self, home, count=1, flags=(), tls=False):
        self.nodes = [Node(f"n{number}", home, flags, tls) for number in range(count)]
        self.names = ",".join(f"{node.name}=http://127.0.0.1:{node.peer}" for node in self.nodes)
        for node in self.nodes:
            node.start(self.names)
        self.wait()

    def wait(self):
        """Until every node answers for a majority."""
        for node in self.nodes:
            wait_for(lambda: self.answers(node), f"{node.name} answers")

    @staticmethod
    def answers(node):
        try:
            return node.call("kv/range", {"key": b64("none")}, timeout=1.0)
        except EtcdError:
            return None

    def restart(self, node):
        node.kill()
        node.start(self.names)

    def leader(self):
        def find():
            for node in self.nodes:
                try:
                    if node.is_leader():
                        return node
                except EtcdError:
                    pass
            return None

        return wait_for(find, "a leader")

    def call(self, path, body, token=None):
        """What the first node answers that can."""
        failed = None
        for node in self.nodes:
            try:
                return node.call(path, body, token)
            except EtcdError as error:
                failed = error
        raise failed

    def put(self, key, value, token=None):
        return self.call("kv/put", {"key": b64(key), "value": b64(value)}, token)

    def get(self, key):
        kvs = self.call("kv/range", {"key": b64(key)}).get("kvs", [])
        return base64.b64decode(kvs[0].get("value", "")) if kvs else None

    def delete(self, key):
        return self.call("kv/deleterange", {"key": b64(key)})

    def count(self, prefix):
        answer = self.call("kv/range", {"key": b64(prefix), "range_end": b64(prefix[:-1] + "0"), "count_only": True})
        return int(answer.get("count", 0))

    def stop(self):
        for node in self.nodes:
            node.kill()
