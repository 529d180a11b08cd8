"""Answers of commands: their JSON, the text and the page that the command would write, their rows."""

from __future__ import annotations

import importlib
import json
import os
from ctypes import byref, c_int32, c_size_t, c_uint64
from functools import cached_property
from html import escape
from typing import Any, Callable, Literal, Mapping, Sequence, TypeVar, Union

from . import _native
from .arguments import json_of, request
from .display import table
from .progress import Progress, Watch

Outcome = Literal["done", "nothing fits", "nothing found", "violation", "not verified"]
_OUTCOMES: tuple[Outcome, ...] = ("done", "nothing fits", "nothing found", "violation",
                                  "not verified")
ProgressLike = Union[bool, Callable[[Progress], object], None]
AnswerType = TypeVar("AnswerType", bound="Answer")
Made = TypeVar("Made")
Row = Mapping[str, Any]


def made(kind: Callable[..., Made], read: Mapping[str, Any], **values: Any) -> Made:
    """An object of a dataclass from the members of a JSON object that have the names of its fields,
    with tuples for lists. `values` take precedence.
    """
    found = {name: tuples(read[name]) for name in kind.__annotations__ if name in read}
    return kind(**{**found, **values})


def tuples(value: Any) -> Any:
    return tuple(map(tuples, value)) if isinstance(value, list) else value


class Cancel(_native.Closable):
    """Stops calls from any thread. They end with the best answer so far. Thread safety: any."""

    def __init__(self) -> None:
        self._handle = _native.Handle("cancel", "cancel_create")

    def request(self) -> None:
        """Stops all calls that were given this object, now and later."""
        _native.call("cancel_request", self._handle.value)


def write(path: str | os.PathLike[str], text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def data_frame(rows: Sequence[Row]) -> Any:
    """A pandas.DataFrame. Raises ImportError without pandas."""
    return importlib.import_module("pandas").DataFrame(rows)


def member(name: str, doc: str, kind: Callable[[Any], Any] | None = None) -> Any:
    """A property of an Answer that reads a member of its JSON, None if it is not there, or turns a
    member that is always there into `kind`.
    """
    def read(answer: Answer) -> Any:
        return answer.data.get(name) if kind is None else kind(answer.data[name])
    return property(read, doc=doc)


class Answer:
    """What a command answered. `str` gives the command's text. Thread safety: any."""

    _shows_rows = False  # True: a notebook shows the rows instead of the text

    def __init__(self, text: str | None, handle: _native.Handle | None = None) -> None:
        self._handle = handle
        self._text = text
        self._saved: _native.Handle | None = None  # the answer of `report` for a loaded answer

    @classmethod
    def load(cls: type[AnswerType], path: str | os.PathLike[str]) -> AnswerType:
        """Reads what `save` or `shardwright ... -o` wrote. Text and page are those of `shardwright
        report`, which may say less. Raises OSError, and ValueError for a file that is no JSON.
        """
        with open(path, encoding="utf-8") as file:
            text = file.read()
        json.loads(text)
        return cls(text)

    def to_json(self) -> str:
        """The text of `shardwright ... --json`."""
        if self._text is None:
            assert self._handle is not None
            self._text = _native.text_of("answer_to_json", self._handle.value)
        return self._text

    @cached_property
    def data(self) -> Any:
        """The same as dicts and lists; runtime/io/FILES.md describes them."""
        return json.loads(self.to_json())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the JSON to a file, which the command can read."""
        write(path, self.to_json())

    @property
    def outcome(self) -> Outcome:
        """The meaning of the command's exit status. "done" for a loaded answer."""
        return _OUTCOMES[self._summary()[0]]

    @property
    def warnings(self) -> tuple[str, ...]:
        """The sentences that the command would print to standard error."""
        if self._handle is None:
            return ()
        return tuple(_native.text_of("answer_warning", self._handle.value, index)
                     for index in range(self._summary()[1]))

    def _summary(self) -> tuple[int, int]:
        outcome, warnings = c_int32(), c_uint64()
        if self._handle is not None:
            _native.call("answer_summary", self._handle.value, byref(outcome), byref(warnings))
        return outcome.value, warnings.value

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes the HTML page of `shardwright ... --report`, or of `shardwright report` for a
        loaded answer. Raises UnsupportedError if the command has no page.
        """
        write(path, _native.text_of("answer_to_html", self._shown().value))

    def _shown(self) -> _native.Handle:
        """The handle that has the text and the page."""
        if self._handle is not None:
            return self._handle
        if self._saved is None:
            self._saved = ask("report", {"answer": self.to_json()})._handle
            assert self._saved is not None
        return self._saved

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with the rows of the answer. Raises ImportError without pandas."""
        return data_frame(self._rows())

    def _rows(self) -> list[Row]:
        return list(self.data) if isinstance(self.data, list) else [self.data]

    def _repr_html_(self) -> str:
        return table(self._rows()) if self._shows_rows else f"<pre>{escape(str(self))}</pre>"

    def __str__(self) -> str:
        return _native.text_of("answer_to_text", self._shown().value, 0)

    def __repr__(self) -> str:
        return f"<shardwright.{type(self).__name__}: {self.outcome}>"


def ask_for(kind: type[AnswerType], command: str, arguments: Mapping[str, Any]) -> AnswerType:
    """Answers a command as an object of type `kind`. `arguments` has the members of the request and
    may have the `progress` and `cancel` of the call; members that are None are left out. Functions
    whose parameters have the names of the members pass their `locals()`.
    """
    members = dict(arguments)
    progress, cancel = members.pop("progress", None), members.pop("cancel", None)
    return kind(None, handle_for(command, request(command, members), Watch(progress), cancel))


def handle_for(command: str, text: bytes, watch: Watch, cancel: Cancel | None = None,
               **options: int | None) -> _native.Handle:
    """The answer of a command. `options` are further members of `AskOptions`. Raises TypeError for
    another type of `cancel`.
    """
    if cancel is not None and not isinstance(cancel, Cancel):
        raise TypeError(f"cancel must be a shardwright.Cancel, not {type(cancel).__name__}")
    given = _native.AskOptions(cancel=None if cancel is None else cancel._handle.value, **options)
    with watch:
        watch.attach(given)
        return watch.run("answer", "ask", command.encode(), text, c_size_t(len(text)), byref(given))


def ask(command: str, request: Mapping[str, Any] | str | bytes, *, progress: ProgressLike = None,
        cancel: Cancel | None = None) -> Answer:
    """Answers any command: `ask("operators solve", {"instance": "instance.json"})`.

    The members of the request are the command's files and flags, with `_` for `-`;
    runtime/cli/REFERENCE.md has all of them. Raises what the function for the command raises.
    """
    if isinstance(request, Mapping):
        request = json_of(request, "request")
    text = request.encode() if isinstance(request, str) else request
    if not isinstance(text, bytes):
        raise TypeError(f"request must be a dict or JSON text, not {type(request).__name__}")
    return Answer(None, handle_for(command, text, Watch(progress), cancel))
