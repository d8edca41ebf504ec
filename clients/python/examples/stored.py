"""A chat loop whose conversation the service keeps: each message is sent once, and a turn names the session.

    promptd serve --memory memory
    python stored.py --session dana-1 --target 127.0.0.1:50051

Started again with the same session, it goes on where it was. Replace `ask` with your model. Ends with Ctrl-D.
"""

from __future__ import annotations

import argparse
import sys
import uuid
from typing import Any

from promptd import Promptd, PromptdError
from promptd.names import Role
from promptd.requests import ConversationMessage


def ask(arguments: dict[str, Any]) -> str:
    """Your model: `openai.OpenAI().chat.completions.create(model=…, **arguments)`."""
    return f"(a model would now read {len(arguments['messages'])} messages)"


def said(role: Role, content: str) -> ConversationMessage:
    """A message. Its id is made once, so that the client can send it again without doubling it."""
    return {"id": uuid.uuid4().hex, "role": role, "content": content}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workspace", default="example")
    parser.add_argument("--session", default="chat")
    parser.add_argument("--target", default="127.0.0.1:50051")
    args = parser.parse_args()

    with Promptd(args.target) as client:
        stored = client.conversations
        session = client.session(args.workspace, session_id=args.session, user={"name": "Dana"}, format="openai-chat")
        try:
            for line in sys.stdin:
                stored.append(args.workspace, args.session, [said("user", line.strip())])
                prompt = session.assemble()
                print(f"[position {prompt.session_position}]")
                reply = ask(prompt.for_openai())
                stored.append(args.workspace, args.session, [said("assistant", reply)])
                print(reply)
        except PromptdError as error:
            sys.exit(str(error))


if __name__ == "__main__":
    main()
