"""The search space of a planner that the library enumerates and estimates itself."""

from __future__ import annotations

import dataclasses
from typing import Any, Iterator, Sequence

from torchrec.distributed.planner.enumerators import get_partition_by_type
from torchrec.distributed.planner.types import Perf, Shard, ShardingOption, Storage, Topology

from .._native import COMPUTE_KERNELS, SHARDING_TYPES
from ..problem import Problem, SearchSpace
from ..result import OptionArrays, PlanResult
from .candidates import Candidates, Chosen
from .translation import reserved_memory
from .walk import Table


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
        arrays = OptionArrays.of_result(result)
        for table, number, ranks in result.chosen():
            yield Chosen(number, _option(arrays, number, self._tables[table], ranks))

    def options(self) -> list[ShardingOption]:
        """All options, without ranks."""
        with Problem(self._problem) as problem, SearchSpace(problem) as space:
            arrays = OptionArrays(space._handle)
        return [_option(arrays, number, self._tables[arrays.table[number]],
                        [None] * (arrays.begin[number + 1] - arrays.begin[number]))
                for number in range(len(arrays))]


def _option(arrays: OptionArrays, number: int, table: Table,
            ranks: Sequence[int | None]) -> ShardingOption:
    sharding_type = SHARDING_TYPES[arrays.sharding_type[number]]
    option = table.sharding_option(
        sharding_type, get_partition_by_type(sharding_type),
        COMPUTE_KERNELS[arrays.compute_kernel[number]], _shards(arrays, number, ranks))
    option.is_weighted = bool(arrays.is_weighted[number])
    factor = arrays.load_factor[number]
    own = option.cache_load_factor
    if own is not None and own != factor:
        # The search chose another cache, or, with a factor that is not a number, plain HBM.
        option.cache_params = dataclasses.replace(
            option.cache_params, load_factor=None if factor != factor else factor)
    return option


def _shards(arrays: OptionArrays, number: int, ranks: Sequence[int | None]) -> list[Shard]:
    size, offset, perf, sent = arrays.size, arrays.offset, arrays.perf, arrays.input_dist_comms
    shards = []
    costs: dict[tuple[float, ...], Perf] = {}
    for j, rank in enumerate(ranks, start=arrays.begin[number]):
        parts = tuple(perf[5 * j:5 * j + 5])
        found = costs.get(parts)
        if found is None:
            found = costs[parts] = Perf(*parts[:4], prefetch_compute=parts[4],
                                        input_dist_comms=sent[number])
        shards.append(Shard(
            size=[size[2 * j], size[2 * j + 1]], offset=[offset[2 * j], offset[2 * j + 1]],
            storage=Storage(hbm=arrays.hbm[j], ddr=arrays.ddr[j], ssd=arrays.ssd[j]), perf=found,
            rank=rank))
    return shards
