"""kern's loop: append, assemble, plan, summarise; what promptd does not do is here: storage and the model.

    python3 -m venv venv && venv/bin/pip install grpcio grpcio-tools && mkdir -p stubs
    venv/bin/python -m grpc_tools.protoc -Iproto --python_out=stubs --grpc_python_out=stubs proto/promptd/v1/promptd.proto
    PYTHONPATH=stubs venv/bin/python examples/kern_loop.py --messages 2000

Without `--model-url`, the base of an OpenAI-compatible API, a stub on this machine answers.
"""

import argparse
import itertools
import json
import sys
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import grpc
from promptd.v1 import promptd_pb2 as pb
from promptd.v1 import promptd_pb2_grpc as services

SERVICE_CONFIG = Path(__file__).with_name("service_config.json").read_text(encoding="utf-8")
TIMEOUT_SECONDS = 30
# What one request of PlanHistory takes.
PLAN_MESSAGES = 500
SUMMARIES_AT_ONCE = 15
ROLES = {pb.ROLE_SYSTEM: "system", pb.ROLE_USER: "user", pb.ROLE_ASSISTANT: "assistant", pb.ROLE_TOOL: "tool"}


class Model:
    """An OpenAI-compatible chat API."""

    def __init__(self, url, name):
        self.url, self.name, self.calls = f"{url}/chat/completions", name, itertools.count()

    def reply(self, messages, **options):
        next(self.calls)
        body = json.dumps({"model": self.name, "messages": messages, **options}).encode()
        request = urllib.request.Request(self.url, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
            answer = json.load(response)
        return answer["choices"][0]["message"]["content"].strip(), answer["usage"]["completion_tokens"]


class Agent:
    """One conversation, with its tree of summaries. A real agent keeps both in a database."""

    def __init__(self, prompts, workspace, model):
        self.prompts, self.workspace, self.model = prompts, workspace, model
        self.messages, self.segments, self.tokens = [], {}, {}
        # Up to where the messages are in segments, and where the last prompt's messages began.
        self.settled = self.window = 0

    def turn(self, text):
        """Answers a message, then brings the summaries up to date. kern does the second in the background."""
        self.append(pb.ROLE_USER, text)
        answer = self.assemble()
        reply, _ = self.model.reply(json.loads(answer.rendered)["messages"])
        self.append(pb.ROLE_ASSISTANT, reply)
        self.summarise()
        return answer

    def append(self, role, content):
        self.messages.append(pb.ConversationMessage(role=role, content=content))

    def assemble(self):
        """The prompt: kern's profile trims the messages and puts summaries in place of what it left out."""
        start = self.window
        summarised = [segment for segment in self.segments.values() if segment.summary]
        conversation = pb.Conversation(messages=self.messages[start:], segments=summarised, first_index=start)
        answer = self.prompts.AssemblePrompt(
            pb.AssemblePromptRequest(
                workspace_id=self.workspace,
                profile="kern",
                turn=pb.Turn(conversation=conversation),
                render_format=pb.RENDER_FORMAT_OPENAI_CHAT,
            ),
            timeout=TIMEOUT_SECONDS,
        )
        # What was trimmed once is not sent again.
        carried = [message.conversation_index for message in answer.messages if message.HasField("conversation_index")]
        self.window = start + min(carried)
        return answer

    def summarise(self):
        """Plans and has the model say summaries, until there is nothing to do: new summaries can make a rollup."""
        while True:
            plan = self.plan()
            work = [self.store(0, segment) for segment in plan.segments]
            for rollup in plan.rollups:
                parent = self.store(rollup.level, rollup)
                work.append(parent)
                for child in rollup.child_ids:
                    self.segments[child].parent_id = parent[0]
            work += [(one.id, one.profile, one.target_tokens) for one in plan.unsummarised]
            self.settled = plan.settled_end
            with ThreadPoolExecutor(SUMMARIES_AT_ONCE) as pool:
                said = list(pool.map(lambda one: self.say_summary(*one), work))
            # What has no summary now is asked for after the next turn.
            if not any(said):
                return

    def plan(self):
        request = pb.PlanHistoryRequest(workspace_id=self.workspace, first_index=self.settled)
        for message in self.messages[self.settled : self.settled + PLAN_MESSAGES]:
            request.messages.add(role=message.role, content=message.content)
        for segment in self.segments.values():
            request.segments.add(
                id=segment.id,
                parent_id=segment.parent_id,
                level=segment.level,
                message_start=segment.message_start,
                message_end=segment.message_end,
                tokens=self.tokens[segment.id],
                summarised=bool(segment.summary),
            )
        return self.prompts.PlanHistory(request, timeout=TIMEOUT_SECONDS)

    def store(self, level, planned):
        """Keeps a segment or rollup; what its summary is asked for with."""
        segment = pb.SummarySegment(
            id=f"{level}:{planned.message_start}-{planned.message_end}",
            level=level,
            message_start=planned.message_start,
            message_end=planned.message_end,
        )
        self.segments[segment.id], self.tokens[segment.id] = segment, planned.tokens
        return segment.id, planned.profile, planned.target_tokens

    def say_summary(self, segment_id, profile, target_tokens):
        """Whether the model said a summary."""
        segment = self.segments[segment_id]
        turn = pb.Turn()
        turn.inputs.update({"target_tokens": target_tokens} | self.material(segment))
        request = self.prompts.AssemblePrompt(
            pb.AssemblePromptRequest(workspace_id=self.workspace, profile=profile, turn=turn), timeout=TIMEOUT_SECONDS
        )
        prompt = [{"role": ROLES[message.role], "content": message.content} for message in request.messages]
        segment.summary, segment.summary_tokens = self.model.reply(prompt, max_tokens=target_tokens)
        return bool(segment.summary)

    def material(self, segment):
        """The inputs of a summary's profile."""
        if segment.level == 0:
            messages = self.messages[segment.message_start : segment.message_end]
            return {"segment": [{"role": ROLES[message.role], "content": message.content} for message in messages]}
        children = [child for child in self.segments.values() if child.parent_id == segment.id]
        children.sort(key=lambda child: child.message_start)
        return {
            "summaries": [
                {"start": child.message_start, "end": child.message_end, "summary": child.summary} for child in children
            ]
        }

    def summarised_to(self):
        """Up to which message summaries cover the conversation without a gap."""
        end = 0
        for segment in sorted(self.segments.values(), key=lambda segment: segment.message_start):
            if segment.level == 0 and segment.summary and segment.message_start <= end:
                end = max(end, segment.message_end)
        return end


class Stub(BaseHTTPRequestHandler):
    """Answers like an OpenAI-compatible API: with a bullet for a summary, otherwise with what it was told."""

    summaries = itertools.count()

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = body["messages"][-1]["content"]
        asked = asked if isinstance(asked, str) else "".join(part.get("text", "") for part in asked)
        _, tag, material = asked.partition("<conversation_")
        text = f"Understood. {asked}"
        if tag:
            # Models fail now and then: the first summary is empty.
            text = "" if next(self.summaries) == 0 else f"- {' '.join(material.split()[1:30])}"
        usage = {"completion_tokens": len(text) // 4}
        answer = json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


TOPICS = [
    "berth crane tide tug quay pilot mooring draught ferry breakwater",
    "invoice ledger auditor refund payroll receipt tax payment statement budget",
    "sauce basil dough oven pasta garlic recipe olive onion flour",
]


def talk(messages):
    """The user's half of a conversation that goes from topic to topic."""
    for turn in range(messages // 2):
        words = TOPICS[turn // 40 % len(TOPICS)].split()
        said = [f"The {words[(turn + n) % 10]} and the {words[(turn * 3 + n * n) % 10]} of day {turn}." for n in range(20)]
        yield " ".join(said)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=2000)
    parser.add_argument("--model", default="stub")
    parser.add_argument("--model-url")
    parser.add_argument("--workspace", default="example")
    parser.add_argument("--target", default="127.0.0.1:50051")
    args = parser.parse_args()

    stub = ThreadingHTTPServer(("127.0.0.1", 0), Stub)
    threading.Thread(target=stub.serve_forever, daemon=True).start()
    model = Model(args.model_url or f"http://127.0.0.1:{stub.server_port}/v1", args.model)
    with grpc.insecure_channel(args.target, options=[("grpc.service_config", SERVICE_CONFIG)]) as channel:
        agent = Agent(services.PromptServiceStub(channel), args.workspace, model)
        try:
            for text in talk(args.messages):
                answer = agent.turn(text)
                if agent.window > agent.summarised_to():
                    sys.exit(f"messages {agent.summarised_to()} to {agent.window} are in neither prompt nor summary")
        except grpc.RpcError as error:
            sys.exit(f"{error.code().name}: {error.details()}")
    levels = [sum(segment.level == level for segment in agent.segments.values()) for level in range(3)]
    waiting = sum(not segment.summary for segment in agent.segments.values())
    shown = answer.messages[0].content.count("<summary>")
    print(f"{len(agent.messages)} messages; segments by level: {levels}, {waiting} without a summary")
    print(f"last prompt: {shown} summaries, messages from {agent.window} on; summarised to {agent.summarised_to()}")
    print(f"model calls: {next(model.calls)}")


if __name__ == "__main__":
    main()
