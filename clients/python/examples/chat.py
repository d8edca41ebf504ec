"""A chat loop: each line that you type is a turn, of which only what changed comes from the service.

    python chat.py --workspace example --target 127.0.0.1:50051

Replace `ask` with your model. Ends with Ctrl-D.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from promptd import Memory, Promptd, PromptdError
from promptd.requests import ConversationMessage


def ask(arguments: dict[str, Any]) -> str:
    """Your model: `openai.OpenAI().chat.completions.create(model=…, **arguments)`."""
    return f"(a model would now read {len(arguments['messages'])} messages)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workspace", default="example")
    parser.add_argument("--target", default="127.0.0.1:50051")
    args = parser.parse_args()

    history: list[ConversationMessage] = []
    # While the service is away, the conversation goes on with the workspace as it was.
    with Promptd(args.target, last_good=Memory()) as client:
        session = client.session(args.workspace, user={"name": "Dana"}, format="openai-chat")
        for line in sys.stdin:
            history.append({"role": "user", "content": line.strip()})
            try:
                prompt = session.assemble(conversation={"messages": history})
            except PromptdError as error:
                sys.exit(str(error))
            new = [message.name or message.role for message in prompt.messages if not message.not_modified]
            print(f"[{len(prompt.messages)} messages, new: {', '.join(new)}]")
            reply = ask(prompt.for_openai())
            history.append({"role": "assistant", "content": reply})
            print(reply)


if __name__ == "__main__":
    main()
