"""The blocking client."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import grpc
from google.protobuf.message import Message
from typing_extensions import Self, Unpack

from . import answers, calls, channel, requests, retry
from .conversations import Conversations
from .errors import PromptdError, from_rpc
from .last_good import LastGood, asked
from .options import AssembleOptions, DiffOptions, PlanOptions
from .prompt import Prompt
from .session import Change, OnChange, Session
from .stores import Stores
from .watch import FollowingWorkspace, Watch

Answer = TypeVar("Answer")


class Promptd:
    """A client of one service. It is safe to use from many threads; open one and keep it.

    - `token`: the caller's, where the server has `auth.tokens_file`.
    - `tls`: True, or the files of a `TLS`. Off by default.
    - `timeout`: seconds that a call has, with all its retries.
    - `last_good`: `Memory()`, or a folder: answers of before are served while no server can be reached. Off by default.
    - `max_answer_bytes`: the largest answer that is taken.
    """

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
        self.conversations = Conversations(self)
        """Those that the service stores."""
        self._last_good = LastGood.of(last_good, token)
        self._metadata = channel.metadata(token)
        options = channel.options(address, max_answer_bytes)
        credentials = channel.credentials(tls)
        if credentials is None:
            self._channel = grpc.insecure_channel(address, options)
        else:
            self._channel = grpc.secure_channel(address, credentials, options)

    def assemble(self, workspace: str, **options: Unpack[AssembleOptions]) -> Prompt:
        """The prompt for one turn.

        Raises PromptdError; docs/calling.md lists the reasons.
        """
        return self._assemble(calls.assemble(workspace, options))

    def session(
        self, workspace: str, *, on_change: OnChange | None = None, **defaults: Unpack[AssembleOptions]
    ) -> Session:
        """A conversation with one workspace, of which only changed messages are sent. `defaults` hold for every turn.

        `on_change` is called, in a thread of the session's own, after each change of the workspace.
        """
        return Session(self, workspace, defaults, on_change)

    def diff(self, workspace: str, **options: Unpack[DiffOptions]) -> answers.DiffPromptResponse:
        """What an edit does to the prompt of one turn."""
        return self._run(calls.diff(workspace, options))

    def parse_reply(
        self,
        text: str,
        *,
        workspace: str = "",
        heartbeat: bool = False,
        profile: str = "",
        inputs: Mapping[str, Any] | None = None,
    ) -> answers.ParseReplyResponse:
        """Takes a model's reply apart by the rules that the prompt taught it."""
        return self._run(calls.parse_reply(text, workspace, heartbeat, profile, inputs))

    def plan_history(
        self, workspace: str, messages: Sequence[requests.HistoryMessage], **options: Unpack[PlanOptions]
    ) -> answers.PlanHistoryResponse:
        """Where a long conversation is cut into segments, and which summaries are rolled up."""
        return self._run(calls.plan(workspace, messages, options))

    def list_workspaces(self, *, query: str = "") -> Iterator[answers.Workspace]:
        """All workspaces that the token may see, in id order, page by page; of `query`, a part of the id or the agent's name."""
        return self._pages("ListWorkspaces", {"query": query})

    def get_workspace(self, workspace: str) -> answers.Workspace:
        """A workspace with its context files and findings."""
        return self._run(calls.get_workspace(workspace))

    def watch(self, workspace: str, *, known_revision: str = "") -> Watch[answers.WatchWorkspaceResponse]:
        """The workspace's state, then again after each change; over broken connections too. Close it when done."""
        return Watch(self._open, FollowingWorkspace(self.address, workspace, known_revision))

    def list_revisions(self, workspace: str) -> list[answers.Revision]:
        """The revisions that `assemble` can be asked for, the newest first, and what changed with each."""
        return self._run(calls.list_revisions(workspace))

    def read_file(self, workspace: str, path: str) -> answers.ReadFileResponse:
        """`workspace.yaml`, or a file that prompts are made of, as it is on the disk now."""
        return self._run(calls.read_file(workspace, path))

    def list_skills(
        self, workspace: str, *, skill_filter: requests.SkillFilter | None = None, include_files: bool = False
    ) -> Iterator[answers.Skill]:
        """Every skill of a workspace, hidden ones too, with the reason; page by page. `include_files`: shown ones with
        their files and front matter."""
        request = {"workspace_id": workspace, "skill_filter": skill_filter, "include_files": include_files}
        return self._pages("ListSkills", request)

    def read_skill(
        self,
        workspace: str,
        name: str,
        *,
        file: str = "",
        skill_filter: requests.SkillFilter | None = None,
        revision: str = "",
    ) -> answers.ReadSkillResponse:
        """A skill's SKILL.md, or another of its files. Pass the filter and the revision of the prompt that showed it."""
        return self._run(calls.read_skill(workspace, name, file, skill_filter, revision))

    def list_profiles(self) -> Iterator[answers.Profile]:
        """All profiles, in name order, page by page."""
        return self._pages("ListProfiles", {})

    def get_profile(self, name: str) -> answers.Profile:
        """A profile with its inputs, sections and source."""
        return self._run(calls.get_profile(name))

    def close(self) -> None:
        """Ends the connection, and all calls on it."""
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _assemble(self, call: calls.Call[Prompt]) -> Prompt:
        """Makes the call, with the last good answer behind it where that is on."""
        request = asked(call)
        if self._last_good is None or not self._last_good.takes(request):
            return self._run(call)
        end = time.monotonic() + (self.timeout if call.timeout is None else call.timeout)
        try:
            prompt = self._run(call)
        except PromptdError as error:
            stale = self._last_good.serve(request, error)
            if stale is None:
                raise
            return stale
        if not self._last_good.confirm(request, prompt):
            try:
                base = self._run(self._last_good.base(call, end - time.monotonic()))
                self._last_good.keep(request, prompt, base)
            except PromptdError as error:
                self._last_good.keep_none(request, prompt, error)
        return prompt

    def _run(self, call: calls.Call[Answer]) -> Answer:
        """Makes a call, and again where that is worth it, until its time is over."""
        timeout = self.timeout if call.timeout is None else call.timeout
        end = time.monotonic() + timeout
        attempt = 1
        while True:
            try:
                method = self._channel.unary_unary(call.path, type(call.request).SerializeToString, call.answer.FromString)
                left = max(end - time.monotonic(), 0)
                answer, done = method.with_call(call.request, timeout=left, metadata=self._metadata)
                return call.read(answer, request_id(done.initial_metadata()))
            except grpc.RpcError as failure:
                error = from_rpc(failure, self.address, timeout)
                pause = retry.delay(attempt, error, end - time.monotonic())
                if pause is None:
                    raise error from None
            time.sleep(pause)
            attempt += 1

    def _pages(self, name: str, values: Mapping[str, Any]) -> Iterator[Any]:
        """The items of all pages of a list."""
        token = ""
        while True:
            items, token = self._run(calls.page(name, values, token))
            yield from items
            if not token:
                return

    def _stream(self, call: calls.Call[Answer]) -> Iterator[Answer]:
        """The answers of a call that has many. It is not made again: what came of it has been given."""
        stream = self._open(call.method.name, call.request)
        try:
            for answer in stream:
                yield call.read(answer, "")
        except grpc.RpcError as failure:
            raise from_rpc(failure, self.address, self.timeout) from None
        finally:
            stream.cancel()

    def _open(self, name: str, request: Message) -> Any:
        """A stream of answers, which has no deadline."""
        call = calls.Call(calls.method(name), request, lambda answer, _: answer)
        method = self._channel.unary_stream(call.path, type(request).SerializeToString, call.answer.FromString)
        return method(request, metadata=self._metadata)


def request_id(metadata: Any) -> str:
    """The call's name in the server's log."""
    return next((str(value) for key, value in metadata or () if key == "x-request-id"), "")
