"""Writes an authority, a server's certificate for localhost, and a client's: `certificates.py FOLDER`."""

import sys
from pathlib import Path

import trustme

folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
authority = trustme.CA()
authority.cert_pem.write_to_path(folder / "ca.pem")
for name, identities in {"server": ["localhost", "127.0.0.1"], "client": ["client@harbor.example"]}.items():
    issued = authority.issue_cert(*identities)
    issued.private_key_pem.write_to_path(folder / f"{name}.key")
    for index, link in enumerate(issued.cert_chain_pems):
        link.write_to_path(folder / f"{name}.pem", append=index > 0)
