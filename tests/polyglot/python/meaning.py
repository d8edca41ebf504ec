"""What a prompt says, and what a provider's request says: two lists of the same form, made apart from each other.

An event is ("system" | "user" | "assistant", text), ("call", number, tool, arguments) or ("result", number, text): calls are
numbered in order, so that two lists are the same whatever ids each has.
"""

import json
import re

from promptd.v1 import promptd_pb2 as pb

PLAIN = re.compile(r"[a-zA-Z0-9_-]{1,64}")
SYSTEM_APART = ("anthropic-messages", "bedrock-converse", "gemini")
TRAILING_AS_USER = (*SYSTEM_APART, "openrouter-chat")
ENDS_TRIMMED = ("anthropic-messages", "bedrock-converse", "openrouter-chat")
BEGINS_WITH_THE_USER = (*SYSTEM_APART, "openrouter-chat")


def expected(prompt, kind, trailing=False):
    """The events of a prompt's messages as the provider takes them, each with the index of its message; and the calls' ids.

    `trailing`: the system messages behind a conversation in which the user spoke stay there, as the user's for a provider
    that takes none there.
    """
    apart, found, ids, waiting = kind in SYSTEM_APART, [], [], []
    carried = [index for index, m in enumerate(prompt.messages) if m.HasField("conversation_index")]
    asked = any(prompt.messages[index].role == pb.ROLE_USER and prompt.messages[index].content.strip() for index in carried)
    behind = carried[-1] if trailing and asked and kind in TRAILING_AS_USER else len(prompt.messages)

    def role_of(index):
        message = prompt.messages[index]
        return pb.ROLE_USER if message.role == pb.ROLE_SYSTEM and index > behind else message.role

    messages = list(enumerate(prompt.messages))
    if kind in BEGINS_WITH_THE_USER:
        users = [index for index, m in messages if role_of(index) == pb.ROLE_USER and m.content.strip()]
        first = users[0] if users else len(messages)
        messages = [(index, m) for index, m in messages if index >= first or role_of(index) == pb.ROLE_SYSTEM]
    if apart:
        messages.sort(key=lambda message: role_of(message[0]) != pb.ROLE_SYSTEM)
    for index, message in messages:
        if message.role == pb.ROLE_TOOL:
            at = next(at for at, (id, _) in enumerate(waiting) if id == message.tool_call_id)
            blank = kind == "bedrock-converse" and not message.content.strip()
            found.append((index, ("result", waiting.pop(at)[1], "" if blank else message.content)))
            continue
        calls = list(message.tool_calls)
        if said(message.content, kind, bool(calls)):
            found.append((index, (pb.Role.Name(role_of(index)).removeprefix("ROLE_").lower(), message.content)))
        for call in calls:
            waiting.append((call.id, len(ids)))
            found.append((index, ("call", len(ids), call.name, arguments(call.arguments_json, kind))))
            ids.append(call.id)
    if kind in ENDS_TRIMMED and found and found[-1][1][0] == "assistant":
        index, (role, content) = found[-1]
        found[-1] = (index, (role, content.rstrip()))
    return found, ids


def said(content, kind, calls):
    """Whether a text is sent: not all providers take blank ones."""
    if kind in BEGINS_WITH_THE_USER:
        return content.strip() != ""
    return content != "" or not calls


def arguments(text, kind):
    """Arguments as they are sent: as text, or as an object."""
    if kind in ("openai-chat", "openai-responses", "openrouter-chat"):
        return text
    try:
        value = json.loads(text.strip() or "{}")
    except ValueError:
        value = None
    beyond = isinstance(value, dict) and any(isinstance(v, int) and abs(v) >= 2**64 for v in value.values())
    return value if isinstance(value, dict) and not beyond else {"arguments_json": text}


class Read:
    """The events of a request body, and behind which of them the provider is asked to keep the prefix."""

    def __init__(self, kind, body):
        self.events, self.marked, self.ids, self.names = [], [], [], []
        getattr(self, kind.replace("-", "_"))(body)

    def said(self, role, text, mark=None):
        self.events.append((role, text))
        self.mark(mark)

    def called(self, id, name, arguments, mark=None):
        assert id not in self.ids, f"{id} is the id of two calls"
        self.events.append(("call", len(self.ids), name, arguments))
        self.ids.append(id)
        self.names.append(name)
        self.mark(mark)

    def answered(self, id, text, mark=None, name=None):
        number = self.ids.index(id)
        assert name in (None, self.names[number])
        self.events.append(("result", number, text))
        self.mark(mark)

    def mark(self, mark):
        if mark is not None:
            assert mark == {"type": "ephemeral"}
            self.marked.append(len(self.events) - 1)

    def openai_chat(self, body):
        for message in body["messages"]:
            role, content, mark = message["role"], message["content"], message.get("cache_control")
            if role == "tool":
                self.answered(message["tool_call_id"], content, mark)
                continue
            calls = message.get("tool_calls", [])
            if isinstance(content, list):
                [part] = content
                assert part["type"] == "text" and mark is None
                self.said(role, part["text"], part.get("cache_control"))
            elif content is not None:
                self.said(role, content)
            for call in calls:
                assert call["type"] == "function"
                self.called(call["id"], call["function"]["name"], call["function"]["arguments"])
            self.mark(mark)

    openrouter_chat = openai_chat

    def openai_responses(self, body):
        if "instructions" in body:
            self.said("system", body["instructions"])
        for item in body["input"]:
            if item["type"] == "message":
                self.said(item["role"], item["content"])
            elif item["type"] == "function_call":
                self.called(item["call_id"], item["name"], item["arguments"])
            else:
                assert item["type"] == "function_call_output"
                self.answered(item["call_id"], item["output"])

    def anthropic_messages(self, body):
        for block in body.get("system", []):
            assert block["type"] == "text"
            self.said("system", block["text"], block.get("cache_control"))
        for role, block in turns(body["messages"], "content", "assistant"):
            mark = block.get("cache_control")
            if block["type"] == "text":
                self.said(role, block["text"], mark)
            elif block["type"] == "tool_use":
                assert role == "assistant"
                self.called(block["id"], block["name"], block["input"], mark)
            else:
                assert block["type"] == "tool_result" and role == "user"
                self.answered(block["tool_use_id"], block["content"], mark)

    def bedrock_converse(self, body):
        system = [("system", block) for block in body.get("system", [])]
        for role, block in [*system, *turns(body["messages"], "content", "assistant")]:
            [(member, value)] = block.items()
            if member == "text":
                self.said(role, value)
            elif member == "toolUse":
                assert role == "assistant"
                self.called(value["toolUseId"], value["name"], value["input"])
            elif member == "toolResult":
                assert role == "user"
                self.answered(value["toolUseId"], "".join(block["text"] for block in value["content"]))
            else:
                assert block == {"cachePoint": {"type": "default"}}
                self.marked.append(len(self.events) - 1)

    def gemini(self, body):
        for part in body.get("systemInstruction", {"parts": []})["parts"]:
            self.said("system", part["text"])
        for role, part in turns(body["contents"], "parts", "model"):
            [(member, value)] = part.items()
            if member == "text":
                self.said("assistant" if role == "model" else role, value)
            elif member == "functionCall":
                assert role == "model"
                self.called(value["id"], value["name"], value["args"])
            else:
                assert member == "functionResponse" and role == "user"
                assert list(value["response"]) == ["output"]
                self.answered(value["id"], value["response"]["output"], name=value["name"])


def turns(messages, content, model):
    """The blocks of messages with their roles, where the user begins, roles alternate and results come first."""
    for at, message in enumerate(messages):
        assert message["role"] == ("user", model)[at % 2] and message[content]
        kinds = [block.get("type") or next(iter(block)) for block in message[content]]
        results = [kind in ("tool_result", "toolResult", "functionResponse") for kind in kinds if kind != "cachePoint"]
        assert results == sorted(results, reverse=True), "something before a result"
        yield from ((message["role"], block) for block in message[content])
