"""Problems and search spaces."""

from __future__ import annotations

import json
from os import PathLike
from typing import TYPE_CHECKING, Any, Mapping, Protocol, Union

from . import _native
from .arguments import (Fragment, Machine, decoded, document, is_frame, path_text, request, tables_of,
                        text_of_document)
from .errors import InvalidHandleError, InvalidInputError

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Problem(_native.Closable):
    """A checked problem: tables, machine and constraints.

    Takes a dict or JSON text in the format of problem files (runtime/io/README.md). `machine` takes
    the place of what the problem says, by the names of the command: `machine`, `zipf`, `ranks`, `ranks_per_host`,
    `gpu`, `hbm`, `ddr`, `ssd`, `hbm_mem_bw`, `intra_host_bw`, `inter_host_bw`, `device`, `batch_size`, `sharding_group_size`, `sync_interval`, `pod_size`,
    `torchrec`. Raises InvalidInputError with the place in the problem. Thread safety: any.
    """

    def __init__(self, problem: Mapping[str, Any] | str | bytes, **machine: Unpack[Machine]) -> None:
        if isinstance(problem, (str, bytes)):
            problem = decoded(problem, "problem")
            if not (problem.lstrip().startswith("{") or "\n" in problem):
                raise InvalidInputError("is no JSON object; Problem.from_file reads files",
                                        "problem")
        elif not isinstance(problem, Mapping):
            raise TypeError(f"problem must be a dict or JSON text, not {type(problem).__name__}")
        self._read(document(problem, "problem"), machine)

    def _read(self, fragment: str, machine: Machine) -> None:
        self._fragment = fragment  # the JSON of the problem in requests
        self._machine = machine
        text = request("enumerate", {"problem": Fragment(fragment), **machine})
        self._handle = _native.Handle("problem", "problem_from_request", text, len(text))

    @classmethod
    def from_file(cls, path: str | PathLike[str], **machine: Unpack[Machine]) -> Problem:
        """Reads a problem file, which may be compressed with gzip. Raises InvalidInputError.

        Questions other than `plan` and `replan` read the file again.
        """
        problem = cls.__new__(cls)
        problem._read(json.dumps(path_text(path, "path")), machine)
        return problem

    @property
    def _info(self) -> Any:
        return _native.filled(_native.ProblemInfo(), "problem_sizes", self._handle.value)

    num_ranks: int = _native.field("num_ranks", "Number of ranks.")
    ranks_per_host: int = _native.field("ranks_per_host", "Number of ranks of one host.")
    batch_size: int = _native.field("batch_size", "Samples per rank.")

    @property
    def table_names(self) -> tuple[str, ...]:
        """Names of the tables, in the order of the problem."""
        return tuple(_native.text_of("problem_table_name", self._handle.value, table)
                     for table in range(self._info.num_tables))

    def __repr__(self) -> str:
        if self._handle.closed:
            return "<shardwright.Problem, closed>"
        info = self._info
        return f"<shardwright.Problem: {info.num_tables} tables on {info.num_ranks} ranks>"


class SearchSpace(_native.Closable):
    """The sharding options of every table with their costs.

    `SearchSpace(problem)` enumerates options and estimates their costs. `SearchSpace(problem,
    options)` reads them from a dict or JSON text with the key `search_space`, see
    runtime/io/README.md. Raises InvalidInputError with the place in `options`. Thread safety: any.
    """

    def __init__(self, problem: Problem,
                 options: Mapping[str, Any] | str | bytes | None = None) -> None:
        if not isinstance(problem, Problem):
            raise TypeError(f"problem must be a shardwright.Problem, not {type(problem).__name__}")
        if options is None:
            self._handle = _native.Handle("search_space", "search_space_enumerate",
                                          problem._handle.value)
        else:
            text = text_of_document(options, "options")
            self._handle = _native.Handle("search_space", "search_space_from_json",
                                          problem._handle.value, text, len(text))

    @property
    def _info(self) -> Any:
        return _native.filled(_native.SearchSpaceInfo(), "search_space_sizes", self._handle.value)

    num_shards: int = _native.field("num_shards", "Number of shards of all options.")

    def __len__(self) -> int:
        return int(self._info.num_options)

    def to_json(self) -> str:
        """JSON text with the keys `search_space_size` and `search_space`."""
        return _native.text_of("search_space_to_json", self._handle.value)

    def to_dict(self) -> dict[str, Any]:
        """The same as a dict."""
        found: dict[str, Any] = json.loads(self.to_json())
        return found

    def __repr__(self) -> str:
        if self._handle.closed:
            return "<shardwright.SearchSpace, closed>"
        return f"<shardwright.SearchSpace: {len(self)} options>"


class Frame(Protocol):
    """A pandas.DataFrame: a table in each row, in columns that are named as in JSON."""

    @property
    def columns(self) -> Any: ...

    def to_dict(self) -> Any: ...

    def to_json(self) -> Any: ...


ProblemLike = Union[Problem, Mapping[str, Any], Frame, str, bytes, "PathLike[str]"]


def _check(problem: object) -> None:
    if not isinstance(problem, (Problem, Mapping, str, bytes, PathLike)) and not is_frame(problem):
        raise TypeError("problem must be a shardwright.Problem, a dict, JSON text or a path, "
                        f"not {type(problem).__name__}")


def as_problem(problem: ProblemLike, **machine: Unpack[Machine]) -> Problem:
    """Makes a Problem from a dict, a pandas.DataFrame of tables, JSON text (which begins with a
    brace), tables as CSV text (which has several lines) or the path of a file.
    """
    _check(problem)
    if isinstance(problem, Problem):
        if machine:
            raise TypeError("give the machine to shardwright.Problem, or a problem that is none yet")
        return problem
    if isinstance(problem, (Mapping, bytes)) or isinstance(problem, str) and (
            problem.lstrip().startswith("{") or "\n" in problem):
        return Problem(problem, **machine)
    if isinstance(problem, (str, PathLike)):
        return Problem.from_file(problem, **machine)
    return Problem(tables_of(problem), **machine)


def problem_members(problem: ProblemLike, machine: Machine) -> dict[str, object]:
    """The members of a request about a problem."""
    _check(problem)
    if not isinstance(problem, Problem):
        return {"problem": problem, **machine}
    if problem._handle.closed:
        raise InvalidHandleError("this problem is closed")
    return {"problem": Fragment(problem._fragment), **problem._machine, **machine}
