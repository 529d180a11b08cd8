"""Turns TorchRec's topology and settings into a problem of the library, and searches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Sequence

from torchrec.distributed.planner.partitioners import (GreedyPerfPartitioner,
                                                       MemoryBalancedPartitioner)
from torchrec.distributed.planner.perf_models import NoopPerfModel, NoopStorageModel
from torchrec.distributed.planner.proposers import (DynamicProgrammingProposer, GreedyProposer,
                                                    GridSearchProposer, UniformProposer)
from torchrec.distributed.planner.types import (Partitioner, PerfModel, PlannerError,
                                                PlannerErrorType, Proposer, ShardingOption,
                                                Topology)

from ..planning import Cancel, ProgressLike, plan
from ..problem import Problem, SearchSpace
from ..result import PlanResult
from .candidates import Candidates, Choice, Table

# The device affects only the estimators, and costs are given here.
_DEVICES = {"cpu": "cpu", "cuda": "cuda", "mtia": "mtia", "tpu": "cuda"}


class Unsupported(Exception):
    """The library does not support what the text names, but TorchRec's own search does."""


def proposer_json(proposer: Proposer) -> dict[str, Any]:
    """The proposer in the form of problem files. Raises Unsupported."""
    kind = type(proposer)
    if kind is GreedyProposer:
        return {"type": "greedy", "use_depth": proposer._use_depth,
                **({"threshold": proposer._threshold} if proposer._threshold else {})}
    if kind is UniformProposer:
        return {"type": "uniform", "use_depth": proposer._use_depth}
    if kind is GridSearchProposer:
        return {"type": "grid", "max_proposals": proposer._max_proposals}
    if kind is DynamicProgrammingProposer:
        return {"type": "dp", "hbm_bins_per_device": proposer._hbm_bins_per_device}
    raise Unsupported(f"the proposer {kind.__name__}")


def partitioner_json(partitioner: Partitioner) -> dict[str, Any]:
    """The partitioner in the form of problem files. Raises Unsupported."""
    kind = type(partitioner)
    if kind is GreedyPerfPartitioner:
        return {"type": "greedy", "sort_by": partitioner._sort_by.value,
                "balance_modules": partitioner._balance_modules}
    if kind is MemoryBalancedPartitioner:
        return {"type": "memory_balanced", "max_search_count": partitioner._max_search_count,
                "tolerance": partitioner._tolerance,
                "balance_modules": partitioner._balance_modules}
    raise Unsupported(f"the partitioner {kind.__name__}")


def perf_model_name(model: PerfModel) -> str:
    """The name of the performance model in problem files. Raises Unsupported."""
    names = {NoopPerfModel: "perf", NoopStorageModel: "storage"}
    if type(model) not in names:
        raise Unsupported(f"the performance model {type(model).__name__}")
    return names[type(model)]


def topology_json(topology: Topology, compat: bool, with_ssd: bool = False) -> dict[str, Any]:
    """Ranks, hosts and memory, in the form of problem files. Raises Unsupported.

    A search with given costs needs nothing else of a topology.
    """
    if topology.compute_device not in _DEVICES:
        raise Unsupported(f"the device {topology.compute_device}")
    # Since 1.9, a host is a group of pod_size nodes. Ties of loads still depend on the node.
    group = getattr(topology, "intra_group_size", topology.local_world_size)
    if compat and group != topology.local_world_size:
        raise Unsupported("compat mode with pods of several nodes")
    hbm = [device.storage.hbm for device in topology.devices]
    custom = {"ddr_cap": [device.storage.ddr for device in topology.devices]}
    if not any(hbm) and not any(custom["ddr_cap"]):
        raise Unsupported("a machine without memory")
    device = _DEVICES[topology.compute_device] if any(hbm) else "cpu"
    if device != "cpu":
        custom["hbm_cap"] = hbm
    if with_ssd:
        custom["ssd_cap"] = [device.storage.ssd for device in topology.devices]
    return {"world_size": topology.world_size, "local_world_size": group,
            "compute_device": device, "custom": custom}


@dataclass(frozen=True)
class SearchSettings:
    """Arguments of `shardwright.plan` other than the problem."""

    mode: str = "best"
    threads: int = 0
    time_limit: float | None = None
    work_limit: int | None = None
    seed: int = 0
    progress: ProgressLike = None
    cancel: Cancel | None = None


@dataclass(frozen=True)
class Chosen:
    """The option and ranks that were chosen for a table."""

    table: Table
    choice: Choice
    ranks: list[int]
    number: int  # of the option, in enumeration order

    def option(self) -> ShardingOption:
        return self.table.sharding_option(self.choice, self.ranks)


class Search:
    """A search space on a topology. A context manager, because it owns native memory.

    Raises Unsupported if the library cannot search the candidates or the topology.
    """

    def __init__(self, candidates: Candidates, topology: Topology, batch_size: int,
                 proposers: Sequence[dict[str, Any]], partitioner: dict[str, Any],
                 perf_model: str = "perf", compat: bool = False) -> None:
        if reason := candidates.unsupported():
            raise Unsupported(reason)
        self._candidates = candidates
        self.problem = Problem({
            "name": "torchrec", "batch_size": batch_size,
            "topology": topology_json(topology, compat, candidates.take_ssd()),
            "tables": candidates.tables_json(),
            "reservation": {"type": "none"}, "proposers": list(proposers),
            "partitioner": partitioner, "perf_model": perf_model})
        self.space = SearchSpace(self.problem, candidates.json_text())

    def run(self, settings: SearchSettings) -> PlanResult:
        return plan(self.problem, search_space=self.space, mode=settings.mode,
                    threads=settings.threads, time_limit=settings.time_limit,
                    work_limit=settings.work_limit, seed=settings.seed,
                    progress=settings.progress, cancel=settings.cancel)

    def chosen(self, result: PlanResult) -> list[Chosen]:
        """The chosen options, in proposal order. Raises PlannerError if there is no plan."""
        if result.failure is not None:
            raise planner_error(result)
        found = []
        for number, option, ranks in result.chosen():
            table = self._candidates.tables[number]
            found.append(Chosen(table, table.choices[option - table.first_option], ranks, option))
        return found

    def __enter__(self) -> Search:
        return self

    def __exit__(self, *_: object) -> None:
        self.space.close()
        self.problem.close()


def planner_error(result: PlanResult) -> PlannerError:
    """Makes TorchRec's error for a search without a plan, with the library's reason."""
    failure = result.failure
    if failure is None or not failure.message:
        return PlannerError(f"the search was stopped before it found a plan ({result.stopped_by})")
    types = {item.value: item for item in PlannerErrorType}
    return PlannerError(
        f"{failure.message} ({failure.reason}; {result.num_proposals} proposals)",
        types.get(failure.type, PlannerErrorType.OTHER))


def default_proposers() -> list[dict[str, Any]]:
    """The proposers of TorchRec's planner."""
    return [{"type": "grid"}, {"type": "greedy"}, {"type": "greedy", "use_depth": False},
            {"type": "uniform"}]

