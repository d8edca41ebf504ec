"""Prompts through the official clients of the providers, to a stub: fresh ones and stale ones."""

from typing import Any

import anthropic
import boto3
import openai
import pytest
from botocore.config import Config
from google import genai
from pydantic import TypeAdapter
from stub import Stub

from promptd import Memory, Promptd, PromptdError
from running import Server

TURN: dict[str, Any] = {
    "ephemeral_system_prompt": "Answer in one sentence.",
    "conversation": {
        "messages": [
            {"role": "user", "content": "Any berth free?"},
            {"role": "assistant", "tool_calls": [{"id": "a", "name": "berths", "arguments_json": '{"day": 1}'}]},
            {"role": "tool", "content": "Berth 4", "tool_call_id": "a"},
            {"role": "user", "content": "And tomorrow?"},
        ]
    },
}


def openai_chat(prompt, url):
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    return client.chat.completions.create(model="m", **prompt.for_openai()).choices[0].message.content


def openai_responses(prompt, url):
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    return client.responses.create(model="m", **prompt.for_openai()).status


def anthropic_messages(prompt, url):
    client = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)
    return client.messages.create(model="m", max_tokens=16, **prompt.for_anthropic()).content[0].text


def gemini(prompt, url):
    client = genai.Client(api_key="none", vertexai=False, http_options={"base_url": url})
    arguments = prompt.for_gemini()
    # The SDK lets unknown keys of dictionaries pass; its types do not.
    TypeAdapter(list[genai.types.Content]).validate_python(arguments["contents"])
    return client.models.generate_content(model="m", **arguments).text


def bedrock_converse(prompt, url):
    keys = {"aws_access_key_id": "none", "aws_secret_access_key": "none", "region_name": "us-east-1"}
    options = Config(retries={"total_max_attempts": 1}, proxies={})
    client = boto3.client("bedrock-runtime", endpoint_url=url, config=options, **keys)
    return client.converse(modelId="m", **prompt.for_bedrock())["stopReason"]


CALLS = {
    "openai-chat": openai_chat,
    "openrouter-chat": openai_chat,
    "openai-responses": openai_responses,
    "anthropic-messages": anthropic_messages,
    "gemini": gemini,
    "bedrock-converse": bedrock_converse,
}


@pytest.fixture(scope="module")
def prompts():
    """For each format a fresh prompt and a stale one of the same turn."""
    with Server() as server, Promptd(server.address, last_good=Memory(), timeout=2) as client:
        fresh = {format: client.assemble("example", format=format, **TURN) for format in CALLS}
        server.kill()
        yield {(format, False): prompt for format, prompt in fresh.items()} | {
            (format, True): client.assemble("example", format=format, **TURN) for format in CALLS
        }


@pytest.mark.parametrize("stale", [False, True])
@pytest.mark.parametrize("format", CALLS)
def test_a_prompt_through_the_providers_client(format, stale, prompts):
    prompt = prompts[format, stale]
    assert prompt.stale == stale
    with Stub() as stub:
        assert CALLS[format](prompt, stub.url)
        body = stub.received()
    sent = str(body)
    for said in ["Answer in one sentence.", "Any berth free?", "berths", "Berth 4", "And tomorrow?"]:
        assert said in sent, said
    if stale:
        assert shape(prompt.rendered) == shape(prompts[format, False].rendered)


def shape(value):
    """The keys and the kinds of values, without the marks for caches and what they need: a text as a part."""
    if isinstance(value, dict):
        shaped = {key: shape(item) for key, item in value.items() if key != "cache_control"}
        return shaped | {"content": "str"} if shaped.get("content") == [{"type": "str", "text": "str"}] else shaped
    if isinstance(value, list):
        return [shape(item) for item in value if not (isinstance(item, dict) and "cachePoint" in item)]
    return type(value).__name__


def test_a_prompt_of_another_format_says_what_to_ask_for(prompts):
    with pytest.raises(PromptdError, match='the format of this prompt is gemini; assemble it with format="openai-chat" to call for_openai'):
        prompts["gemini", False].for_openai()


def test_gemini_takes_more_settings(prompts):
    arguments = prompts["gemini", False].for_gemini()
    assert arguments["config"]["system_instruction"] and set(arguments) == {"contents", "config"}
