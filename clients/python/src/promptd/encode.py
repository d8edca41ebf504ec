"""From plain values to a request; what cannot be sent is refused here, all of it at once."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, TypeVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp

from .errors import Violation, refused

Request = TypeVar("Request", bound=Message)

# Above this a double does not have every whole number.
EXACT_WHOLE = 2**53
FLOATS = (FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT)
WHOLE_BOUNDS = {
    FieldDescriptor.TYPE_INT32: (-(2**31), 2**31),
    FieldDescriptor.TYPE_INT64: (-(2**63), 2**63),
    FieldDescriptor.TYPE_UINT32: (0, 2**32),
    FieldDescriptor.TYPE_UINT64: (0, 2**64),
}


def encode(request: Request, values: Mapping[str, Any], aliases: Mapping[str, str] = MappingProxyType({})) -> Request:
    """Sets the fields of `request`. None is 'not given'. `aliases` are the caller's names of fields that have others here.

    Raises PromptdError with a violation for each value that cannot be sent.
    """
    violations: list[Violation] = []
    Encoder(violations).message(request, values, "")
    if violations:
        raise refused([Violation(aliases.get(one.field, one.field), one.description) for one in violations])
    return request


class Encoder:
    """Fills messages, and notes each field that cannot be used."""

    def __init__(self, violations: list[Violation]) -> None:
        self.violations = violations

    def message(self, into: Message, values: Any, path: str) -> None:
        """Fills a message from a dictionary."""
        kind = into.DESCRIPTOR
        if kind.full_name == "google.protobuf.Timestamp":
            assert isinstance(into, Timestamp)
            return self.time(into, values, path)
        if kind.full_name == "google.protobuf.Struct":
            assert isinstance(into, Struct)
            return self.struct(into, values, path)
        into.SetInParent()
        if kind.name == "NameGlobs":
            values = {"globs": values}
        if not isinstance(values, Mapping):
            return self.refuse(path, f"must be a dictionary with the fields of {kind.name}, not {said(values)}")
        for name, value in values.items():
            field = kind.fields_by_name.get(name)
            if field is None:
                self.refuse(joined(path, name), f"is not a field of {kind.name}; {nearest(name, kind.fields_by_name)}")
            elif value is not None:
                at = path if kind.name == "NameGlobs" else joined(path, name)
                self.field(into, field, value, at)

    def field(self, into: Message, field: Any, value: Any, path: str) -> None:
        """Sets one field."""
        if field.is_repeated:
            return self.items(into, field, value, path)
        if field.message_type is not None:
            return self.message(getattr(into, field.name), value, path)
        checked = self.scalar(field, value, path)
        if checked is not None:
            setattr(into, field.name, checked)

    def items(self, into: Message, field: Any, values: Any, path: str) -> None:
        """Sets a list."""
        if not isinstance(values, Sequence) or isinstance(values, (str, bytes)):
            return self.refuse(path, f"must be a list, not {said(values)}")
        target = getattr(into, field.name)
        for index, value in enumerate(values):
            at = f"{path}[{index}]"
            if field.message_type is not None:
                self.message(target.add(), value, at)
            elif (checked := self.scalar(field, value, at)) is not None:
                target.append(checked)

    def scalar(self, field: Any, value: Any, path: str) -> Any:
        """The value as protobuf takes it; None if it is refused."""
        if field.enum_type is not None:
            return self.enum(field.enum_type, value, path)
        if field.type == FieldDescriptor.TYPE_BOOL:
            return value if isinstance(value, bool) else self.refuse(path, f"must be True or False, not {said(value)}")
        if field.type == FieldDescriptor.TYPE_BYTES:
            return value if isinstance(value, bytes) else self.refuse(path, f"must be bytes, not {said(value)}")
        if field.type == FieldDescriptor.TYPE_STRING:
            return self.text(value, path)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return self.refuse(path, f"must be a number, not {said(value)}")
        if field.type in FLOATS:
            return float(value)
        low, end = WHOLE_BOUNDS[field.type]
        if not isinstance(value, int) or not low <= value < end:
            return self.refuse(path, f"must be a whole number from {low} to {end - 1}, not {value}")
        return value

    def text(self, value: Any, path: str) -> Any:
        """Text that has a form in UTF-8."""
        if not isinstance(value, str):
            return self.refuse(path, f"must be text, not {said(value)}")
        try:
            value.encode()
        except UnicodeEncodeError as error:
            return self.refuse(path, f"has half a surrogate pair at character {error.start}, which is not text")
        return value

    def enum(self, kind: Any, value: Any, path: str) -> Any:
        """The number of an enum's short name."""
        numbers = enum_numbers(kind)
        if isinstance(value, str) and value in numbers:
            return numbers[value]
        known = [name for name in numbers if name != "unspecified"]
        return self.refuse(path, f"must be a name of {kind.name}, not {said(value)}; {nearest(value, known)}")

    def time(self, into: Timestamp, value: Any, path: str) -> None:
        """A moment: a datetime that has a zone."""
        if not isinstance(value, datetime):
            return self.refuse(path, f"must be a datetime with a zone, not {said(value)}")
        if value.utcoffset() is None:
            hint = "use datetime.now(timezone.utc), or .astimezone() for the zone of this machine"
            return self.refuse(path, f"has no zone, so it names no moment; {hint}")
        into.FromDatetime(value)

    def struct(self, into: Struct, value: Any, path: str) -> None:
        """A dictionary of plain values."""
        if not isinstance(value, Mapping):
            return self.refuse(path, f"must be a dictionary, not {said(value)}")
        before = len(self.violations)
        plain = {str(key): self.plain(item, joined(path, str(key))) for key, item in value.items()}
        into.SetInParent()
        if len(self.violations) == before:
            into.update(plain)

    def plain(self, value: Any, path: str) -> Any:
        """A value that JSON has, and that a double holds where it is a number."""
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self.text(value, path)
        if isinstance(value, (int, float)):
            if not math.isfinite(value) or (isinstance(value, int) and abs(value) > EXACT_WHOLE):
                return self.refuse(path, "is not exact as a number; send it as text")
            return value
        if isinstance(value, Mapping):
            return {str(key): self.plain(item, joined(path, str(key))) for key, item in value.items()}
        if isinstance(value, Sequence) and not isinstance(value, bytes):
            return [self.plain(item, f"{path}[{index}]") for index, item in enumerate(value)]
        return self.refuse(path, f"must be text, a number, True, False, None, a list or a dictionary, not {said(value)}")

    def refuse(self, path: str, description: str) -> None:
        """Notes a violation."""
        self.violations.append(Violation(path, description))


def enum_numbers(kind: Any) -> dict[str, int]:
    """An enum's numbers by short name: `openai-chat` is RENDER_FORMAT_OPENAI_CHAT."""
    prefix = kind.values_by_number[0].name.removesuffix("UNSPECIFIED")
    return {value.name.removeprefix(prefix).lower().replace("_", "-"): value.number for value in kind.values}


def nearest(name: object, known: Any) -> str:
    """The name that was meant, or all that there are."""
    close = difflib.get_close_matches(name, list(known), 1) if isinstance(name, str) else []
    return f"did you mean `{close[0]}`?" if close else f"known: {', '.join(sorted(known))}"


def said(value: object) -> str:
    """A wrong value for a message: short ones themselves, of others what they are."""
    if isinstance(value, (bool, int, float)):
        return repr(value)
    if isinstance(value, str):
        return f'"{value}"' if len(value) <= 32 else "text"
    return f"a value of type {type(value).__name__}"


def joined(path: str, name: object) -> str:
    return f"{path}.{name}" if path else str(name)
