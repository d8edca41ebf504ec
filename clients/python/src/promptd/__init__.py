"""Client of promptd, the prompt assembly service.

    from promptd import Promptd

    with Promptd("127.0.0.1:50051") as client:
        prompt = client.assemble("example", user={"name": "Dana"}, format="openai-chat")
        print(prompt.messages[0].content)

`AsyncPromptd` is the same for asyncio. `promptd.requests` has the types of what is sent, `promptd.answers` of what comes back.
"""

from .aio import AsyncPromptd, AsyncSession
from .aio_conversations import AsyncConversations
from .channel import TLS
from .client import Promptd
from .conversations import Conversations
from .errors import PromptdError, Violation
from .prompt import Prompt
from .session import Session
from .stores import Folder, Memory

__all__ = [
    "TLS",
    "AsyncConversations",
    "AsyncPromptd",
    "AsyncSession",
    "Conversations",
    "Folder",
    "Memory",
    "Prompt",
    "Promptd",
    "PromptdError",
    "Session",
    "Violation",
]
