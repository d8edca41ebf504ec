"""A sub-agent: its own name, its task as an ephemeral prompt, and fewer skills than its parent.

    python subagent.py "Find a berth for an 82 m vessel." --skills "berth-*"
"""

from __future__ import annotations

import argparse
import sys

from promptd import Prompt, Promptd, PromptdError


def delegate(client: Promptd, workspace: str, task: str, skills: list[str]) -> Prompt:
    """The prompt for a sub-agent that works on `task` and sees only the skills that `skills` allow."""
    return client.assemble(
        workspace,
        agent={"id": "berth-clerk", "name": "Berth clerk"},
        ephemeral_system_prompt=f"You work on one task and report back to your caller. Task: {task}",
        # It only narrows: what the workspace hides stays hidden.
        skill_filter={"allowlist": skills},
        context_files=["AGENTS.md", "SOUL.md", "IDENTITY.md"],
        # Nobody reads a sub-agent's findings, so a loss is an error.
        strict=True,
        format="anthropic-messages",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task")
    parser.add_argument("--skills", nargs="+", default=["*"], help="globs over skill names")
    parser.add_argument("--workspace", default="example")
    parser.add_argument("--target", default="127.0.0.1:50051")
    args = parser.parse_args()

    with Promptd(args.target) as client:
        try:
            prompt = delegate(client, args.workspace, args.task, args.skills)
        except PromptdError as error:
            sys.exit(str(error))
    for message in prompt.messages:
        kept = "this turn only" if message.ephemeral else "kept"
        print(f"{message.name}: {len(message.content)} characters, {kept}")
    print(f"arguments of anthropic's messages.create: {', '.join(prompt.for_anthropic())}")
    print(prompt.messages[-1].content)


if __name__ == "__main__":
    main()
