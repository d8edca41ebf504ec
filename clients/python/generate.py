"""Makes the parts of the package that follow from the contract, when the package is built.

From the files of `proto/promptd/v1/` come `promptd/v1/`, the messages as protobuf has them and gRPC's stubs, and three modules
of plain types with the contract's comments: `promptd/names.py` (the short names of enum values), `promptd/requests.py`
(TypedDicts of what is sent) and `promptd/answers.py` (dataclasses of what comes back).
"""

from __future__ import annotations

import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CONTRACT = ("promptd/v1/promptd.proto", "promptd/v1/session.proto")
# In a source distribution, and in the repository.
PROTO_FOLDERS = ("proto", "../../proto")
GENERATED = "# Made from the contract by generate.py.\n"
LINE_LENGTH = 120

PLAIN_TYPES = {
    "google.protobuf.Timestamp": ("datetime.datetime", "datetime.datetime"),
    "google.protobuf.Struct": ("Mapping[str, Any]", "dict[str, Any]"),
    # Their one field is a list of globs.
    "promptd.v1.NameGlobs": ("Sequence[str]", "list[str]"),
}
DEFAULTS = {"str": '""', "bytes": 'b""', "bool": "False", "int": "0", "float": "0.0"}


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """What hatchling calls before it packs a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        self.folder = tempfile.TemporaryDirectory(prefix="promptd-generated-")
        root = Path(self.root)
        proto = next(root / folder for folder in PROTO_FOLDERS if (root / folder / CONTRACT[0]).is_file())
        for path in write_all(proto, Path(self.folder.name)):
            build_data["force_include"][str(path)] = path.relative_to(self.folder.name).as_posix()

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if self.target_name == "wheel":
            self.folder.cleanup()


def write_all(proto: Path, out: Path) -> Iterator[Path]:
    """Writes every generated file into the folder `out`, and gives their paths."""
    from google.protobuf import descriptor_pb2
    from grpc_tools import protoc

    described = out / "contract.binpb"
    # google/protobuf/*.proto come with the compiler.
    well_known = Path(protoc.__file__).with_name("_proto")
    arguments = [f"-I{proto}", f"-I{well_known}", f"--python_out={out}", f"--pyi_out={out}", f"--grpc_python_out={out}"]
    arguments += [f"--descriptor_set_out={described}", "--include_source_info"]
    if protoc.main(["protoc", *arguments, *CONTRACT]) != 0:
        raise SystemExit(f"{', '.join(CONTRACT)} cannot be compiled; see above")
    contract = Contract(descriptor_pb2.FileDescriptorSet.FromString(described.read_bytes()).file)
    package = out / "promptd"
    (package / "v1/__init__.py").write_text('"""The contract\'s messages, as protobuf has them."""\n', encoding="utf-8")
    (package / "names.py").write_text(contract.names(), encoding="utf-8")
    (package / "requests.py").write_text(contract.requests(), encoding="utf-8")
    (package / "answers.py").write_text(contract.answers(), encoding="utf-8")
    yield from sorted(path for path in package.rglob("*") if path.is_file())


class Contract:
    """The contract's files, and how their types are written in Python."""

    def __init__(self, files: Any) -> None:
        self.files = files
        self.comments = {
            (file.name, *place.path): place.leading_comments.strip()
            for file in files
            for place in file.source_code_info.location
        }
        self.messages = {
            message.name: ((file.name, 4, index), message)
            for file in files
            for index, message in enumerate(file.message_type)
        }

    def names(self) -> str:
        """The module of enum values."""
        lines = [f'"""The short names of the contract\'s enum values."""\n\n{GENERATED}\nfrom typing import Literal\n']
        for file in self.files:
            for index, enum in enumerate(file.enum_type):
                place = (file.name, 5, index)
                lines.append(f"\n{enum.name} = Literal[")
                for number, value in enumerate(enum.value):
                    lines.append(comment(self.comments.get((*place, 2, number), ""), "    "))
                    lines.append(f'    "{short_name(enum.name, value.name)}",')
                lines.append("]")
                lines.append(docstring(self.comments.get(place, ""), ""))
        return "\n".join(line for line in lines if line) + "\n"

    def requests(self) -> str:
        """The module of what is sent."""
        lines = [
            f'"""What is sent: a dictionary a message of the contract, in plain values. None is \'not given\'."""\n\n{GENERATED}',
            "from __future__ import annotations\n\nimport datetime\nfrom collections.abc import Mapping, Sequence\n"
            "from typing import Any\n",
            "from typing_extensions import TypedDict\n\nfrom . import names",
        ]
        for name in self.reachable("input_type"):
            lines.append(f"\n\nclass {name}(TypedDict, total=False):")
            lines.append(docstring(self.comment_of(name), "    ") + "\n")
            for field, said in self.fields(name):
                lines.append(f"    {field.name}: {self.request_type(field)}")
                lines.append(docstring(said, "    "))
        return "\n".join(lines) + "\n"

    def answers(self) -> str:
        """The module of what comes back."""
        lines = [
            f'"""What comes back: a dataclass a message of the contract, in plain values."""\n\n{GENERATED}',
            "from __future__ import annotations\n\nimport dataclasses\nimport datetime\n"
            "from typing import Any\n\nfrom . import names",
        ]
        for name in self.reachable("output_type"):
            lines.append(f"\n\n@dataclasses.dataclass(frozen=True)\nclass {name}:")
            lines.append(docstring(self.comment_of(name), "    ") + "\n")
            for field, said in self.fields(name):
                lines.append(f"    {field.name}: {self.answer_type(field)}")
                lines.append(docstring(said, "    "))
        return "\n".join(lines) + "\n"

    def reachable(self, side: str) -> list[str]:
        """The messages that requests (`input_type`) or answers (`output_type`) are made of, in the contract's order."""
        found: set[str] = set()
        services = [service for file in self.files for service in file.service]
        waiting = [getattr(method, side) for service in services for method in service.method]
        while waiting:
            name = waiting.pop().rpartition(".")[2]
            if name in self.messages and name not in found and name != "NameGlobs":
                found.add(name)
                waiting += [field.type_name for field in self.messages[name][1].field]
        return [name for name in self.messages if name in found]

    def fields(self, name: str) -> Iterator[tuple[Any, str]]:
        """A message's fields with their comments."""
        place, message = self.messages[name]
        for number, field in enumerate(message.field):
            yield field, self.comments.get((*place, 2, number), "")

    def comment_of(self, name: str) -> str:
        return self.comments.get(self.messages[name][0], "")

    def type_of(self, field: Any, sent: bool) -> str:
        """The Python type of a field's value."""
        name = field.type_name.lstrip(".")
        if field.type == field.TYPE_ENUM:
            one = f"names.{name.rpartition('.')[2]}"
        elif name in PLAIN_TYPES:
            one = PLAIN_TYPES[name][0 if sent else 1]
        elif field.type == field.TYPE_MESSAGE:
            one = name.rpartition(".")[2]
        else:
            one = {field.TYPE_STRING: "str", field.TYPE_BOOL: "bool", field.TYPE_BYTES: "bytes"}.get(field.type, "")
            one = one or ("float" if field.type in (field.TYPE_DOUBLE, field.TYPE_FLOAT) else "int")
        if field.label == field.LABEL_REPEATED:
            return f"Sequence[{one}]" if sent else f"list[{one}]"
        return one

    def request_type(self, field: Any) -> str:
        """The Python type of a field of a request. With `| None`, mypy would not say what is wrong in a dictionary."""
        written = self.type_of(field, sent=True)
        of_fields = field.type == field.TYPE_MESSAGE and field.type_name.lstrip(".") not in PLAIN_TYPES
        return written if of_fields else f"{written} | None"

    def answer_type(self, message_field: Any) -> str:
        """The Python type of a field of an answer, with its default."""
        written = self.type_of(message_field, sent=False)
        if message_field.label == message_field.LABEL_REPEATED:
            return f"{written} = dataclasses.field(default_factory=list)"
        if message_field.type == message_field.TYPE_MESSAGE or message_field.HasField("oneof_index"):
            return f"{written} | None = None"
        if message_field.type == message_field.TYPE_ENUM:
            return f'{written} = "unspecified"'
        return f"{written} = {DEFAULTS[written]}"


def short_name(enum: str, value: str) -> str:
    """`RENDER_FORMAT_OPENAI_CHAT` is `openai-chat`."""
    prefix = "".join(f"_{letter}" if letter.isupper() else letter for letter in enum).lstrip("_").upper() + "_"
    return value.removeprefix(prefix).lower().replace("_", "-")


def docstring(said: str, indent: str) -> str:
    text = "\n".join(line.strip() for line in said.splitlines()).replace("\\", "\\\\") or "See the contract."
    return textwrap.indent(f'"""{text}"""', indent)


def comment(said: str, indent: str) -> str:
    return textwrap.indent("\n".join(f"# {line.strip()}" for line in said.splitlines()), indent)
