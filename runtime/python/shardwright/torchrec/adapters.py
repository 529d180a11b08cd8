"""Shardwright's search as a Proposer or Partitioner of TorchRec's planner.

Annotations are values, as in planner.py.
"""

from typing import List, Optional, Sequence

from torchrec.distributed.planner.types import (Enumerator, Partitioner, PlannerError,
                                                PlannerErrorType, Proposer, ShardingOption,
                                                Topology)

from ..arguments import Mode
from .candidates import GivenOptions, by_table, check_options
from .machine import Unsupported
from .search import Search, SearchSettings, default_proposers

_GREEDY = {"type": "greedy", "sort_by": "storage", "balance_modules": False}


def _batch_size(options: Sequence[ShardingOption]) -> int:
    return max(1, int(options[0].batch_size))


class ShardwrightProposer(Proposer):
    """Proposes the cheapest option of every table first, then the options of the best plan that
    shardwright finds for the available memory.

    The planner's partitioner places the options; ShardwrightPartitioner places them as shardwright
    does. Arguments are those of `shardwright.plan`. `feedback` raises PlannerError for options that
    shardwright does not support. Thread safety: one thread at a time, as in TorchRec.
    """

    def __init__(self, *, mode: Mode = "best", threads: int = 0, time_limit: float | None = None,
                 work_limit: int | None = None, seed: int = 0) -> None:
        self._settings = SearchSettings(mode=mode, threads=threads, time_limit=time_limit,
                                        work_limit=work_limit, seed=seed)
        self._options: list[ShardingOption] = []
        self._proposal: list[ShardingOption] | None = None
        self._searched = False

    def load(self, search_space: List[ShardingOption],
             enumerator: Optional[Enumerator] = None) -> None:
        check_options(search_space, "search_space")
        of_tables = list(by_table(search_space).values())
        # In the order of GivenOptions, which groups by table.
        self._options = [option for options in of_tables for option in options]
        self._proposal = [min(options, key=lambda option: option.total_perf)
                          for options in of_tables]
        self._searched = False

    def propose(self) -> Optional[List[ShardingOption]]:
        return self._proposal

    def feedback(self, partitionable: bool, plan: Optional[List[ShardingOption]] = None,
                 perf_rating: Optional[float] = None,
                 storage_constraint: Optional[Topology] = None) -> None:
        if self._searched or storage_constraint is None:
            self._proposal = None
            return
        self._searched = True
        candidates = GivenOptions(self._options, _batch_size(self._options))
        try:
            with Search(candidates, storage_constraint, default_proposers(), _GREEDY) as search:
                result = search.run(self._settings)
                self._proposal = None
                if result.has_plan:
                    self._proposal = [self._options[chosen.number]
                                      for chosen in search.chosen(result)]
        except Unsupported as reason:
            raise PlannerError(f"ShardwrightProposer cannot search {reason}; use TorchRec's "
                               "proposers for this model") from None


class ShardwrightPartitioner(Partitioner):
    """Places the shards of a proposal: with mode "compat" as GreedyPerfPartitioner does, with mode
    "best" by a search of at most `work_limit` steps.

    Raises ValueError for an unknown `sort_by`. Thread safety: any.
    """

    def __init__(self, *, mode: Mode = "compat", threads: int = 0, work_limit: int | None = None,
                 sort_by: str = "storage", balance_modules: bool = False) -> None:
        if sort_by not in ("storage", "perf"):
            raise ValueError(f"sort_by must be 'storage' or 'perf', not {sort_by!r}")
        self._settings = SearchSettings(mode=mode, threads=threads, work_limit=work_limit)
        self._partitioner = {"type": "greedy", "sort_by": sort_by,
                             "balance_modules": bool(balance_modules)}

    def partition(self, proposal: List[ShardingOption],
                  storage_constraint: Topology) -> List[ShardingOption]:
        """Sets the rank of every shard and returns the proposal. Raises PlannerError if the shards
        do not fit or an option is not supported.
        """
        check_options(proposal, "proposal")
        if not isinstance(storage_constraint, Topology):
            raise TypeError("storage_constraint must be a Topology, "
                            f"not {type(storage_constraint).__name__}")
        if not proposal:
            return proposal
        try:
            with Search(GivenOptions(proposal, _batch_size(proposal)), storage_constraint,
                        [{"type": "greedy"}], self._partitioner) as search:
                result = search.run(self._settings)
                if result.failure is not None:
                    raise PlannerError(result.failure.message, PlannerErrorType.PARTITION)
                chosen = search.chosen(result)
        except Unsupported as reason:
            raise PlannerError(f"ShardwrightPartitioner cannot place {reason}") from None
        placed = {item.option.fqn: item.option for item in chosen}
        for option in proposal:
            for shard, own in zip(option.shards, placed[option.fqn].shards):
                shard.rank = own.rank
        return proposal
