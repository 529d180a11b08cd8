"""Results of planning: the plan by table and by rank, its rating, or why there is no plan."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Iterator, Sequence
from ctypes import c_size_t
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

from . import _native
from .answer import data_frame, write
from .arguments import Machine, Mode, text_of_file
from .display import html, plot_ranks
from .errors import NoPlanError
from .problem import Problem, ProblemLike, SearchSpace, as_problem

if TYPE_CHECKING:
    from typing_extensions import Unpack

PERF_PARTS = ("fwd_compute", "fwd_comms", "bwd_compute", "bwd_comms", "prefetch_compute")
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


class PlanResult(_native.Closable):
    """The result of `plan` and `replan`. Large properties are read on first use and kept.

    Thread safety: any.
    """

    def __init__(self, problem: Problem, handle: _native.Handle) -> None:
        self._handle = handle
        self._problem = problem
        self._info = _native.filled(_native.PlanSummary(), "result_summary", handle.value)

    rating: float | None = _native.field(
        "rating", "Time of the slowest rank, ms (bytes for the storage model); None without a plan.")
    lower_bound: float | None = _native.field(
        "lower_bound", "No plan of the search space rates below it; None if not known.")
    gap: float | None = _native.field(
        "gap", "(rating - lower_bound) / rating: the plan is at most this far from optimal.")
    num_proposals: int = _native.field("num_proposals", "Proposals evaluated.")
    num_plans: int = _native.field("num_plans", "Proposals that fit.")
    seconds: float = _native.field("total_s", "Wall time of planning without Python's conversions.")

    @property
    def has_plan(self) -> bool:
        """True if a plan was found; otherwise `failure` says why not."""
        return bool(self._info.has_plan)

    @property
    def mode(self) -> Mode:
        """"best" or "compat"."""
        return "compat" if self._info.mode else "best"

    @property
    def proven_optimal(self) -> bool:
        """True if the gap is at most 1e-4."""
        return bool(self._info.proven_optimal)

    @property
    def stopped_by(self) -> str:
        """"work_limit", "time_limit", "cancelled", or "" if the search ran to its end."""
        return _native.STOPS[self._info.stopped_by]

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
        tables, shards = self._info.num_tables, self._info.num_shards
        lengths = {"table": tables, "option": tables, "shard_begin": tables + 1, "rank": shards}
        plan = _native.filled(
            _native.buffers(_native.PlanBuffers, lengths, num_tables=tables, num_shards=shards),
            "result_plan", self._handle.value)
        begin = plan.shard_begin
        for i in range(tables):
            yield plan.table[i], plan.option[i], plan.rank[begin[i]:begin[i + 1]]

    @cached_property
    def tables(self) -> tuple[TablePlan, ...]:
        """The plan of every table, in proposal order. Raises NoPlanError."""
        chosen = list(self.chosen())
        names, options = self._problem.table_names, options_of_result(self)
        return tuple(_table_plan(options, names[table], table, option, ranks)
                     for table, option, ranks in chosen)

    @cached_property
    def ranks(self) -> tuple[RankLoad, ...]:
        """Time and memory of every rank. Raises NoPlanError."""
        self._require_plan()
        count = self._info.num_ranks
        lengths = {"perf_ms": count, "perf_parts": 5 * count, **dict.fromkeys(_RANK_MEMORY, count)}
        loads = _native.filled(_native.buffers(_native.RankBuffers, lengths, num_ranks=count),
                               "result_ranks", self._handle.value)
        return tuple(RankLoad(rank, loads.perf_ms[rank],
                              tuple(loads.perf_parts[5 * rank:5 * rank + 5]),
                              **{name: getattr(loads, name)[rank] for name in _RANK_MEMORY})
                     for rank in range(count))

    @classmethod
    def load(cls, path: str | PathLike[str], problem: ProblemLike, *,
             search_space: SearchSpace | None = None, **machine: Unpack[Machine]) -> PlanResult:
        """Reads a plan that `save` or `shardwright plan -o` wrote, and recomputes it.

        The file has the plan only; the problem has the tables and the machine. Raises
        VerificationError if the plan was made for another problem or one of its claims is false.
        """
        read = as_problem(problem, **machine)
        text = text_of_file(path, "path")
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
        """TorchRec's statistics of the plan: ranks, critical path, imbalance. Raises NoPlanError.
        """
        self._require_plan()
        return dict(self.to_dict(stats=True)["stats"])

    def save(self, path: str | PathLike[str]) -> None:
        """Writes a plan file, which `load` and the command can read."""
        write(path, self.to_json())

    def report(self, path: str | PathLike[str]) -> None:
        """Writes the HTML page of `shardwright plan --report`."""
        write(path, _native.text_of("result_to_html", self._handle.value))

    def to_pandas(self, what: str = "shards") -> Any:
        """A pandas.DataFrame with a row per shard ("shards"), table ("tables") or rank ("ranks"),
        times in ms and memory in bytes. Raises NoPlanError, ImportError without pandas, and
        ValueError for another `what`.
        """
        return data_frame(_rows(self, what))

    def to_numpy(self, what: str = "ranks") -> dict[str, Any]:
        """The columns of `to_pandas` by name, as one-dimensional NumPy arrays."""
        rows = _rows(self, what)
        numpy = importlib.import_module("numpy")
        return {key: numpy.array([row[key] for row in rows]) for key in rows[0]} if rows else {}

    def plot(self, ax: Any = None) -> Any:
        """Draws time and memory by rank with matplotlib. Returns the axes. Raises NoPlanError."""
        return plot_ranks(self, ax)

    def _repr_html_(self) -> str:
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
        return (f"<shardwright.PlanResult: {self._info.num_tables} tables on "
                f"{self._info.num_ranks} ranks, rating {self.rating:.6g}{bound}>")


def options_of(space: _native.Handle) -> Any:
    """The options of a search space with their shards, as `shardwright_option_buffers` has them."""
    info = _native.filled(_native.SearchSpaceInfo(), "search_space_sizes", space.value)
    options, shards = info.num_options, info.num_shards
    lengths = {"table": options, "sharding_type": options, "compute_kernel": options,
               "shard_begin": options + 1, "load_factor": options, "is_weighted": options,
               "input_dist_comms": options, "size": 2 * shards, "offset": 2 * shards, "hbm": shards,
               "ddr": shards, "ssd": shards, "perf": 5 * shards}
    return _native.filled(
        _native.buffers(_native.OptionBuffers, lengths, num_options=options, num_shards=shards),
        "search_space_to_arrays", space.value)


def options_of_result(result: PlanResult) -> Any:
    """The options that the result's plan was chosen from, as `options_of` returns them."""
    space = _native.Handle("search_space", "result_search_space", result._handle.value)
    try:
        return options_of(space)
    finally:
        space.close()


def _table_plan(options: Any, name: str, table: int, option: int, ranks: Sequence[int]
                ) -> TablePlan:
    """An option whose shards are on `ranks`, one rank for each shard."""
    size, offset, factor = options.size, options.offset, options.load_factor[option]
    return TablePlan(
        name, table, option, _native.SHARDING_TYPES[options.sharding_type[option]],
        _native.COMPUTE_KERNELS[options.compute_kernel[option]],
        factor if math.isfinite(factor) else None,
        tuple(Shard(size=(size[2 * j], size[2 * j + 1]), offset=(offset[2 * j], offset[2 * j + 1]),
                    rank=rank, hbm=options.hbm[j], ddr=options.ddr[j],
                    perf=tuple(options.perf[5 * j:5 * j + 5]), ssd=options.ssd[j])
              for j, rank in enumerate(ranks, start=options.shard_begin[option])))


def _rows(result: PlanResult, what: str) -> list[dict[str, Any]]:
    if what == "ranks":
        return [{"rank": load.rank, "total_ms": load.total_ms, **dict(zip(PERF_PARTS, load.perf)),
                 **{name: getattr(load, name) for name in _RANK_MEMORY}} for load in result.ranks]
    if what not in ("tables", "shards"):
        raise ValueError(f"what must be 'shards', 'tables' or 'ranks', not {what!r}")
    rows = []
    for table in result.tables:
        chosen = {"table": table.table, "sharding_type": table.sharding_type,
                  "compute_kernel": table.compute_kernel}
        if what == "tables":
            rows.append({**chosen, "num_shards": len(table.shards), "hbm": table.hbm,
                         "ddr": table.ddr, "ssd": table.ssd, "total_ms": table.total_ms})
            continue
        rows += [{**chosen, "shard": number, "rank": shard.rank, "rows": shard.size[0],
                  "columns": shard.size[1], "row_offset": shard.offset[0],
                  "column_offset": shard.offset[1], "hbm": shard.hbm, "ddr": shard.ddr,
                  "ssd": shard.ssd, "total_ms": shard.total_ms, **dict(zip(PERF_PARTS, shard.perf))}
                 for number, shard in enumerate(table.shards)]
    return rows
