"""Connections that are encrypted: certificates that are trusted, that are not, and that have expired."""

import subprocess

import pytest

from cluster import Cluster, wait_for
from publisher import publish
from service import promptd


def openssl(*arguments, cwd):
    subprocess.run(["openssl", *arguments], cwd=cwd, check=True, capture_output=True)


class Authority:
    """Signs certificates for 127.0.0.1."""

    def __init__(self, home, name="ca"):
        self.home, self.name = home, name
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        self.key = key
        openssl("req", "-x509", *key, "-keyout", f"{name}.key", "-out", f"{name}.pem", "-days", "2", "-subj", "/CN=ca", cwd=home)

    def sign(self, name, days=2):
        (self.home / "san").write_text("subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n")
        openssl("req", *self.key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}", cwd=self.home)
        openssl(
            "x509", "-req", "-in", f"{name}.csr", "-CA", f"{self.name}.pem", "-CAkey", f"{self.name}.key", "-CAcreateserial",
            "-days", str(days), "-extfile", "san", "-out", f"{name}.pem", cwd=self.home,
        )


@pytest.fixture
def secured(tmp_path):
    """An etcd that asks for certificates, with a second address without them for the tests."""
    authority = Authority(tmp_path)
    authority.sign("server")
    authority.sign("client")
    flags = ["--cert-file", "server.pem", "--key-file", "server.key", "--trusted-ca-file", "ca.pem", "--client-cert-auth"]
    cluster = Cluster(tmp_path, 1, flags, tls=True)
    yield cluster, authority
    cluster.stop()


def test_etcd_is_read_and_published_to_with_certificates(secured, serve, tmp_path):
    cluster, _ = secured
    publish(cluster, {"a": {"AGENTS.md": b"kept"}})
    tls = {name: str(tmp_path / file) for name, file in [("ca", "ca.pem"), ("cert", "client.pem"), ("key", "client.key")]}
    service = serve(endpoints=[cluster.nodes[0].tls_address], settings={"tls": tls})
    assert "kept" in service.text("a")
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "AGENTS.md").write_text("later")
    flags = [f"--{name}={file}" for name, file in tls.items()]
    promptd("publish", folder, "--to", f"etcd://{cluster.nodes[0].tls_address}/promptd", *flags, "-m", "By TLS.")
    service.shows("a", "later")


def test_a_certificate_that_is_wrong_or_old_is_said_and_a_new_one_is_used(secured, serve, tmp_path):
    cluster, authority = secured
    publish(cluster, {"a": {"AGENTS.md": b"kept"}})
    Authority(tmp_path, "other").sign("stranger")
    authority.sign("expired", days=-1)
    to = f"etcd://{cluster.nodes[0].tls_address}/promptd"
    for ca, name in [("other", "client"), ("ca", "stranger"), ("ca", "expired")]:
        flags = ["--ca", tmp_path / f"{ca}.pem", "--cert", tmp_path / f"{name}.pem", "--key", tmp_path / f"{name}.key"]
        ran = promptd("history", "a", "--from", to, *flags, check=False)
        assert ran.returncode == 2 and "cannot be reached" in ran.stderr, (ca, name, ran.stderr)
        assert "certificate" in ran.stderr, (ca, name, ran.stderr)
    # The files are read anew for each connection.
    for kind in ("pem", "key"):
        (tmp_path / f"own.{kind}").write_bytes((tmp_path / f"expired.{kind}").read_bytes())
    tls = {"ca": str(tmp_path / "ca.pem"), "cert": str(tmp_path / "own.pem"), "key": str(tmp_path / "own.key")}
    service = serve(endpoints=[cluster.nodes[0].tls_address], settings={"tls": tls})
    assert service.call("PromptService/AssemblePrompt", {"workspaceId": "a", "turn": {}})[0] == 404
    for kind in ("pem", "key"):
        (tmp_path / f"own.{kind}").write_bytes((tmp_path / f"client.{kind}").read_bytes())
    wait_for(lambda: service.call("PromptService/AssemblePrompt", {"workspaceId": "a", "turn": {}})[0] == 200, "served")


def test_a_promptd_is_published_through_with_certificates(serve, tmp_path):
    authority, cluster = Authority(tmp_path), Cluster(tmp_path)
    try:
        authority.sign("server")
        Authority(tmp_path, "other")
        tls = {"cert": str(tmp_path / "server.pem"), "key": str(tmp_path / "server.key")}
        service = serve(cluster, config={"tls": tls})
        to = ["--to", f"https://127.0.0.1:{service.port}"]
        folder = tmp_path / "a"
        folder.mkdir()
        (folder / "AGENTS.md").write_text("by TLS")
        ran = promptd("publish", folder, *to, "--ca", tmp_path / "other.pem", "-m", "No.", check=False)
        assert ran.returncode == 2 and "cannot be used" in ran.stderr and "certificate" in ran.stderr, ran.stderr
        assert promptd("publish", folder, *to, "--ca", tmp_path / "ca.pem", "-m", "By TLS.").stdout.startswith("a: revision 1 (")
        assert "loopback  By TLS." in promptd("history", "a", *to, "--ca", tmp_path / "ca.pem").stdout
    finally:
        cluster.stop()
