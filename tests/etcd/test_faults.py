"""Three nodes and three servers, while writers publish and nodes are killed, paused, compacted and restarted."""

import os
import random
import re
import signal
import subprocess
import threading
import time
from contextlib import contextmanager

import pytest

from cluster import Cluster, EtcdError, b64, wait_for
from publisher import publish
from service import LONG, PROMPTD, promptd

WRITERS, PAIRS = 4, 8
PUBLISHES = 5_000 if LONG else 300
FILES = ("AGENTS.md", "SOUL.md", "IDENTITY.md")
# How long after a fault the cluster and the servers may still be busy with it.
RECOVERY_SECONDS = 3.0
# Of how many publishes outside of faults it must be known how soon they are served.
MEASURED = 10


@pytest.fixture
def three(tmp_path):
    cluster = Cluster(tmp_path, 3)
    yield cluster
    cluster.stop()


def files(generation):
    return {name: b"This is generation-%d of it." % generation for name in FILES}


def generations(answer):
    text = "\n".join(message["content"] for message in answer["messages"])
    return re.findall(r"generation-(\d+)", text)


class Traffic:
    """Writers that publish pairs of workspaces, and callers of every server, until it is stopped."""

    def __init__(self, cluster, services):
        self.cluster, self.services = cluster, services
        self.newest = [0] * PAIRS
        self.published = self.calls = 0
        self.wrong, self.broken = [], []
        # Seconds from a publish to its first answer by the slowest server, outside of faults.
        self.served = []
        self.calm_since = time.monotonic()
        self.enough, self.done = threading.Event(), threading.Event()
        self.up = {service: threading.Lock() for service in services}
        self.lock = threading.Lock()
        writers = [threading.Thread(target=self.write, args=(number,)) for number in range(WRITERS)]
        callers = [threading.Thread(target=self.ask, args=(service,)) for service in services]
        self.writers, self.threads = writers, writers + callers
        for thread in self.threads:
            thread.start()

    def write(self, number):
        try:
            # Each writer has its own pairs, so that the newest generation is known.
            while not self.enough.is_set() or self.published < PUBLISHES:
                pair = random.randrange(number, PAIRS, WRITERS)
                generation = self.newest[pair] + 1
                publish(self.cluster, {f"a{pair}": files(generation), f"b{pair}": files(generation)})
                self.newest[pair] = generation
                self.measure(pair, generation)
                with self.lock:
                    self.published += 1
        except Exception as error:  # noqa: BLE001
            self.broken.append(repr(error))

    def measure(self, pair, generation):
        """How long the slowest server takes to answer from what was just published. It is done now and then, since it waits."""
        if random.random() > 0.25:
            return
        began = time.monotonic()
        for service in self.services:
            while int(generations(self.answer(service, f"a{pair}"))[0]) < generation:
                time.sleep(0.002)
        with self.lock:
            # Faults begin while it is measured, too.
            if self.calm_since <= began:
                self.served.append(time.monotonic() - began)

    def answer(self, service, name):
        with self.up[service]:
            return service.assemble(name)

    @contextmanager
    def fault(self):
        with self.lock:
            self.calm_since = float("inf")
        yield
        with self.lock:
            self.calm_since = time.monotonic() + RECOVERY_SECONDS

    def ask(self, service):
        while not self.done.is_set():
            name = random.choice("ab") + str(random.randrange(PAIRS))
            try:
                found = generations(self.answer(service, name))
                if len(found) != len(FILES) or len(set(found)) != 1:
                    self.wrong.append((name, found))
            except Exception as error:  # noqa: BLE001
                self.broken.append(repr(error))
            with self.lock:
                self.calls += 1

    def restart(self, service):
        """Between two calls."""
        with self.up[service]:
            service.restart()

    def stop(self):
        """Once enough was published."""
        self.enough.set()
        for writer in self.writers:
            writer.join(3600)
        self.done.set()
        for thread in self.threads:
            thread.join(120)


def test_every_answer_is_whole_and_all_replicas_end_at_the_same(three, serve):
    for pair in range(PAIRS):
        publish(three, {f"a{pair}": files(0), f"b{pair}": files(0)})
    services = [serve(endpoints=[n.address for n in three.nodes[k:] + three.nodes[:k]]) for k in range(3)]
    traffic = Traffic(three, services)
    rounds = 10 if LONG else 1
    for _ in range(rounds):
        with traffic.fault():
            leader = three.leader()
            leader.kill()
            time.sleep(2)
            leader.start(three.names)
            three.wait()
            follower = next(node for node in three.nodes if node is not three.leader())
            follower.pause()
            time.sleep(5)
            follower.resume()
            # A server that cannot read falls behind what is compacted.
            services[0].process.send_signal(signal.SIGSTOP)
            time.sleep(1)
            revision = three.call("kv/range", {"key": b64("none")})["header"]["revision"]
            three.call("kv/compaction", {"revision": revision, "physical": True})
            services[0].process.send_signal(signal.SIGCONT)
            traffic.restart(services[1])
            three.restart(three.nodes[2])
            three.wait()
        time.sleep(RECOVERY_SECONDS + (10 if LONG else 1))
    wait_for(lambda: traffic.broken or len(traffic.served) >= MEASURED, "served outside of faults")
    traffic.stop()
    assert not traffic.wrong and not traffic.broken, (traffic.wrong[:5], traffic.broken[:5])
    took = sorted(traffic.served)
    p99 = took[len(took) * 99 // 100]
    print(f"{traffic.published} publishes of pairs, {traffic.calls} calls, none failed; publish to served by all, outside of "
          f"faults, of {len(took)}: median {took[len(took) // 2] * 1000:.0f} ms, p99 {p99 * 1000:.0f} ms")
    assert not LONG or p99 < 0.25, took[-5:]
    assert traffic.published >= PUBLISHES and traffic.calls > 500
    for pair, generation in enumerate(traffic.newest):
        for name in (f"a{pair}", f"b{pair}"):
            for service in services:
                wait_for(lambda: generations(service.assemble(name)) == [str(generation)] * 3, f"{name} {generation}")
            answers = [service.assemble(name) for service in services]
            assert len({answer["digest"] for answer in answers}) == 1
            assert len({answer["revision"] for answer in answers}) == 1
    assert all("SOURCE_AWAY" not in service.codes("a0") for service in services)


def test_without_space_prompts_go_on_and_publishing_says_what_to_do(tmp_path, serve):
    etcd = Cluster(tmp_path, 1, ["--quota-backend-bytes", str(32 << 20)])
    try:
        publish(etcd, {"a": files(1)})
        service = serve(etcd)
        with pytest.raises(EtcdError, match="space"):
            for _ in range(100):
                etcd.put("/filler", os.urandom(1 << 20))
        folder = tmp_path / "a"
        folder.mkdir()
        (folder / "AGENTS.md").write_text("later")
        to = f"etcd://{etcd.nodes[0].address}/promptd"
        ran = promptd("publish", folder, "--to", to, "-m", "No.", check=False)
        assert ran.returncode == 2 and "etcdctl alarm disarm" in ran.stderr, ran.stderr
        assert generations(service.assemble("a")) == ["1"] * 3
        revision = etcd.call("kv/range", {"key": b64("none")})["header"]["revision"]
        etcd.call("kv/compaction", {"revision": revision, "physical": True})
        etcd.call("maintenance/defragment", {})
        for alarm in etcd.call("maintenance/alarm", {"action": "GET"})["alarms"]:
            etcd.call("maintenance/alarm", {"action": "DEACTIVATE", **alarm})
        promptd("publish", folder, "--to", to, "-m", "Yes.")
        service.shows("a", "later")
    finally:
        etcd.stop()


def test_a_publisher_that_is_killed_leaves_the_old_state_or_the_new_one(etcd, serve, tmp_path):
    publish(etcd, {"a": files(0)})
    service = serve(etcd)
    folder = tmp_path / "a"
    folder.mkdir()
    to = f"etcd://{etcd.nodes[0].address}/promptd"
    for number in range(1, 25 if LONG else 9):
        for name, text in files(number).items():
            (folder / name).write_bytes(text)
        for extra in range(40):
            (folder / f"data{extra}.bin").write_bytes(os.urandom(50_000))
        started = time.monotonic()
        publisher = subprocess.Popen([PROMPTD, "publish", str(folder), "--to", to, "-m", "x"], stderr=subprocess.DEVNULL)
        while publisher.poll() is None and time.monotonic() - started < number * 0.03:
            assert len(set(generations(service.assemble("a")))) == 1
        publisher.kill()
        publisher.wait()
        found = generations(service.assemble("a"))
        assert len(found) == 3 and len(set(found)) == 1, found
    promptd("publish", folder, "--to", to, "-m", "x")
    service.shows("a", f"generation-{number} ")


def test_a_server_that_fell_behind_what_is_compacted_reads_everything_again(etcd, serve):
    publish(etcd, {"a": files(0)})
    service = serve(etcd)
    service.process.send_signal(signal.SIGSTOP)
    # More than the connection holds, then more events than etcd keeps for one watch.
    for _ in range(12):
        etcd.put("/promptd/workspaces/large", b"x" * (1 << 20))
    for _ in range(1_200):
        etcd.put("/promptd/workspaces/small", b"x")
    publish(etcd, {"a": files(1)})
    revision = etcd.call("kv/range", {"key": b64("none")})["header"]["revision"]
    etcd.call("kv/compaction", {"revision": revision, "physical": True})
    service.process.send_signal(signal.SIGCONT)
    service.shows("a", "generation-1 ")
    assert service.metric("etcd_reconciles_total") == 2 and service.metric("etcd_failures_total") == 0
