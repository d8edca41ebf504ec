"""What the type checker says of a caller's program, with `mypy --strict`."""

import subprocess
import sys

import pytest

PROGRAM = """
import asyncio, datetime
from promptd import AsyncPromptd, Promptd

client = Promptd("127.0.0.1:50051", timeout=5)
CALL
"""


def checked(call, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace("CALL", call))
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path.parent / "mypy"), str(program)]
    return subprocess.run(command, capture_output=True, text=True).stdout


GOOD = """
now = datetime.datetime.now(datetime.timezone.utc)
prompt = client.assemble("example", user={"name": "Dana"}, now=now, format="openai-chat", inputs={"a": [1]})
said: str = prompt.messages[0].content
role: str = prompt.messages[0].role
with client.session("example", on_change=lambda change: print(change.changed_paths), persona="Pilot") as session:
    arguments: dict[str, object] = session.assemble(heartbeat=True).for_openai()

stored = client.conversations
position: int = stored.append("example", "dana-1", [{"id": "1", "role": "user", "content": "Hello"}]).session.position  # type: ignore[union-attr]
found: list[str] = [one.session_id for one in stored.recall("example", "hello").messages]

async def main() -> None:
    async with AsyncPromptd() as client:
        print((await client.assemble("example")).size.chars)
        async for skill in client.list_skills("example"):
            print(skill.name)

asyncio.run(main())
"""


def test_a_right_program_passes(tmp_path):
    assert checked(GOOD, tmp_path).startswith("Success"), checked(GOOD, tmp_path)


@pytest.mark.parametrize(
    "call, message",
    [
        ('client.assemble("example", usr={"name": "Dana"})', 'Unexpected keyword argument "usr"'),
        ('client.assemble("example", user={"nme": "Dana"})', 'Extra key "nme" for TypedDict "User"'),
        ('client.assemble("example", user="Dana")', "incompatible type"),
        ('client.assemble("example", format="openai")', "incompatible type"),
        ('client.assemble("example").messages[0].text', 'has no attribute "text"'),
        ('client.conversations.append("example", "s", [{"idd": "1"}])', 'Extra key "idd" for TypedDict "ConversationMessage"'),
        ('client.session("example", persno="x")', 'Unexpected keyword argument "persno"'),
    ],
)
def test_a_wrong_one_does_not(call, message, tmp_path):
    assert message in checked(call, tmp_path)
