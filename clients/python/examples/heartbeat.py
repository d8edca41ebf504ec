"""A heartbeat: every so often the agent looks at its standing checks, and speaks only if there is something to say.

    python heartbeat.py --every 1800

With `--once` it ends after the first. An edit of the workspace starts one at once. Replace `ask` with your model.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import Any

from promptd import AsyncPromptd, PromptdError


async def ask(arguments: dict[str, Any]) -> str:
    """Your model: `await openai.AsyncOpenAI().chat.completions.create(model=…, **arguments)`."""
    return "HEARTBEAT_OK" if arguments["messages"] else "No instructions came."


async def beat(client: AsyncPromptd, workspace: str) -> None:
    """One heartbeat: prompt, model, and what its reply means."""
    prompt = await client.assemble(workspace, heartbeat=True, format="openai-chat")
    reply = await client.parse_reply(await ask(prompt.for_openai()), workspace=workspace, heartbeat=True)
    print("nothing to say" if reply.heartbeat_ok else reply.text, flush=True)


async def run(target: str, workspace: str, seconds: float, once: bool) -> None:
    edited = asyncio.Event()
    async with AsyncPromptd(target) as client:
        async with client.session(workspace, on_change=lambda _change: edited.set()):
            while True:
                edited.clear()
                await beat(client, workspace)
                if once:
                    return
                try:
                    await asyncio.wait_for(edited.wait(), seconds)
                except asyncio.TimeoutError:
                    pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=float, default=1800, help="seconds")
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--workspace", default="example")
    parser.add_argument("--target", default="127.0.0.1:50051")
    args = parser.parse_args()
    try:
        asyncio.run(run(args.target, args.workspace, args.every, args.once))
    except PromptdError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
