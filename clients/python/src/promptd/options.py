"""What the methods take by name. `assemble` and `diff` take the turn's fields beside their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from typing_extensions import TypedDict

from . import names, requests


class AssembleOptions(requests.Turn, total=False):
    """The turn's fields, and how to assemble it."""

    profile: str | None
    """The profile to use. None: the workspace's own."""
    revision: str | None
    """Pins a revision of an earlier prompt. None: the newest."""
    strict: bool | None
    """A prompt of which something is lost is an error, PROMPT_LOSS."""
    format: names.RenderFormat | None
    """Also renders the messages for a provider: `Prompt.rendered`."""
    token_encoding: str | None
    """Counts tokens: `o200k_base` or `cl100k_base`."""
    omit_sections: bool | None
    """Leaves the section reports out."""
    include_spans: bool | None
    """Says of each byte where it came from."""
    reference_conversation: bool | None
    """The service does not send back messages of the conversation that stay as they are; they are put in here."""
    timeout: float | None
    """Seconds for this call with its retries. None: the client's."""


class DiffOptions(requests.Turn, total=False):
    """The turn's fields, and what to compare."""

    profile: str | None
    """The profile to use. None: each side's own."""
    before_revision: str | None
    """The revision to compare from. None: the newest."""
    after_revision: str | None
    """The revision to compare with. None: the newest."""
    proposed: Mapping[str, str | bytes] | None
    """Instead of a revision: all files of the workspace as they would be, path to content."""
    token_encoding: str | None
    """Counts tokens: `o200k_base` or `cl100k_base`."""
    timeout: float | None
    """Seconds for this call with its retries. None: the client's."""


class PlanOptions(TypedDict, total=False):
    """How to plan a history."""

    first_index: int | None
    """Index, in the whole history, of the first message."""
    segments: Sequence[requests.HistorySegment]
    """The segments so far."""
    thresholds: requests.HistoryThresholds
    """The numbers that the plan goes by. Not given: kern's."""
    segment_profile: str | None
    """The profile that says the summary of a segment."""
    rollup_profile: str | None
    """The profile that says the summary of a rollup."""
    embedding_inputs: bool | None
    """Also answers with the texts to embed."""
    timeout: float | None
    """Seconds for this call with its retries. None: the client's."""
