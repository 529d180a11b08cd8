"""Results of planning: the plan by table and by rank, its rating, or why there is no plan."""

from __future__ import annotations

import gzip
import importlib
import json
import math
from collections.abc import Iterator, Sequence
from ctypes import byref, c_double, c_size_t, c_int64, c_uint8, c_uint32, c_uint64
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

from . import _native
from .arguments import Machine, Mode, text_of_document
from .errors import NoPlanError
from .problem import Problem, ProblemLike, SearchSpace, _Closable, as_problem

if TYPE_CHECKING:
    from typing_extensions import Unpack

PERF_PARTS = ("fwd_compute", "fwd_comms", "bwd_compute", "bwd_comms", "prefetch_compute")
_GZIP = b"\x1f\x8b"
_RANK_MEMORY = ("hbm", "ddr", "available_hbm", "available_ddr", "ssd", "available_ssd")


@dataclass(frozen=True)
class Shard:
    """A part of a table on one rank."""

    size: tuple[int, int]  # (rows, columns)
    offset: tuple[int, int]  # (row, column) in the table
    rank: int
    hbm: int  # bytes
    ddr: int  # bytes
    perf: tuple[float, float, float, float, float]  # ms, in the order of PERF_PARTS
    ssd: int = 0  # bytes

    @property
    def total_ms(self) -> float:
        """Sum of the parts in TorchRec's order of additions, ms."""
        forward, forward_comms, backward, backward_comms, prefetch = self.perf
        return forward + backward + forward_comms + backward_comms + prefetch


@dataclass(frozen=True)
class TablePlan:
    """How one table is sharded, and on which ranks."""

    table: str  # name
    table_number: int  # index in the problem
    option: int  # index in the search space
    sharding_type: str  # one of SHARDING_TYPES
    compute_kernel: str  # one of COMPUTE_KERNELS
    load_factor: float | None  # of the cache
    shards: tuple[Shard, ...]

    @property
    def ranks(self) -> tuple[int, ...]:
        """The rank of every shard."""
        return tuple(shard.rank for shard in self.shards)

    @property
    def hbm(self) -> int:
        """HBM of all shards, bytes."""
        return sum(shard.hbm for shard in self.shards)

    @property
    def ddr(self) -> int:
        """DDR of all shards, bytes."""
        return sum(shard.ddr for shard in self.shards)

    @property
    def ssd(self) -> int:
        """SSD of all shards, bytes."""
        return sum(shard.ssd for shard in self.shards)

    @property
    def total_ms(self) -> float:
        """Sum over shards, ms. A step takes less, because ranks work in parallel."""
        return sum(shard.total_ms for shard in self.shards)


@dataclass(frozen=True)
class RankLoad:
    """Memory and time of one rank. Memory is in bytes."""

    rank: int
    total_ms: float
    perf: tuple[float, ...]  # ms, in the order of PERF_PARTS
    hbm: int
    ddr: int
    available_hbm: int  # what the reservation and the margin leave for tables
    available_ddr: int
    ssd: int = 0
    available_ssd: int = 0


@dataclass(frozen=True)
class Failure:
    """Why there is no plan. runtime/io/README.md lists types and reasons."""

    type: str  # TorchRec's type of error
    reason: str  # the actual reason
    message: str  # a few sentences


def plan_text(plan: object, name: str) -> bytes:
    """The text of a plan: a result, a plan file's path, dict or text."""
    if isinstance(plan, PlanResult):
        return plan.to_json().encode()
    if isinstance(plan, PathLike) or isinstance(plan, str) and not plan.lstrip().startswith("{"):
        with open(plan, "rb") as file:
            found = file.read()
        return gzip.decompress(found) if found.startswith(_GZIP) else found
    return text_of_document(plan, name)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


class PlanResult(_Closable):
    """The result of `plan` and `replan`. Large properties are read on first use and kept.

    Thread safety: any.
    """

    def __init__(self, problem: Problem, handle: _native.Handle) -> None:
        self._handle = handle
        self._problem = problem
        self._summary = _native.PlanSummary()
        _native.call("result_summary", handle.value, byref(self._summary))

    @property
    def has_plan(self) -> bool:
        """True if a plan was found; otherwise `failure` says why not."""
        return bool(self._summary.has_plan)

    @property
    def mode(self) -> Mode:
        """"best" or "compat"."""
        return "compat" if self._summary.mode else "best"

    @property
    def rating(self) -> float | None:
        """Time of the slowest rank in ms (bytes for the storage model); None without a plan."""
        return _finite(self._summary.rating)

    @property
    def lower_bound(self) -> float | None:
        """No plan of the search space rates below it; None if not known."""
        return _finite(self._summary.lower_bound)

    @property
    def gap(self) -> float | None:
        """(rating - lower_bound) / rating: the plan is at most this far from optimal."""
        return _finite(self._summary.gap)

    @property
    def proven_optimal(self) -> bool:
        """True if the gap is at most 1e-4."""
        return bool(self._summary.proven_optimal)

    @property
    def stopped_by(self) -> str:
        """"work_limit", "time_limit", "cancelled", or "" if the search ran to its end."""
        return _native.STOPS[self._summary.stopped_by]

    @property
    def num_proposals(self) -> int:
        """Proposals evaluated."""
        return int(self._summary.num_proposals)

    @property
    def num_plans(self) -> int:
        """Proposals that fit."""
        return int(self._summary.num_plans)

    @property
    def seconds(self) -> float:
        """Wall time of planning, without conversions in Python."""
        return float(self._summary.total_s)

    @cached_property
    def failure(self) -> Failure | None:
        """Why there is no plan; None if there is one."""
        if self.has_plan:
            return None
        kind, reason, message = (
            _native.text_of("result_text", self._handle.value, which)
            for which in (_native.FAILURE_TYPE, _native.FAILURE_REASON, _native.FAILURE))
        return Failure(kind, reason, message)

    def _require_plan(self) -> None:
        if self.failure is not None:
            raise NoPlanError(self.failure.message
                              or "the search was stopped before it found a plan")

    def chosen(self) -> Iterator[tuple[int, int, list[int]]]:
        """Yields (table index, option index, ranks) in proposal order. Raises NoPlanError."""
        self._require_plan()
        tables, shards = self._summary.num_tables, self._summary.num_shards
        table = _native.array(c_uint32, tables)
        option = _native.array(c_uint32, tables)
        begin = _native.array(c_uint64, tables + 1)
        rank = _native.array(c_uint32, shards)
        buffers = _native.PlanBuffers(num_tables=tables, num_shards=shards, table=table,
                                      option=option, shard_begin=begin, rank=rank)
        _native.call("result_plan", self._handle.value, byref(buffers))
        ranks, begins = list(rank), list(begin)
        for i in range(tables):
            yield table[i], option[i], ranks[begins[i]:begins[i + 1]]

    @cached_property
    def tables(self) -> tuple[TablePlan, ...]:
        """The plan of every table, in proposal order. Raises NoPlanError."""
        chosen = list(self.chosen())
        names = self._problem.table_names
        options = OptionArrays.of_result(self)
        return tuple(options.table_plan(names[table], table, option, ranks)
                     for table, option, ranks in chosen)

    @cached_property
    def ranks(self) -> tuple[RankLoad, ...]:
        """Time and memory of every rank. Raises NoPlanError."""
        self._require_plan()
        count = self._summary.num_ranks
        perf, parts = _native.array(c_double, count), _native.array(c_double, 5 * count)
        memory = {name: _native.array(c_int64, count) for name in _RANK_MEMORY}
        buffers = _native.RankBuffers(num_ranks=count, perf_ms=perf, perf_parts=parts, **memory)
        _native.call("result_ranks", self._handle.value, byref(buffers))
        return tuple(RankLoad(rank, perf[rank], tuple(parts[5 * rank:5 * rank + 5]),
                              **{name: values[rank] for name, values in memory.items()})
                     for rank in range(count))

    @classmethod
    def load(cls, path: str | PathLike[str], problem: ProblemLike, *,
             search_space: SearchSpace | None = None, **machine: Unpack[Machine]) -> PlanResult:
        """Reads a plan that `save` or `shardwright plan -o` wrote, and recomputes it.

        The file has the plan, the problem its tables and machine, given as to `plan`. Raises
        VerificationError if the plan was made for another problem or a claim of it does not hold.
        """
        read = as_problem(problem, **machine)
        text = plan_text(path, "path")
        space = None if search_space is None else search_space._handle.value
        return cls(read, _native.Handle("result", "result_from_json", read._handle.value, space,
                                        text, c_size_t(len(text))))

    def to_json(self, search_space: bool = False, stats: bool = False) -> str:
        """The text of `shardwright plan --json`, with all options or the statistics if asked for."""
        contents = ((_native.WITH_SEARCH_SPACE if search_space else 0)
                    | (_native.WITH_STATS if stats else 0))
        return _native.text_of("result_to_json", self._handle.value, contents)

    def to_dict(self, search_space: bool = False, stats: bool = False) -> dict[str, Any]:
        """The same as a dict."""
        found: dict[str, Any] = json.loads(self.to_json(search_space, stats))
        return found

    def stats(self) -> dict[str, Any]:
        """TorchRec's statistics of the plan: every rank, critical path, imbalance. Raises
        NoPlanError.
        """
        self._require_plan()
        found: dict[str, Any] = self.to_dict(stats=True)["stats"]
        return found

    def save(self, path: str | PathLike[str]) -> None:
        """Writes a plan file, which `load` and the command can read."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.to_json())

    def report(self, path: str | PathLike[str]) -> None:
        """Writes the HTML page of `shardwright plan --report`."""
        page = _native.text_of("result_to_html", self._handle.value)
        with open(path, "w", encoding="utf-8") as file:
            file.write(page)

    def to_pandas(self, what: str = "shards") -> Any:
        """A pandas.DataFrame with a row per shard ("shards"), table ("tables") or rank ("ranks").

        Times are in ms and memory in bytes. Raises NoPlanError, ImportError without pandas, and
        ValueError for another `what`.
        """
        rows = _rows(self, what)
        return importlib.import_module("pandas").DataFrame(rows)

    def to_numpy(self, what: str = "ranks") -> dict[str, Any]:
        """The columns of `to_pandas` by name, as one-dimensional NumPy arrays."""
        rows = _rows(self, what)
        numpy = importlib.import_module("numpy")
        return {key: numpy.array([row[key] for row in rows]) for key in rows[0]} if rows else {}

    def plot(self, ax: Any = None) -> Any:
        """Draws time and memory by rank with matplotlib. Returns the axes. Raises NoPlanError."""
        from .display import plot_ranks
        return plot_ranks(self, ax)

    def _repr_html_(self) -> str:
        from .display import html
        return html(self)

    def __str__(self) -> str:
        """The text of `shardwright plan`."""
        if self._handle.closed:
            return repr(self)
        return _native.text_of("result_to_text", self._handle.value, 0)

    def __repr__(self) -> str:
        if self._handle.closed:
            return "<shardwright.PlanResult, closed>"
        if self.failure is not None:
            return f"<shardwright.PlanResult: no plan: {self.failure.message}>"
        bound = f", at most {self.gap:.3%} from optimal" if self.gap is not None else ""
        return (f"<shardwright.PlanResult: {self._summary.num_tables} tables on "
                f"{self._summary.num_ranks} ranks, rating {self.rating:.6g}{bound}>")


class OptionArrays:
    """Options and their shards as arrays, as in `shardwright_option_buffers`."""

    def __init__(self, space: _native.Handle) -> None:
        info = _native.SearchSpaceInfo()
        _native.call("search_space_sizes", space.value, byref(info))
        options, shards = info.num_options, info.num_shards
        self.table = _native.array(c_uint32, options)
        self.sharding_type = _native.array(c_uint8, options)
        self.compute_kernel = _native.array(c_uint8, options)
        self.begin = _native.array(c_uint64, options + 1)
        self.load_factor = _native.array(c_double, options)
        self.is_weighted = _native.array(c_uint8, options)
        self.input_dist_comms = _native.array(c_double, options)
        self.size, self.offset = (_native.array(c_int64, 2 * shards) for _ in range(2))
        self.hbm, self.ddr, self.ssd = (_native.array(c_int64, shards) for _ in range(3))
        self.perf = _native.array(c_double, 5 * shards)
        buffers = _native.OptionBuffers(
            num_options=options, num_shards=shards, table=self.table,
            sharding_type=self.sharding_type, compute_kernel=self.compute_kernel,
            shard_begin=self.begin, load_factor=self.load_factor, size=self.size,
            offset=self.offset, hbm=self.hbm, ddr=self.ddr, perf=self.perf, ssd=self.ssd,
            is_weighted=self.is_weighted, input_dist_comms=self.input_dist_comms)
        _native.call("search_space_to_arrays", space.value, byref(buffers))

    @classmethod
    def of_result(cls, result: PlanResult) -> OptionArrays:
        """The options that the result's plan was chosen from."""
        space = _native.Handle("search_space", "result_search_space", result._handle.value)
        try:
            return cls(space)
        finally:
            space.close()

    def __len__(self) -> int:
        return len(self.table)

    def shards(self, option: int, ranks: Sequence[int]) -> tuple[Shard, ...]:
        """The shards of an option on `ranks`, one per shard."""
        return tuple(
            Shard(size=(self.size[2 * j], self.size[2 * j + 1]),
                  offset=(self.offset[2 * j], self.offset[2 * j + 1]), rank=rank, hbm=self.hbm[j],
                  ddr=self.ddr[j], perf=tuple(self.perf[5 * j:5 * j + 5]), ssd=self.ssd[j])
            for j, rank in enumerate(ranks, start=self.begin[option]))

    def table_plan(self, name: str, table: int, option: int, ranks: list[int]) -> TablePlan:
        return TablePlan(name, table, option, _native.SHARDING_TYPES[self.sharding_type[option]],
                         _native.COMPUTE_KERNELS[self.compute_kernel[option]],
                         _finite(self.load_factor[option]), self.shards(option, ranks))


def _rows(result: PlanResult, what: str) -> list[dict[str, Any]]:
    if what == "ranks":
        return [{"rank": load.rank, "total_ms": load.total_ms, **dict(zip(PERF_PARTS, load.perf)),
                 "hbm": load.hbm, "ddr": load.ddr, "available_hbm": load.available_hbm,
                 "available_ddr": load.available_ddr, "ssd": load.ssd,
                 "available_ssd": load.available_ssd} for load in result.ranks]
    if what == "tables":
        return [{"table": table.table, "sharding_type": table.sharding_type,
                 "compute_kernel": table.compute_kernel, "num_shards": len(table.shards),
                 "hbm": table.hbm, "ddr": table.ddr, "ssd": table.ssd,
                 "total_ms": table.total_ms}
                for table in result.tables]
    if what == "shards":
        return [{"table": table.table, "sharding_type": table.sharding_type,
                 "compute_kernel": table.compute_kernel, "shard": number, "rank": shard.rank,
                 "rows": shard.size[0], "columns": shard.size[1], "row_offset": shard.offset[0],
                 "column_offset": shard.offset[1], "hbm": shard.hbm, "ddr": shard.ddr,
                 "ssd": shard.ssd, "total_ms": shard.total_ms, **dict(zip(PERF_PARTS, shard.perf))}
                for table in result.tables for number, shard in enumerate(table.shards)]
    raise ValueError(f"what must be 'shards', 'tables' or 'ranks', not {what!r}")
