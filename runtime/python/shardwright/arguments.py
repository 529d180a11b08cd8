"""What functions accept: documents, numbers, sizes. Turns them into the JSON of a request."""

from __future__ import annotations

import json
import operator
import os
from typing import Any, Literal, Mapping, Protocol, Sequence, SupportsFloat, SupportsIndex, TypedDict
from typing import Union

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

    ranks: SupportsIndex
    ranks_per_host: SupportsIndex
    hbm: Size  # of a rank; ddr and ssd likewise
    ddr: Size
    ssd: Size
    device: Literal["cuda", "cpu", "mtia", "tpu"]
    batch_size: SupportsIndex  # samples per rank
    sharding_group_size: Union[Counts, Literal["any"]]
    sync_interval: SupportsIndex
    pod_size: Counts
    torchrec: Literal["1.9.2", "a48cef79"]


MOST_THREADS = 4096
MOST_WORK = 2**64 - 1
MOST_COUNT = 2**40
LANES = (3, 4096)
MODES: tuple[Mode, ...] = ("best", "compat")


def integer(value: object, name: str, least: int, most: int) -> int:
    """An int, or anything that counts as one, such as NumPy's integers."""
    if isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, not bool")
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}") from None
    if not least <= number <= most:
        raise ValueError(f"{name} must be between {least} and {most}, not {number}")
    return number


def number(value: object, name: str, least: float, most: float) -> float:
    """A finite float, or anything that counts as one."""
    if isinstance(value, (bool, str, bytes)) or not isinstance(value, (SupportsFloat, SupportsIndex)):
        raise TypeError(f"{name} must be a number, not {type(value).__name__}")
    found = float(value)
    if not least <= found <= most:
        raise ValueError(f"{name} must be between {least} and {most}, not {found}")
    return found


def choice(value: object, name: str, words: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in words:
        listed = ", ".join(repr(word) for word in words[:-1]) + f" or {words[-1]!r}"
        raise ValueError(f"{name} must be {listed}, not {value!r}")
    return value


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
    """A problem whose tables are the rows. A cell that is missing is a member that is not there."""
    rows = json.loads(frame.to_json(orient="records"))
    return {"tables": [{key: cell for key, cell in row.items() if cell is not None} for row in rows]}


def document(value: object, name: str) -> str:
    """The JSON of a member that is a document."""
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


class Request:
    """The members of a request. What is None is left out."""

    def __init__(self) -> None:
        self._members: list[str] = []

    def document(self, name: str, value: object, required: bool = False) -> Request:
        if value is not None or required:
            self.fragment(name, document(value, name))
        return self

    def fragment(self, name: str, fragment: str) -> Request:
        """A member whose JSON is known."""
        self._members.append(f'"{name}": {fragment}')
        return self

    def value(self, name: str, value: object) -> Request:
        if value is not None:
            self.fragment(name, json_of(value, name))
        return self

    def count(self, name: str, value: object, least: int, most: int) -> Request:
        return self if value is None else self.value(name, integer(value, name, least, most))

    def counts(self, name: str, value: object) -> Request:
        """An integer or a list of integers."""
        if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
            return self.value(name, [integer(one, name, 1, MOST_COUNT) for one in value])
        return self.count(name, value, 1, MOST_COUNT)

    def mesh(self, name: str, value: object) -> Request:
        return self.value(name, value) if isinstance(value, str) else self.counts(name, value)

    def size(self, name: str, value: object) -> Request:
        """Bytes, or a text such as "80GiB"."""
        if value is None or isinstance(value, str):
            return self.value(name, value)
        return self.count(name, value, 0, MOST_WORK)

    def sizes(self, name: str, value: object) -> Request:
        if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
            return self.value(name, [one if isinstance(one, str)
                                     else integer(one, name, 0, MOST_WORK) for one in value])
        return self.size(name, value)

    def measure(self, name: str, value: object) -> Request:
        if value is None:
            return self
        return self.value(name, number(value, name, 0, 1.7976931348623157e308))

    def measures(self, name: str, value: object) -> Request:
        """A number or a list of numbers."""
        if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
            return self.value(name, [number(one, name, 0, 1.7976931348623157e308) for one in value])
        return self.measure(name, value)

    def choice(self, name: str, value: object, words: Sequence[str]) -> Request:
        return self if value is None else self.value(name, choice(value, name, words))

    def flag(self, name: str, value: object) -> Request:
        return self.value(name, True) if value else self

    def machine(self, machine: Machine) -> Request:
        for name, value in machine.items():
            if name in ("hbm", "ddr", "ssd"):
                self.size(name, value)
            elif name in ("device", "torchrec"):
                self.value(name, value)
            elif name == "sharding_group_size" and value == "any":
                self.value(name, value)
            elif name in ("sharding_group_size", "pod_size"):
                self.counts(name, value)
            elif name in ("ranks", "ranks_per_host", "batch_size", "sync_interval"):
                self.count(name, value, 1, MOST_COUNT)
            else:
                raise TypeError(f"there is no argument {name!r}")
        return self

    def lanes(self, lanes: object) -> Request:
        return self.count("lanes", lanes, *LANES)

    def limits(self, threads: object, time_limit: object, work_limit: object,
               seed: object) -> Request:
        self.count("threads", threads, 0, MOST_THREADS)
        self.measure("time_limit", time_limit)
        self.count("work_limit", work_limit, 1, MOST_WORK)
        return self.count("seed", seed, 0, MOST_WORK)

    def text(self) -> bytes:
        return ("{" + ", ".join(self._members) + "}").encode()
