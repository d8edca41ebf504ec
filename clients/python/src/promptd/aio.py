"""The client for asyncio: the methods of `Promptd`, awaited."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import grpc
from google.protobuf.message import Message
from typing_extensions import Self, TypeAlias, Unpack

from . import answers, calls, channel, requests, retry
from .aio_conversations import AsyncConversations
from .client import request_id
from .errors import PromptdError, from_rpc
from .last_good import LastGood, asked
from .options import AssembleOptions, DiffOptions, PlanOptions
from .prompt import Prompt
from .session import Change, Held
from .stores import Stores
from .watch import Following, FollowingWorkspace

Answer = TypeVar("Answer")
State = TypeVar("State")
OnChange: TypeAlias = Callable[[Change], Awaitable[None] | None]

log = logging.getLogger("promptd")


class AsyncPromptd:
    """A client of one service, for one event loop. It takes what `Promptd` takes."""

    def __init__(
        self,
        address: str = channel.DEFAULT_ADDRESS,
        *,
        token: str = "",
        tls: channel.TLS | bool = False,
        timeout: float = channel.DEFAULT_TIMEOUT_SECONDS,
        last_good: Stores | None = None,
        max_answer_bytes: int = channel.DEFAULT_MAX_ANSWER_BYTES,
    ) -> None:
        self.address = address
        self.timeout = timeout
        self.conversations = AsyncConversations(self)
        """Those that the service stores."""
        self._last_good = LastGood.of(last_good, token)
        self._metadata = channel.metadata(token)
        self._options = channel.options(address, max_answer_bytes)
        self._credentials = channel.credentials(tls)

    async def assemble(self, workspace: str, **options: Unpack[AssembleOptions]) -> Prompt:
        """The prompt for one turn."""
        return await self._assemble(calls.assemble(workspace, options))

    def session(
        self, workspace: str, *, on_change: OnChange | None = None, **defaults: Unpack[AssembleOptions]
    ) -> AsyncSession:
        """A conversation with one workspace, of which only changed messages are sent. `defaults` hold for every turn.

        With `on_change`, a function or a coroutine function, use it as `async with`: its task runs for that long.
        """
        return AsyncSession(self, workspace, defaults, on_change)

    async def diff(self, workspace: str, **options: Unpack[DiffOptions]) -> answers.DiffPromptResponse:
        """What an edit does to the prompt of one turn."""
        return await self._run(calls.diff(workspace, options))

    async def parse_reply(
        self,
        text: str,
        *,
        workspace: str = "",
        heartbeat: bool = False,
        profile: str = "",
        inputs: Mapping[str, Any] | None = None,
    ) -> answers.ParseReplyResponse:
        """Takes a model's reply apart by the rules that the prompt taught it."""
        return await self._run(calls.parse_reply(text, workspace, heartbeat, profile, inputs))

    async def plan_history(
        self, workspace: str, messages: Sequence[requests.HistoryMessage], **options: Unpack[PlanOptions]
    ) -> answers.PlanHistoryResponse:
        """Where a long conversation is cut into segments, and which summaries are rolled up."""
        return await self._run(calls.plan(workspace, messages, options))

    def list_workspaces(self, *, query: str = "") -> AsyncIterator[answers.Workspace]:
        """All workspaces that the token may see, in id order, page by page; of `query`, a part of the id or the agent's name."""
        return self._pages("ListWorkspaces", {"query": query})

    async def get_workspace(self, workspace: str) -> answers.Workspace:
        """A workspace with its context files and findings."""
        return await self._run(calls.get_workspace(workspace))

    def watch(self, workspace: str, *, known_revision: str = "") -> AsyncIterator[answers.WatchWorkspaceResponse]:
        """The workspace's state, then again after each change; over broken connections too."""
        return self._follow(FollowingWorkspace(self.address, workspace, known_revision))

    async def list_revisions(self, workspace: str) -> list[answers.Revision]:
        """The revisions that `assemble` can be asked for, the newest first, and what changed with each."""
        return await self._run(calls.list_revisions(workspace))

    async def read_file(self, workspace: str, path: str) -> answers.ReadFileResponse:
        """`workspace.yaml`, or a file that prompts are made of, as it is on the disk now."""
        return await self._run(calls.read_file(workspace, path))

    def list_skills(
        self, workspace: str, *, skill_filter: requests.SkillFilter | None = None, include_files: bool = False
    ) -> AsyncIterator[answers.Skill]:
        """Every skill of a workspace, hidden ones too, with the reason; page by page. `include_files`: shown ones with
        their files and front matter."""
        request = {"workspace_id": workspace, "skill_filter": skill_filter, "include_files": include_files}
        return self._pages("ListSkills", request)

    async def read_skill(
        self,
        workspace: str,
        name: str,
        *,
        file: str = "",
        skill_filter: requests.SkillFilter | None = None,
        revision: str = "",
    ) -> answers.ReadSkillResponse:
        """A skill's SKILL.md, or another of its files. Pass the filter and the revision of the prompt that showed it."""
        return await self._run(calls.read_skill(workspace, name, file, skill_filter, revision))

    def list_profiles(self) -> AsyncIterator[answers.Profile]:
        """All profiles, in name order, page by page."""
        return self._pages("ListProfiles", {})

    async def get_profile(self, name: str) -> answers.Profile:
        """A profile with its inputs, sections and source."""
        return await self._run(calls.get_profile(name))

    async def close(self) -> None:
        """Ends the connection, and all calls on it."""
        await self._channel.close(None)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @cached_property
    def _channel(self) -> grpc.aio.Channel:
        """Made by the first call, because it belongs to the event loop that runs then."""
        if self._credentials is None:
            return grpc.aio.insecure_channel(self.address, self._options)
        return grpc.aio.secure_channel(self.address, self._credentials, self._options)

    async def _assemble(self, call: calls.Call[Prompt]) -> Prompt:
        """Makes the call, with the last good answer behind it where that is on."""
        request = asked(call)
        if self._last_good is None or not self._last_good.takes(request):
            return await self._run(call)
        end = time.monotonic() + (self.timeout if call.timeout is None else call.timeout)
        try:
            prompt = await self._run(call)
        except PromptdError as error:
            stale = self._last_good.serve(request, error)
            if stale is None:
                raise
            return stale
        if not self._last_good.confirm(request, prompt):
            try:
                base = await self._run(self._last_good.base(call, end - time.monotonic()))
                self._last_good.keep(request, prompt, base)
            except PromptdError as error:
                self._last_good.keep_none(request, prompt, error)
        return prompt

    async def _run(self, call: calls.Call[Answer]) -> Answer:
        """Makes a call, and again where that is worth it, until its time is over."""
        timeout = self.timeout if call.timeout is None else call.timeout
        end = time.monotonic() + timeout
        attempt = 1
        while True:
            method = self._channel.unary_unary(call.path, type(call.request).SerializeToString, call.answer.FromString)
            try:
                running = method(call.request, timeout=max(end - time.monotonic(), 0), metadata=self._metadata)
                answer = await running
                return call.read(answer, request_id(await running.initial_metadata()))
            except grpc.RpcError as failure:
                error = from_rpc(failure, self.address, timeout)
                pause = retry.delay(attempt, error, end - time.monotonic())
                if pause is None:
                    raise error from None
            await asyncio.sleep(pause)
            attempt += 1

    async def _pages(self, name: str, values: Mapping[str, Any]) -> AsyncIterator[Any]:
        """The items of all pages of a list."""
        token = ""
        while True:
            items, token = await self._run(calls.page(name, values, token))
            for item in items:
                yield item
            if not token:
                return

    async def _stream(self, call: calls.Call[Answer]) -> AsyncIterator[Answer]:
        """The answers of a call that has many. It is not made again: what came of it has been given."""
        stream = self._open(call.method.name, call.request)
        try:
            async for answer in stream:
                yield call.read(answer, "")
        except grpc.RpcError as failure:
            raise from_rpc(failure, self.address, self.timeout) from None
        finally:
            stream.cancel()

    async def _follow(self, following: Following[State]) -> AsyncIterator[State]:
        """States as they come, over broken connections too."""
        while not following.ended:
            failure = None
            stream = self._open(following.method, following.request)
            try:
                async for answer in stream:
                    yield following.seen(answer)
            except grpc.RpcError as error:
                failure = error
            finally:
                stream.cancel()
            if not following.ended:
                await asyncio.sleep(following.pause(failure))

    def _open(self, name: str, request: Message) -> Any:
        """A stream of answers, which has no deadline."""
        call = calls.Call(calls.method(name), request, lambda answer, _: answer)
        method = self._channel.unary_stream(call.path, type(request).SerializeToString, call.answer.FromString)
        return method(request, metadata=self._metadata)


class AsyncSession:
    """Turns of one workspace, one after the other."""

    def __init__(
        self, client: AsyncPromptd, workspace: str, defaults: AssembleOptions, on_change: OnChange | None = None
    ) -> None:
        self._client = client
        self._held = Held(workspace, defaults)
        self._on_change = on_change
        self._task: asyncio.Task[None] | None = None

    async def assemble(self, **options: Unpack[AssembleOptions]) -> Prompt:
        """The prompt for one turn: `options` over the session's defaults."""
        return self._held.keep(await self._client._assemble(self._held.call(options)))

    async def close(self) -> None:
        """Ends the watch. The client stays open."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def __aenter__(self) -> Self:
        if self._on_change is not None:
            self._task = asyncio.create_task(self._follow(self._on_change))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _follow(self, on_change: OnChange) -> None:
        """Tells of every state but the first, which is not a change."""
        first = True
        try:
            async for state in self._client.watch(self._held.workspace):
                if not first:
                    await told(on_change, state)
                first = False
        except PromptdError as error:
            log.error("the workspace %s is no longer followed: %s", self._held.workspace, error)


async def told(on_change: OnChange, state: Change) -> None:
    """Calls `on_change`; its own mistake must not end the watch."""
    try:
        waiting = on_change(state)
        if waiting is not None:
            await waiting
    except Exception:
        log.exception("on_change failed")
