"""What a plan is chosen from: options that TorchRec has estimated, or options that the library
makes.
"""

from __future__ import annotations

import copy
import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Iterable, Iterator, Sequence

from torchrec.distributed.planner.enumerators import get_partition_by_type
from torchrec.distributed.planner.types import Perf, Shard, ShardingOption, Storage, Topology
from torchrec.distributed.types import CacheParams

from .._native import COMPUTE_KERNELS, SHARDING_TYPES
from ..problem import Problem, SearchSpace
from ..result import PlanResult, options_of, options_of_result
from .machine import Unsupported, topology_json
from .translation import reserved_memory
from .walk import Table

# Stands for kernels that the library does not know. The kernel does not matter if costs are given.
_ANY_KERNEL = "customized_kernel"


@dataclass(frozen=True)
class Chosen:
    """The option that was chosen for a table, with ranks."""

    number: int  # of the option, in enumeration order
    option: ShardingOption


class Candidates(ABC):
    """What a plan is chosen from."""

    # True if the library can estimate options that are not listed, such as larger caches.
    estimates: bool

    @property
    @abstractmethod
    def num_tables(self) -> int: ...

    @abstractmethod
    def problem(self, topology: Topology) -> dict[str, Any]:
        """Tables and machine in the form of problem files; `topology` is what the reservation left.

        Raises Unsupported.
        """

    @abstractmethod
    def search_space(self, problem: Problem) -> SearchSpace | None:
        """The options with their costs; None if the library makes them from the problem."""

    @abstractmethod
    def chosen(self, result: PlanResult) -> Iterator[Chosen]:
        """The chosen options, in proposal order."""


class GivenOptions(Candidates):
    """TorchRec's options with TorchRec's costs. Raises ValueError if a shard has none."""

    estimates = False

    def __init__(self, options: Sequence[ShardingOption], batch_size: int) -> None:
        check_options(options, "options")
        self._batch_size = batch_size
        of_tables = list(by_table(options).values())
        self._first = [own[0] for own in of_tables]
        self._options = [option for own in of_tables for option in own]
        self._search_space = list(map(_option_json, self._options))

    @property
    def num_tables(self) -> int:
        return len(self._first)

    def problem(self, topology: Topology) -> dict[str, Any]:
        for option in self._options:
            if option.sharding_type not in SHARDING_TYPES:
                raise Unsupported(
                    f"the sharding type {option.sharding_type} of table {option.name}")
        take_ssd = any(_ssd(shard.storage) for option in self._options for shard in option.shards)
        return {"name": "torchrec", "batch_size": self._batch_size,
                "topology": topology_json(topology, take_ssd),
                "tables": list(map(_table_json, self._first)), "reservation": {"type": "none"}}

    def search_space(self, problem: Problem) -> SearchSpace | None:
        return SearchSpace(problem, {"search_space": self._search_space})

    def chosen(self, result: PlanResult) -> Iterator[Chosen]:
        for _, number, ranks in result.chosen():
            option = copy.copy(self._options[number])
            option.shards = [Shard(size=list(shard.size), offset=list(shard.offset),
                                   storage=copy.copy(shard.storage), perf=shard.perf, rank=rank)
                             for shard, rank in zip(option.shards, ranks)]
            yield Chosen(number, option)


def by_table(options: Iterable[ShardingOption]) -> dict[str, list[ShardingOption]]:
    """The options of each table, by the table's full name."""
    found: dict[str, list[ShardingOption]] = {}
    for option in options:
        found.setdefault(option.fqn, []).append(option)
    return found


def check_options(options: object, what: str) -> None:
    if not isinstance(options, (list, tuple)):
        raise TypeError(f"{what} must be a list of ShardingOptions, not {type(options).__name__}")
    for option in options:
        if not isinstance(option, ShardingOption):
            raise TypeError(f"{what} must hold ShardingOptions, not {type(option).__name__}")


def _table_json(option: ShardingOption) -> dict[str, Any]:
    return {"name": option.name, "module": option.path or ".",
            "num_embeddings": int(option.tensor.shape[0]),
            "embedding_dim": int(option.tensor.shape[1]),
            "kind": "pooled" if option.is_pooled else "sequence",
            **({"dependency": option.dependency} if option.dependency else {})}


def _ssd(storage: Storage | None) -> int:
    return getattr(storage, "ssd", 0)  # TorchRec has it since 1.9


def _option_json(option: ShardingOption) -> dict[str, Any]:
    """The option in the form of problem files."""
    kernel = option.compute_kernel if option.compute_kernel in COMPUTE_KERNELS else _ANY_KERNEL
    factor = option.cache_load_factor
    return {"table": option.name, "module": option.path or ".", "sharding_type": option.sharding_type,
            "compute_kernel": kernel, **({} if factor is None else {"load_factor": factor}),
            "shards": _shards_json(option)}


def _shards_json(option: ShardingOption) -> list[dict[str, Any]]:
    """Adjacent shards of equal size, cost and step are one entry with their count and step."""
    entries: list[dict[str, Any]] = []
    before: dict[str, Any] = {}
    row = column = count = 0
    for number, shard in enumerate(option.shards):
        storage, perf = shard.storage, shard.perf
        if storage is None or perf is None:
            raise ValueError(f"shard {number} of table {option.name} has no costs; "
                             "call the enumerator's populate_estimates first")
        step = [shard.offset[0] - row, shard.offset[1] - column]
        row, column = shard.offset
        entry = {"size": list(shard.size), "hbm": storage.hbm, "ddr": storage.ddr,
                 **({"ssd": storage.ssd} if _ssd(storage) else {}),
                 "perf": [float(part) for part in (perf.fwd_compute, perf.fwd_comms, perf.bwd_compute,
                                                   perf.bwd_comms, perf.prefetch_compute)]}
        if entry == before and (count == 1 or entries[-1]["step"] == step):
            count += 1
            entries[-1].update(count=count, step=step)
        else:
            before, count = entry, 1
            entries.append({**entry, "offset": list(shard.offset)})
    return entries


class EstimatedOptions(Candidates):
    """Options and costs that the library makes, equal to TorchRec's to the last bit."""

    estimates = True

    def __init__(self, tables: Sequence[Table], problem: dict[str, Any],
                 topology: Topology) -> None:
        self._tables = tables
        self._problem = problem
        self._topology = topology  # before the reservation

    @property
    def num_tables(self) -> int:
        return len(self._tables)

    def problem(self, topology: Topology) -> dict[str, Any]:
        return {**self._problem, "reservation": {"type": "none"},
                "reserved_memory": reserved_memory(self._topology, topology)}

    def with_layouts(self, layouts: dict[str, Any]) -> EstimatedOptions:
        """These tables where best mode also chooses `layouts`, in the form of problem files."""
        problem = {**self._problem, "topology": {**self._problem["topology"], **layouts}}
        return EstimatedOptions(self._tables, problem, self._topology)

    def search_space(self, problem: Problem) -> SearchSpace | None:
        return None

    def chosen(self, result: PlanResult) -> Iterator[Chosen]:
        arrays = options_of_result(result)
        for table, number, ranks in result.chosen():
            yield Chosen(number, _option(arrays, number, self._tables[table], ranks))

    def options(self) -> list[ShardingOption]:
        """All options, without ranks."""
        with Problem(self._problem) as problem, SearchSpace(problem) as space:
            arrays = options_of(space._handle)
        return [_option(arrays, number, self._tables[arrays.table[number]],
                        [None] * (arrays.shard_begin[number + 1] - arrays.shard_begin[number]))
                for number in range(arrays.num_options)]


def _option(arrays: Any, number: int, table: Table, ranks: Sequence[int | None]) -> ShardingOption:
    sharding_type = SHARDING_TYPES[arrays.sharding_type[number]]
    option = table.sharding_option(
        sharding_type, get_partition_by_type(sharding_type),
        COMPUTE_KERNELS[arrays.compute_kernel[number]], _shards(arrays, number, ranks))
    option.is_weighted = bool(arrays.is_weighted[number])
    factor = arrays.load_factor[number]
    set_load_factor(option, None if factor != factor else factor)
    return option


def set_load_factor(option: ShardingOption, load_factor: float | None) -> None:
    """Sets the cache that a plan chose for a table. None means plain HBM."""
    if option.cache_load_factor != load_factor:
        option.cache_params = dataclasses.replace(option.cache_params or CacheParams(),
                                                  load_factor=load_factor)


def _shards(arrays: Any, number: int, ranks: Sequence[int | None]) -> list[Shard]:
    size, offset, perf, hbm = arrays.size, arrays.offset, arrays.perf, arrays.hbm
    ddr, ssd, sent = arrays.ddr, arrays.ssd, arrays.input_dist_comms[number]
    shards = []
    costs: dict[tuple[float, ...], Perf] = {}
    for j, rank in enumerate(ranks, start=arrays.shard_begin[number]):
        parts = tuple(perf[5 * j:5 * j + 5])
        if parts not in costs:
            costs[parts] = Perf(*parts[:4], prefetch_compute=parts[4], input_dist_comms=sent)
        shards.append(Shard(
            size=size[2 * j:2 * j + 2], offset=offset[2 * j:2 * j + 2],
            storage=Storage(hbm=hbm[j], ddr=ddr[j], ssd=ssd[j]), perf=costs[parts], rank=rank))
    return shards
