"""The providers' own SDKs: each sends a fragment as its manual says, and refuses one that is not of its types."""

from collections.abc import Iterable

import anthropic
import openai
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from botocore.config import Config
from botocore.session import Session
from google import genai
from google.genai import types as gemini_types
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import TypeAdapter

MODEL = {"model": "m"}
ANTHROPIC = MODEL | {"max_tokens": 16}


class Sdks:
    """A client of each, all of one server."""

    def __init__(self, url):
        self.openai = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
        self.anthropic = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)
        self.genai = genai.Client(api_key="none", vertexai=False, http_options={"base_url": url})
        session = Session()
        session.set_credentials("none", "none")
        options = Config(retries={"total_max_attempts": 1}, proxies={})
        self.bedrock = session.create_client("bedrock-runtime", "us-east-1", endpoint_url=url, config=options)

    def openai_chat(self, fragment):
        self.openai.chat.completions.create(**MODEL, **fragment)

    def openrouter_chat(self, fragment):
        self.openai.chat.completions.create(**MODEL, **fragment)

    def openai_responses(self, fragment):
        self.openai.responses.create(**MODEL, **fragment)

    def anthropic_messages(self, fragment):
        self.anthropic.messages.create(**ANTHROPIC, **fragment)

    def bedrock_converse(self, fragment):
        self.bedrock.converse(modelId="m", **fragment)

    def gemini(self, fragment):
        # Its types refuse unknown keys, where its plain dictionaries pass some by.
        system = fragment.get("systemInstruction")
        config = gemini_types.GenerateContentConfig.model_validate({"system_instruction": system})
        contents = [gemini_types.Content.model_validate(content) for content in fragment["contents"]]
        self.genai.models.generate_content(**MODEL, contents=contents, config=config)


def forced(value):
    """The value with its lazily checked parts checked."""
    if isinstance(value, dict):
        return {key: forced(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [forced(item) for item in value]
    return value


class Types:
    """The request types of an SDK as pydantic checks them: wrong values fail, and so do keys that they do not have."""

    def __init__(self, params, others):
        self.adapter = TypeAdapter(params)
        self.others = others

    def check(self, fragment):
        whole = self.others | fragment
        # A key that no type has is dropped.
        assert forced(self.adapter.validate_python(whole)) == whole


TYPES = {
    "openai-chat": Types(CompletionCreateParamsNonStreaming, MODEL),
    "openai-responses": Types(ResponseCreateParamsNonStreaming, MODEL),
    "anthropic-messages": Types(MessageCreateParamsNonStreaming, ANTHROPIC),
}
