"""Turns TorchRec's topology and settings into a problem of the library, and searches."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any, Callable, Iterator, Sequence

from torchrec.distributed.planner.partitioners import (GreedyPerfPartitioner,
                                                       MemoryBalancedPartitioner)
from torchrec.distributed.planner.perf_models import NoopPerfModel, NoopStorageModel
from torchrec.distributed.planner.proposers import (DynamicProgrammingProposer,
                                                    EmbeddingOffloadScaleupProposer, GreedyProposer,
                                                    GridSearchProposer, UniformProposer)
from torchrec.distributed.planner.types import (Partitioner, PerfModel, PlannerError,
                                                PlannerErrorType, Proposer, Topology)

from ..errors import InvalidInputError
from ..answer import Cancel, ProgressLike
from ..arguments import Mode
from ..planning import plan
from ..problem import Problem
from ..progress import Exchange
from ..result import PlanResult
from .candidates import Candidates, Chosen
from .collective import Leader
from .machine import Unsupported

logger = logging.getLogger(__name__)

# TorchRec's proposers, each with its form in problem files.
_PROPOSERS: dict[type, Callable[[Any], dict[str, Any]]] = {
    GreedyProposer: lambda own: {"type": "greedy", "use_depth": own._use_depth,
                                 **({"threshold": own._threshold} if own._threshold else {})},
    UniformProposer: lambda own: {"type": "uniform", "use_depth": own._use_depth},
    GridSearchProposer: lambda own: {"type": "grid", "max_proposals": own._max_proposals},
    DynamicProgrammingProposer: lambda own: {"type": "dp",
                                             "hbm_bins_per_device": own._hbm_bins_per_device},
    EmbeddingOffloadScaleupProposer: lambda own: {"type": "scaleup", "use_depth": own.use_depth},
}


def is_known(proposer: Proposer) -> bool:
    """True if the proposer is TorchRec's own, and no subclass."""
    return type(proposer) in _PROPOSERS


def proposer_json(proposer: Proposer) -> dict[str, Any]:
    """The proposer in the form of problem files. Raises Unsupported."""
    if not is_known(proposer):
        raise Unsupported(f"the proposer {type(proposer).__name__}")
    return _PROPOSERS[type(proposer)](proposer)


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


@dataclass(frozen=True)
class SearchSettings:
    """Arguments of `shardwright.plan` other than the problem."""

    mode: Mode = "best"
    threads: int = 0
    time_limit: float | None = None
    work_limit: int | None = None
    seed: int = 0
    progress: ProgressLike = None
    cancel: Cancel | None = None
    leader: Leader | None = None  # of other ranks that help, in best mode


_ARGUMENTS = frozenset(field.name for field in fields(SearchSettings))


class Search:
    """A search of candidates on what the reservation left of a topology. Leaving it as a context
    manager frees its native memory. Raises Unsupported if the library cannot search the candidates
    or the topology.
    """

    def __init__(self, candidates: Candidates, topology: Topology,
                 proposers: Sequence[dict[str, Any]], partitioner: dict[str, Any],
                 perf_model: str = "perf") -> None:
        if not candidates.estimates and any(own["type"] == "scaleup" for own in proposers):
            raise Unsupported("caches to scale, whose costs are not TorchRec's own")
        self._candidates = candidates
        self.document = {**candidates.problem(topology), "proposers": list(proposers),
                          "partitioner": partitioner, "perf_model": perf_model}
        with self._refusals():
            self.problem = Problem(self.document)
            self.space = candidates.search_space(self.problem)

    def run(self, settings: SearchSettings) -> PlanResult:
        """Plans, with the help of other ranks if there are any and the costs are the library's own."""
        leader = settings.leader
        with self._refusals():
            if leader is None or settings.mode != "best" or self.space is not None:
                return self._plan(settings)
            leader.call(self.document, time_limit=settings.time_limit,
                        work_limit=settings.work_limit, seed=settings.seed)
            try:
                return self._plan(replace(settings, threads=leader.threads), leader.exchange)
            except InvalidInputError as error:
                if error.place != "exchange":
                    raise
                logger.warning("rank 0 plans alone: %s", error)
                return self._plan(settings)

    def _plan(self, settings: SearchSettings, exchange: Exchange | None = None) -> PlanResult:
        arguments = {name: getattr(settings, name) for name in _ARGUMENTS if name != "leader"}
        return plan(self.problem, search_space=self.space, exchange=exchange, **arguments)

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        """Raises Unsupported where the library refuses what TorchRec's objects say, so that
        TorchRec plans or refuses. Errors in arguments of the search stay what they are.
        """
        try:
            yield
        except InvalidInputError as error:
            if error.place.removeprefix("/") in _ARGUMENTS:
                raise
            raise Unsupported(f"what the library says of it: {error}") from error

    def chosen(self, result: PlanResult) -> list[Chosen]:
        """The chosen options, in proposal order. Raises PlannerError if there is no plan."""
        if result.failure is not None:
            raise _planner_error(result)
        return list(self._candidates.chosen(result))

    def __enter__(self) -> Search:
        return self

    def __exit__(self, *_: object) -> None:
        if self.space is not None:
            self.space.close()
        self.problem.close()


def _planner_error(result: PlanResult) -> PlannerError:
    """Makes TorchRec's error for a search without a plan, with the library's reason."""
    failure = result.failure
    if failure is None or not failure.message:
        return PlannerError(f"the search was stopped before it found a plan ({result.stopped_by})")
    types = {item.value: item for item in PlannerErrorType}
    return PlannerError(f"{failure.message} ({failure.reason}; {result.num_proposals} proposals)",
                        types.get(failure.type, PlannerErrorType.OTHER))


def default_proposers() -> list[dict[str, Any]]:
    """The proposers of TorchRec's planner."""
    return [{"type": "grid"}, {"type": "greedy"}, {"type": "greedy", "use_depth": False},
            {"type": "uniform"}]

