"""Renders a stale prompt for the providers, as far as that needs no service: no breakpoints of caches.

The service renders all others; docs/rules.md says how.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any

from .answers import PromptMessage, ToolCall

Messages = list[PromptMessage]


def render(format: str, messages: Messages) -> Any:
    """The fragment of a format; None where none was asked for."""
    system = [one.content for one in messages if one.role == "system" and one.content]
    talk = [one for one in messages if one.role != "system"]
    if format == "text":
        return "\n\n".join(system)
    if format in ("openai-chat", "openrouter-chat"):
        return {"messages": [openai_chat(one) for one in messages]}
    if format == "openai-responses":
        return {"instructions": "\n\n".join(system), "input": [item for one in talk for item in openai_items(one)]}
    if format == "anthropic-messages":
        blocks = [{"type": "text", "text": text} for text in system]
        return {"system": blocks, "messages": turns(talk, "assistant", "content", anthropic_blocks)}
    if format == "bedrock-converse":
        blocks = [{"text": text} for text in system]
        return {"system": blocks, "messages": turns(talk, "assistant", "content", bedrock_blocks)}
    if format == "gemini":
        names = {call.id: call.name for one in talk for call in one.tool_calls}
        contents = turns(talk, "model", "parts", lambda one: gemini_parts(one, names))
        return {"systemInstruction": {"parts": [{"text": text} for text in system]}, "contents": contents}
    return None


def openai_chat(one: PromptMessage) -> dict[str, Any]:
    """A message of Chat Completions."""
    message: dict[str, Any] = {"role": one.role, "content": one.content}
    if one.tool_calls and not one.content:
        message["content"] = None
    if one.role == "tool":
        message["tool_call_id"] = one.tool_call_id
    if one.tool_calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments_json}}
            for call in one.tool_calls
        ]
    return message


def openai_items(one: PromptMessage) -> Iterable[dict[str, Any]]:
    """The items of Responses that a message is."""
    if one.role == "tool":
        yield {"type": "function_call_output", "call_id": one.tool_call_id, "output": one.content}
    elif one.content:
        yield {"type": "message", "role": one.role, "content": one.content}
    for call in one.tool_calls:
        yield {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments_json}


def turns(
    talk: Messages, model: str, key: str, blocks: Callable[[PromptMessage], list[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """The conversation of a provider whose turns alternate; it begins with the user, who also gives the results of tools."""
    made: list[dict[str, Any]] = []
    for role, group in groupby(talk, lambda one: model if one.role == "assistant" else "user"):
        said = [block for one in group for block in blocks(one)]
        if said and (made or role == "user"):
            made.append({"role": role, key: said})
    return made


def anthropic_blocks(one: PromptMessage) -> list[dict[str, Any]]:
    if one.role == "tool":
        return [{"type": "tool_result", "tool_use_id": one.tool_call_id, "content": one.content}]
    said: list[dict[str, Any]] = [{"type": "text", "text": one.content}] if one.content else []
    calls = [{"type": "tool_use", "id": call.id, "name": call.name, "input": arguments(call)} for call in one.tool_calls]
    return said + calls


def bedrock_blocks(one: PromptMessage) -> list[dict[str, Any]]:
    if one.role == "tool":
        return [{"toolResult": {"toolUseId": one.tool_call_id, "content": [{"text": one.content}]}}]
    said: list[dict[str, Any]] = [{"text": one.content}] if one.content else []
    uses = [{"toolUseId": call.id, "name": call.name, "input": arguments(call)} for call in one.tool_calls]
    return said + [{"toolUse": use} for use in uses]


def gemini_parts(one: PromptMessage, names: dict[str, str]) -> list[dict[str, Any]]:
    """The parts of a message; a result names the function that gave it."""
    if one.role == "tool":
        name = names.get(one.tool_call_id, one.tool_call_id)
        return [{"functionResponse": {"id": one.tool_call_id, "name": name, "response": {"output": one.content}}}]
    said: list[dict[str, Any]] = [{"text": one.content}] if one.content else []
    asked = [{"id": call.id, "name": call.name, "args": arguments(call)} for call in one.tool_calls]
    return said + [{"functionCall": call} for call in asked]


def arguments(call: ToolCall) -> Any:
    """A call's arguments; what is not a JSON object is given as text, so that nothing is lost."""
    try:
        parsed = json.loads(call.arguments_json or "{}")
    except ValueError:
        parsed = None
    return parsed if isinstance(parsed, dict) else {"arguments": call.arguments_json}
