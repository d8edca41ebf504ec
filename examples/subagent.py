"""A sub-agent: its own name, an ephemeral scope, and fewer skills than its parent.

    python3 -m venv venv && venv/bin/pip install grpcio grpcio-tools && mkdir -p stubs
    venv/bin/python -m grpc_tools.protoc -Iproto --python_out=stubs --grpc_python_out=stubs proto/promptd/v1/promptd.proto
    PYTHONPATH=stubs venv/bin/python examples/subagent.py "Find a berth for an 82 m vessel, draught 4.6 m." --skills "berth-*"
"""

import argparse
import re
import sys
from pathlib import Path

import grpc
from promptd.v1 import promptd_pb2 as pb
from promptd.v1 import promptd_pb2_grpc as services

SERVICE_CONFIG = Path(__file__).with_name("service_config.json").read_text(encoding="utf-8")
TIMEOUT_SECONDS = 5


def delegate(prompts, workspace, task, skills):
    """The prompt for a sub-agent that works on `task` and sees only the skills that `skills` allow."""
    turn = pb.Turn(
        agent=pb.Agent(id="berth-clerk", name="Berth clerk"),
        # The scope comes last, and is not kept in any history.
        ephemeral_system_prompt=f"You work on one task and report back to your caller. Task: {task}",
        # A filter only narrows: a skill that the workspace hides stays hidden, whatever is asked for here.
        skill_filter=pb.SkillFilter(allowlist=pb.NameGlobs(globs=skills)),
    )
    # Nobody reads a sub-agent's warnings, so a loss is an error wherever it can be avoided: the long runbook is
    # left out, and what remains must be whole.
    turn.context_files.extend(["AGENTS.md", "SOUL.md", "IDENTITY.md"])
    request = pb.AssemblePromptRequest(workspace_id=workspace, turn=turn, strict=True)
    return prompts.AssemblePrompt(request, timeout=TIMEOUT_SECONDS)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task")
    parser.add_argument("--skills", nargs="+", default=["*"], help="globs over skill names")
    parser.add_argument("--workspace", default="example")
    parser.add_argument("--target", default="127.0.0.1:50051")
    args = parser.parse_args()

    with grpc.insecure_channel(args.target, options=[("grpc.service_config", SERVICE_CONFIG)]) as channel:
        try:
            prompt = delegate(services.PromptServiceStub(channel), args.workspace, args.task, args.skills)
        except grpc.RpcError as error:
            sys.exit(f"{error.code().name}: {error.details()}")
    for message in prompt.messages:
        kept = "this turn only" if message.ephemeral else "kept"
        print(f"{message.name}: {len(message.content)} characters, {kept}")
    print("skills:", ", ".join(re.findall("<name>(.*)</name>", prompt.messages[0].content)) or "none")
    print(prompt.messages[-1].content)


if __name__ == "__main__":
    main()
