"""The one program of an environment that has the package and nothing else: starts the server, makes the first call."""

import importlib.metadata

from promptd import Promptd
from running import Server

with Server() as server, Promptd(server.address) as client:
    prompt = client.assemble("example", user={"name": "Dana"}, format="openai-chat")
assert "Dana" in "".join(message.content for message in prompt.messages), prompt
assert len(prompt.for_openai()["messages"]) == len(prompt.messages)
print(f"promptd {importlib.metadata.version('promptd')}: the first call gave {prompt.size.chars} characters")
