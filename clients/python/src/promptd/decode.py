"""From an answer to plain values: the dataclasses of `promptd.answers`."""

from __future__ import annotations

from datetime import timezone
from functools import cache
from typing import Any

from google.protobuf.message import Message
from google.protobuf.struct_pb2 import ListValue, Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp

from . import answers
from .encode import enum_numbers


def decode(message: Message) -> Any:
    """The message as the dataclass of its name."""
    if isinstance(message, Timestamp):
        return message.ToDatetime(timezone.utc)
    if isinstance(message, Struct):
        return {key: plain(value) for key, value in message.fields.items()}
    if message.DESCRIPTOR.name == "NameGlobs":
        return list(message.globs)  # type: ignore[attr-defined]
    values = {field.name: field_value(message, field) for field in message.DESCRIPTOR.fields}
    return getattr(answers, message.DESCRIPTOR.name)(**values)


def field_value(message: Message, field: Any) -> Any:
    """One field; None where it has presence and is absent."""
    if field.is_repeated:
        return [one(field, item) for item in getattr(message, field.name)]
    if field.has_presence and not message.HasField(field.name):
        return None
    return one(field, getattr(message, field.name))


def one(field: Any, value: Any) -> Any:
    """One value of a field."""
    if field.enum_type is not None:
        # A newer server may have one that this package does not know.
        return enum_names(field.enum_type).get(value, f"unknown-{value}")
    return decode(value) if field.message_type is not None else value


@cache
def enum_names(kind: Any) -> dict[int, str]:
    return {number: name for name, number in enum_numbers(kind).items()}


def plain(value: Value) -> Any:
    """A value of a Struct; a whole number is an int."""
    kind = value.WhichOneof("kind")
    held = getattr(value, kind) if kind else None
    if isinstance(held, float) and held.is_integer():
        return int(held)
    if isinstance(held, Struct):
        return decode(held)
    if isinstance(held, ListValue):
        return [plain(item) for item in held.values]
    return None if kind == "null_value" else held
