"""Proposers of the user: their proposals, placed and rated by TorchRec's partitioner and model."""

from __future__ import annotations

import copy
from time import perf_counter
from typing import Iterable, Iterator

from torchrec.distributed.planner.types import (Enumerator, Partitioner, PerfModel, PlannerError,
                                                Proposer, ShardingOption, Topology)
from torchrec.distributed.planner.utils import reset_shard_rank


class ProposedPlan:
    """The best plan among the proposals of some proposers, as TorchRec's planner would find it."""

    def __init__(self, partitioner: Partitioner, perf_model: PerfModel, topology: Topology,
                 end: float | None) -> None:
        """`topology` is what the reservation left; no proposal begins after `end` of perf_counter."""
        self.plan: list[ShardingOption] | None = None
        self.rating = float("inf")
        self.num_proposals = 0
        self.num_plans = 0
        self._partitioner = partitioner
        self._perf_model = perf_model
        self._topology = topology
        self._end = end

    def run(self, proposers: Iterable[Proposer], search_space: list[ShardingOption],
            enumerator: Enumerator) -> None:
        """Source: EmbeddingShardingPlanner.plan of torchrec 1.9.2."""
        for proposer in proposers:
            proposer.load(search_space=search_space, enumerator=enumerator)
            for proposal in self._proposals(proposer):
                self._try(proposer, proposal)
                reset_shard_rank(proposal)

    def _proposals(self, proposer: Proposer) -> Iterator[list[ShardingOption]]:
        while self._end is None or perf_counter() < self._end:
            proposal = proposer.propose()
            if not proposal:
                return
            yield proposal

    def _try(self, proposer: Proposer, proposal: list[ShardingOption]) -> None:
        self.num_proposals += 1
        try:
            plan = self._partitioner.partition(proposal=proposal, storage_constraint=self._topology)
        except PlannerError:
            proposer.feedback(partitionable=False, plan=proposal, storage_constraint=self._topology)
            return
        self.num_plans += 1
        rating = self._perf_model.rate(plan=plan)
        if rating < self.rating:
            self.rating, self.plan = rating, copy.deepcopy(plan)
        proposer.feedback(partitionable=True, plan=plan, perf_rating=rating,
                          storage_constraint=self._topology)
