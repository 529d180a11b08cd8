"""What functions accept: documents, numbers, sizes. Turns them into the JSON of a request."""

from __future__ import annotations

import gzip
import json
import math
import operator
import os
from ctypes import c_size_t
from functools import lru_cache
from typing import Any, Literal, Mapping, Protocol, Sequence, SupportsFloat, SupportsIndex, TypedDict
from typing import Union

from . import _native
from .errors import InvalidInputError

Mode = Literal["best", "compat"]
Size = Union[SupportsIndex, str]  # bytes, or a text such as "80GiB"
Mesh = Union[str, Sequence[SupportsIndex]]  # "4x2" or (4, 2)
Counts = Union[SupportsIndex, Sequence[SupportsIndex]]


class HasJson(Protocol):
    """An answer of this package, or a traced model."""

    def to_json(self) -> str: ...


# A dict or list, its JSON text (which begins with a brace or bracket), the path of a file, which
# may be compressed with gzip, or an object that has a JSON text.
Document = Union[Mapping[str, Any], Sequence[Any], str, bytes, "os.PathLike[str]", HasJson]

class Machine(TypedDict, total=False):
    """What takes the place of what a problem says of its machine, by the names of the command."""

    machine: "Document"  # measured costs, device and memory
    zipf: float  # skew of lookups, which measured costs depend on
    ranks: SupportsIndex
    ranks_per_host: SupportsIndex
    gpu: str  # "h100": memory, bandwidths and ranks per host of this accelerator
    hbm: Size  # of a rank; ddr and ssd likewise
    ddr: Size
    ssd: Size
    device: Literal["cuda", "cpu", "mtia", "tpu"]
    hbm_mem_bw: Union[float, str]  # bytes per ms or "3.35TB/s"; the next two likewise
    intra_host_bw: Union[float, str]
    inter_host_bw: Union[float, str]
    batch_size: SupportsIndex  # samples per rank
    sharding_group_size: Union[Counts, Literal["any"]]
    sync_interval: SupportsIndex
    pod_size: Counts
    torchrec: Literal["1.9.2", "a48cef79"]


def integer(value: object, name: str) -> int:
    """An int, or anything that counts as one, such as NumPy's integers."""
    if isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, not bool")
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}") from None


def number(value: object, name: str) -> float:
    """A finite float, or anything that counts as one."""
    if isinstance(value, (bool, str, bytes)) or not isinstance(value, (SupportsFloat, SupportsIndex)):
        raise TypeError(f"{name} must be a number, not {type(value).__name__}")
    found = float(value)
    if not math.isfinite(found):
        raise ValueError(f"{name} must be a finite number, not {found}")
    return found


def plain(value: object) -> object:
    """Converts mappings and NumPy numbers and arrays to types that JSON supports."""
    if isinstance(value, Mapping):
        return dict(value)
    for method in ("tolist", "item"):
        if hasattr(value, method):
            return getattr(value, method)()
    if isinstance(value, SupportsIndex):
        return operator.index(value)
    raise TypeError(f"{type(value).__name__} is not a number, text, list or dict")


def json_of(value: object, name: str) -> str:
    try:
        return json.dumps(value, default=plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"{name} holds a value that JSON cannot represent: {error}") from error


def path_text(path: object, name: str) -> str:
    """The path as a text that is not taken for anything else."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{name} must be a path, not {type(path).__name__}")
    text = os.fspath(path)
    if not isinstance(text, str):
        raise TypeError(f"{name} must be a text, not {type(text).__name__}")
    if "\0" in text:
        raise ValueError(f"{name} holds a NUL character")
    is_clear = text.lstrip()[:1] not in ("{", "[", "") and text != "-"
    return text if is_clear else os.path.join(os.curdir, text)


def decoded(text: str | bytes, name: str) -> str:
    if isinstance(text, str):
        return text
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"is not UTF-8: {error}", name) from None


def is_frame(value: object) -> bool:
    """True for a pandas.DataFrame, without importing pandas."""
    return hasattr(value, "columns") and hasattr(value, "to_dict") and hasattr(value, "to_json")


def tables_of(frame: Any) -> dict[str, Any]:
    """A problem whose tables are the rows. A missing cell means that the table lacks the member."""
    rows = json.loads(frame.to_json(orient="records"))
    return {"tables": [{key: cell for key, cell in row.items() if cell is not None} for row in rows]}


def document(value: object, name: str) -> str:
    """The JSON of a member that is a document."""
    if isinstance(value, Fragment):
        return value
    if is_frame(value):
        return json_of(tables_of(value), name)
    if hasattr(value, "to_json"):
        found: str = value.to_json()
        return found
    if isinstance(value, (str, bytes)):
        value = decoded(value, name)
        is_text = value.lstrip()[:1] in ("{", "[", "") or "\n" in value
        return json.dumps(value if is_text else path_text(value, name))
    if isinstance(value, os.PathLike):
        return json.dumps(path_text(value, name))
    if isinstance(value, (Mapping, list, tuple)) and not (value == [] or value == ()):
        return json_of(value, name)
    raise TypeError(f"{name} must be a dict, JSON text, a path or an object of shardwright, "
                    f"not {type(value).__name__}")


def text_of_document(value: object, name: str) -> bytes:
    """The JSON text of a document that is no file."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, Mapping):
        return json_of(value, name).encode()
    raise TypeError(f"{name} must be a dict or JSON text, not {type(value).__name__}")


def text_of_file(value: object, name: str) -> bytes:
    """The JSON text of an object of this package, or of a document that may be a file."""
    if hasattr(value, "to_json"):
        return str(value.to_json()).encode()
    if isinstance(value, os.PathLike) or isinstance(value, str) and not value.lstrip().startswith("{"):
        with open(value, "rb") as file:
            text = file.read()
        return gzip.decompress(text) if text.startswith(b"\x1f\x8b") else text
    return text_of_document(value, name)


class Fragment(str):
    """The JSON of a document, known already."""


@lru_cache(maxsize=None)
def _members(command: str) -> dict[str, Any]:
    """The members of the command's request, as the library describes them."""
    text = b'{"kind": "requests"}'
    answer = _native.Handle("answer", "ask", b"schema", text, c_size_t(len(text)), None)
    listed = json.loads(_native.text_of("answer_to_json", answer.value))["commands"]
    found: dict[str, Any] = next(
        ({member["name"]: member for member in entry["members"]} for entry in listed
         if entry["command"] == command), {})
    return found


def _value(kind: str, value: object, name: str) -> object:
    """A value as JSON has it. The library checks ranges and words."""
    unit = kind.split("[")[0]
    if unit == "":
        return bool(value)
    if unit in ("N", "SIZE"):
        is_text = isinstance(value, str) and kind != "N"
        return value if is_text else integer(value, name)
    if unit == "NxN":
        return value if isinstance(value, str) else [integer(one, name) for one in value]  # type: ignore[attr-defined]
    if unit == "BANDWIDTH":
        return value if isinstance(value, str) else number(value, name)
    if unit in ("SECONDS", "MS", "SHARE", "PRICE", "LOAD", "EXPONENT"):
        return number(value, name)
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text, not {type(value).__name__}")
    return value


def _member(member: Mapping[str, Any], value: object) -> str:
    name, kind = member["name"], member["value"]
    if member["is_document"]:
        return document(value, name)
    if member["is_list"] and isinstance(value, Sequence) and not isinstance(value, str):
        return json.dumps([_value(kind, one, name) for one in value])
    return json.dumps(_value(kind, value, name))


def request(command: str, members: Mapping[str, object]) -> bytes:
    """The text of a request without members that are None. Raises TypeError for members of a wrong
    type, and for members that the command does not have.
    """
    known = _members(command)
    texts = []
    for name, value in members.items():
        if name not in known:
            raise TypeError(f"there is no argument {name!r}")
        if value is not None and value is not False or known[name]["required"]:
            texts.append(f'"{name}": {_member(known[name], value)}')
    return ("{" + ", ".join(texts) + "}").encode()
