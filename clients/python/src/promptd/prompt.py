"""A prompt, and how it is given to the official clients of the providers."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

from . import answers, names
from .decode import decode
from .encode import enum_numbers
from .errors import PromptdError
from .v1 import promptd_pb2 as pb

FORMATS = {number: name for name, number in enum_numbers(pb.DESCRIPTOR.enum_types_by_name["RenderFormat"]).items()}


@dataclass(frozen=True)
class Prompt:
    """The prompt of one turn."""

    messages: list[answers.PromptMessage] = field(default_factory=list)
    """In the order of the context window. One that is `ephemeral` must not be written to a history."""
    sections: list[answers.SectionReport] = field(default_factory=list)
    """What became of every section of the profile. Empty where `stale`."""
    findings: list[answers.Finding] = field(default_factory=list)
    """Warnings and errors that bear on this prompt."""
    revision: str = ""
    """Names all that was read besides the request."""
    digest: str = ""
    """Names the prompt. Empty where `stale`."""
    profile: str = ""
    """The profile that was used."""
    rendered: Any = None
    """The fragment of `format`: what its JSON holds, or text. None: no format was asked for."""
    format: names.RenderFormat = "unspecified"
    """What `rendered` is for."""
    size: answers.Size = field(default_factory=answers.Size)
    """Totals over all messages."""
    cache_plan: answers.CachePlan | None = None
    """How much of the front stays the same from turn to turn."""
    conversation_window: answers.ConversationWindow | None = None
    """What is carried of the conversation. None: no message of it."""
    allowed_tools: list[str] = field(default_factory=list)
    """The tools that the model may use."""
    cards: list[answers.Card] = field(default_factory=list)
    """Texts for the user interface, not for the model."""
    session_position: int | None = None
    """Where the turn's stored session was read: with it the same turn gives the same prompt again. None: it names none."""
    canary_side: names.CanarySide = "unspecified"
    """While a canary runs on the workspace: which of its two sides this is."""
    recalled_positions: list[int] = field(default_factory=list)
    """The positions of the stored messages that were recalled for the turn."""
    request_id: str = ""
    """The call's name in the server's log."""
    stale: bool = False
    """Whether this is an answer of before, because no server could be reached."""
    age: float = 0.0
    """For how many seconds a stale prompt was not confirmed by the server."""

    @classmethod
    def read(cls, request: pb.AssemblePromptRequest, answer: pb.AssemblePromptResponse, request_id: str) -> Prompt:
        """The prompt of an answer."""
        whole: answers.AssemblePromptResponse = decode(answer)
        format = FORMATS[request.render_format]
        said = [message.content for message in request.turn.conversation.messages]
        messages = whole.messages
        if request.reference_conversation:
            messages = [replace(one, content=one.content or said_by(one, said)) for one in messages]
        return cls(
            messages=messages,
            sections=whole.sections,
            findings=whole.findings,
            revision=whole.revision,
            digest=whole.digest,
            profile=whole.profile,
            rendered=parsed(format, whole.rendered),
            format=format,  # type: ignore[arg-type]
            size=whole.size or answers.Size(),
            cache_plan=whole.cache_plan,
            conversation_window=whole.conversation_window,
            allowed_tools=whole.allowed_tools,
            cards=whole.cards,
            session_position=whole.session_position,
            canary_side=whole.canary_side,
            recalled_positions=whole.recalled_positions,
            request_id=request_id,
        )

    def for_openai(self) -> dict[str, Any]:
        """Arguments of `openai`'s `chat.completions.create` or, for `openai-responses`, of `responses.create`."""
        return dict(self.fragment("for_openai", "openai-chat", "openai-responses", "openrouter-chat"))

    def for_anthropic(self) -> dict[str, Any]:
        """Arguments of `anthropic`'s `messages.create`."""
        return dict(self.fragment("for_anthropic", "anthropic-messages"))

    def for_gemini(self) -> dict[str, Any]:
        """Arguments of `google.genai`'s `models.generate_content`. More settings go into the dictionary `config`."""
        fragment = self.fragment("for_gemini", "gemini")
        instruction = fragment.get("systemInstruction")
        config = {"system_instruction": instruction} if instruction else {}
        return {"contents": fragment["contents"], "config": config}

    def for_bedrock(self) -> dict[str, Any]:
        """Arguments of `converse` of boto3's `bedrock-runtime`."""
        return dict(self.fragment("for_bedrock", "bedrock-converse"))

    def fragment(self, method: str, *formats: str) -> Any:
        """`rendered`, which must be of one of the formats."""
        if self.format in formats:
            return self.rendered
        hint = f"assemble it with format=\"{formats[0]}\" to call {method}()"
        raise PromptdError("FAILED_PRECONDITION", f"the format of this prompt is {self.format}; {hint}")


def said_by(message: answers.PromptMessage, said: list[str]) -> str:
    """The text of a message that the service left out because the request has it."""
    index = message.conversation_index
    return said[index] if index is not None and not message.not_modified else ""


def parsed(format: str, rendered: str) -> Any:
    """What the text of `rendered` holds."""
    if format == "unspecified":
        return None
    return rendered if format == "text" or not rendered else json.loads(rendered)
