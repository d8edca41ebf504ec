"""The official Python SDK, over HTTP and stdio, at both revisions."""

import asyncio
from typing import Any, Literal

import mcp_types as types
import pytest
from mcp import Client, MCPError, StdioServerParameters
from pydantic import TypeAdapter
from server import EXAMPLE, PROMPTD, WAIT_SECONDS, Folder, Server
from wire import METHOD_NOT_FOUND

SETTINGS = [(transport, mode) for transport in ("http", "stdio") for mode in ("auto", "legacy")]
REVISION = {"auto": "2026-07-28", "legacy": "2025-11-25"}
RULES = "workspace://example/AGENTS.md"
TIDES = "skill://example/tide-window/SKILL.md"


class SkillsRequest(types.Request[dict[str, Any], Literal["skills/list", "skills/get", "resources/directory/read"]]):
    """The extension's methods, which the SDK does not know."""


async def extension(client, method, **params):
    request = SkillsRequest(method=method, params=params)
    return await client.session.send_request(request, TypeAdapter(dict))


@pytest.fixture(params=SETTINGS, ids=lambda pair: "-".join(pair))
def setting(request):
    """A server, and clients of it: `connect(on_message)` makes one."""
    transport, mode = request.param
    with (Server if transport == "http" else Folder)({"example": EXAMPLE}) as folder:

        def connect(on_message=None, mode=mode):
            arguments = ["mcp", "--workspaces", str(folder.path / "workspaces")]
            target = folder.url("example") if transport == "http" else StdioServerParameters(command=PROMPTD, args=arguments)
            return Client(target, mode=mode, message_handler=on_message, cache=None, read_timeout_seconds=WAIT_SECONDS)

        yield transport, mode, folder.workspace("example"), connect


def run(test):
    asyncio.run(asyncio.wait_for(test, 3 * WAIT_SECONDS))


def test_skills_prompts_and_tools(setting):
    _, mode, _, connect = setting

    async def test():
        async with connect() as client:
            assert client.protocol_version == REVISION[mode]
            assert client.server_info.name == "promptd"
            assert client.server_capabilities.extensions["io.modelcontextprotocol/skills"] == {"directoryRead": True}

            skills = (await extension(client, "skills/list"))["skills"]
            names = [skill["frontmatter"]["name"] for skill in skills]
            assert names == ["berth-allocation", "harbour-dues", "radio-log", "storm-watch", "tide-window"]
            assert (await extension(client, "skills/get", uri=TIDES))["skill"] == skills[-1]
            for skill in skills:
                for file in skill["resources"]:
                    (content,) = (await client.read_resource(file["uri"])).contents
                    assert len(content.text.encode()) == file["size"]
            folder = await extension(client, "resources/directory/read", uri=TIDES.removesuffix("/SKILL.md"))
            assert [entry["name"] for entry in folder["resources"]] == ["SKILL.md", "scripts"]

            resources = (await client.list_resources()).resources
            assert {RULES, TIDES} <= {str(resource.uri) for resource in resources}
            (rules,) = (await client.read_resource(RULES)).contents
            assert rules.text == (EXAMPLE / "AGENTS.md").read_text(encoding="utf-8")

            prompts = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
            assert "turn.user.name" in {argument.name for argument in prompts["five-layer"].arguments}
            arguments = {"turn.user.name": "Skipper Ahmed", "turn.now": "2026-02-27T09:30:00Z", "turn.channel.name": "radio"}
            prompt = await client.get_prompt("five-layer", arguments)
            text = "\n".join(message.content.text for message in prompt.messages)
            assert {message.role for message in prompt.messages} == {"user"}
            assert "Skipper Ahmed" in text and "2026-02-27T10:30" in text and "tide-window" in text

            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert set(tools) == {"findings", "read_skill"}
            findings = await client.call_tool("findings")
            assert not findings.is_error and findings.structured_content["workspace"] == "example"
            read = await client.call_tool("read_skill", {"name": "tide-window", "file": "scripts/window.py"})
            assert read.content[0].text == (EXAMPLE / "skills/tide-window/scripts/window.py").read_text(encoding="utf-8")

    run(test())


def test_an_edit_is_seen(setting):
    transport, mode, workspace, connect = setting
    rules = workspace / "AGENTS.md"
    text = "# Rules\n\nThe quay is closed.\n"

    async def edit_is_seen(client, wait):
        rules.write_text(text, encoding="utf-8")
        await wait()
        (content,) = (await client.read_resource(RULES)).contents
        assert content.text == text

    async def listening():
        async with connect() as client, client.listen(resource_subscriptions=[RULES]) as subscription:
            assert subscription.honored.resource_subscriptions == [RULES]

            async def wait():
                event = await anext(subscription)
                assert str(event.uri) == RULES

            await edit_is_seen(client, wait)

    async def subscribing():
        updated = asyncio.Event()

        async def on_message(message):
            if isinstance(message, types.ResourceUpdatedNotification) and str(message.params.uri) == RULES:
                updated.set()

        async with connect(on_message) as client:
            assert client.server_capabilities.resources.subscribe and client.server_capabilities.resources.list_changed
            await client.subscribe_resource(RULES)
            await edit_is_seen(client, updated.wait)

    async def without_a_subscription():
        """This revision has none without a session; so another client says when."""
        async with connect() as client, connect(mode="auto") as other:
            assert not client.server_capabilities.resources.subscribe and not client.server_capabilities.resources.list_changed
            with pytest.raises(MCPError) as refused:
                await client.subscribe_resource(RULES)
            assert refused.value.error.code == METHOD_NOT_FOUND
            async with other.listen(resource_subscriptions=[RULES]) as subscription:
                await edit_is_seen(client, lambda: anext(subscription))

    run({("http", "legacy"): without_a_subscription, ("stdio", "legacy"): subscribing}.get((transport, mode), listening)())
