"""Chooses the sharding groups of 2-D parallelism (TorchRec's DMPCollection), and pods."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Sequence

from torch import distributed, nn
from torchrec.distributed.planner import planners
from torchrec.distributed.planner.types import ShardingOption, Topology
from torchrec.distributed.types import ModuleSharder, ShardingPlan

from ..result import PlanResult
from .collective import from_leader
from .candidates import EstimatedOptions
from .enumeration import estimated_options
from .machine import Unrecognised, Unsupported
from .planner import EmbeddingShardingPlanner, to_sharding_plan
from .search import Search, is_known
from .translation import BANDWIDTHS


@dataclass(frozen=True)
class GroupLayout:
    """What the search found for one layout of the machine."""

    sharding_group_size: int  # ranks
    pod_size: int  # hosts
    rating: float | None  # ms; None if nothing was found
    lower_bound: float | None  # of this layout, ms; None if not known
    failure: str  # why there is no plan; empty if there is one


@dataclass(frozen=True)
class GroupChoice:
    """The best layout of the machine, and the plan that all of its groups have. DMPCollection
    changes `plan` to the ranks of its process's group.
    """

    plan: ShardingPlan  # ranks are those of one group, from 0
    topology: Topology  # one group
    world_size: int  # ranks of the machine
    sharding_group_size: int  # ranks of a group
    node_group_size: int  # ranks of a group in one pod (or host), which host-wise tables fill
    pod_size: int  # hosts
    use_inter_host_allreduce: bool
    rating: float  # of the slowest rank with its share of averaging, ms
    lower_bound: float | None  # no plan of any of the layouts rates below it
    layouts: tuple[GroupLayout, ...]  # those that the limits left time for, ascending
    problem: dict[str, Any]  # `shardwright.verify(problem, answer)` checks rating and bound
    answer: dict[str, Any]  # the plan file

    @property
    def gap(self) -> float | None:
        """(rating - lower_bound) / rating: the choice is at most this far from optimal."""
        if self.lower_bound is None:
            return None
        return (self.rating - self.lower_bound) / self.rating if self.rating else 0.0

    @property
    def dmp_arguments(self) -> dict[str, Any]:
        """Arguments of DMPCollection that follow from the layout."""
        return {"world_size": self.world_size, "sharding_group_size": self.sharding_group_size,
                "node_group_size": self.node_group_size,
                "use_inter_host_allreduce": self.use_inter_host_allreduce}

    def __str__(self) -> str:
        lines = [f"{'group size':>10} {'pod size':>8} {'rating ms':>12} {'bound ms':>12}"]
        for own in self.layouts:
            chosen = (own.sharding_group_size, own.pod_size) == (self.sharding_group_size,
                                                                  self.pod_size)
            lines.append(f"{own.sharding_group_size:>10} {own.pod_size:>8} {_ms(own.rating):>12} "
                         f"{_ms(own.lower_bound):>12}{'  chosen' if chosen else ''}")
        return "\n".join(lines)


def choose_groups(planner: EmbeddingShardingPlanner, module: nn.Module,
                  sharders: list[ModuleSharder[nn.Module]],
                  pg: distributed.ProcessGroup | None = None, *,
                  group_sizes: Sequence[int] | None = None,
                  pod_sizes: Sequence[int] | None = None, sync_interval: int = 1,
                  include_optimizer_state: bool = True,
                  use_inter_host_allreduce: bool = False) -> GroupChoice:
    """Chooses the sharding group size of DMPCollection, and plans for one group.

    `planner` is for the whole machine; its estimators, constraints, reservation, limits, callbacks
    and statistics hold. Of `group_sizes` (default: all that divide the machine evenly) and
    `pod_sizes` (default: that of the topology), in hosts, the layout with the best rating is chosen.
    `sync_interval` is the number of training steps from one `DMPCollection.sync` to the next, and
    `include_optimizer_state` is its argument. All layouts share the planner's limits. With `pg`,
    rank 0 chooses and tells all others, as in `collective_plan`.

    Raises ValueError if the layouts cannot be searched, TorchRec's PlannerError if none has a plan,
    and TypeError for a wrong `planner`.
    """
    groups: dict[str, Any] = {"sync_interval": sync_interval,
                              "include_optimizer_state": include_optimizer_state,
                              "use_inter_host_allreduce": use_inter_host_allreduce}
    layouts: dict[str, Any] = {"sharding_groups": groups}

    def choose() -> GroupChoice:
        if not isinstance(planner, EmbeddingShardingPlanner):
            raise TypeError("planner must be shardwright.torchrec's EmbeddingShardingPlanner, "
                            f"not {type(planner).__name__}")
        if group_sizes is not None:
            groups["size"] = sorted(set(group_sizes))
        if pod_sizes is not None:
            layouts["pod_size"] = sorted(set(pod_sizes))
        return _choose(planner, module, sharders, layouts)

    return choose() if pg is None else from_leader(pg, choose)


def _choose(planner: EmbeddingShardingPlanner, module: nn.Module,
            sharders: list[ModuleSharder[nn.Module]], layouts: dict[str, Any]) -> GroupChoice:
    start = perf_counter()
    try:
        _check(planner)
        options = estimated_options(planner._enumerator, module, sharders).with_layouts(layouts)
        if options.num_tables == 0:
            raise Unsupported("a module without tables")
        problem, result, chosen = _search(planner, module, sharders, options)
    except (Unrecognised, Unsupported) as reason:
        raise ValueError(f"sharding groups cannot be chosen here, because of {reason}") from reason
    for callback in planner._callbacks:
        chosen = callback(chosen)
    choice = _choice_of(problem, result.to_dict(), chosen, planner._topology)
    own = copy.copy(planner)
    own._topology, own._best_plan = choice.topology, chosen
    own._num_proposals, own._num_plans = result.num_proposals, result.num_plans
    own._log_stats(choice.plan, chosen, sharders, perf_counter() - start)
    planners.validate_modules_inclusion_in_sharding_plan(choice.plan, module, sharders)
    planners.validate_rank_assignment(choice.plan, choice.topology)
    planners.validate_compute_kernels(chosen)
    return choice


def _check(planner: EmbeddingShardingPlanner) -> None:
    """Raises Unsupported for what `plan` would leave to TorchRec's own search."""
    if planner._settings.mode != "best":
        raise Unsupported(f"mode {planner._settings.mode!r}; only 'best' chooses")
    if planner.plan_loader is not None:
        raise Unsupported("the plan loader")
    for proposer in planner._proposers:
        if not is_known(proposer):
            raise Unsupported(f"the proposer {type(proposer).__name__}")


def _search(planner: EmbeddingShardingPlanner, module: nn.Module,
            sharders: list[ModuleSharder[nn.Module]], options: EstimatedOptions
            ) -> tuple[dict[str, Any], PlanResult, list[ShardingOption]]:
    """A problem, the answer to it, and the chosen options with ranks of one group. Raises
    Unsupported, and PlannerError if nothing fits.
    """
    with Search(options, planner._reserve(module, sharders),
                *planner._steering(planner._proposers)) as search:
        result = search.run(planner._settings)
        return search.document, result, [chosen.option for chosen in search.chosen(result)]


def _choice_of(problem: dict[str, Any], answer: dict[str, Any], options: list[ShardingOption],
               machine: Topology) -> GroupChoice:
    consecutive: bool = problem["topology"]["sharding_groups"]["use_inter_host_allreduce"]
    size, pod = answer["sharding_group_size"], answer.get("pod_size", 1)
    group = group_topology(machine, size, pod, consecutive)
    return GroupChoice(
        plan=to_sharding_plan(options, group), topology=group,
        world_size=machine.world_size, sharding_group_size=size,
        node_group_size=group.intra_group_size, pod_size=pod,
        use_inter_host_allreduce=consecutive, rating=answer["best_rating"],
        lower_bound=answer["lower_bound"], layouts=_layouts(answer), problem=problem, answer=answer)


def group_topology(machine: Topology, size: int, pod_size: int, consecutive: bool) -> Topology:
    """The topology for which TorchRec's planner plans one group of `size` ranks. The ranks of a
    group are `consecutive`, or every R-th rank of the machine, where R is the number of groups.
    """
    def ranks_among(linked: int) -> int:
        return min(size, linked) if consecutive else max(linked * size // machine.world_size, 1)

    local = ranks_among(machine.local_world_size)
    in_pod = ranks_among(machine.local_world_size * pod_size)
    memory = machine.devices[0].storage
    return Topology(
        world_size=size, compute_device=machine.compute_device, hbm_cap=memory.hbm,
        ddr_cap=memory.ddr, ssd_cap=memory.ssd, local_world_size=local,
        pod_size=in_pod // local if machine._pod_size or pod_size > 1 else None,
        custom_topology_data=machine._custom_topology_data,
        created_by_factory=machine._created_by_factory,
        **{name: getattr(machine, name) for name in BANDWIDTHS})


def _layouts(answer: dict[str, Any]) -> tuple[GroupLayout, ...]:
    """What a plan file has of every layout."""
    # The bound beside the chosen layout's rating is that of all layouts; its own is in the certificate.
    chosen = {**answer, "lower_bound": (answer["certificate"] or {}).get("bound")}
    found = [GroupLayout(own["sharding_group_size"], own.get("pod_size", 1), own.get("best_rating"),
                         own["lower_bound"], own.get("error", {}).get("message", ""))
             for own in (chosen, *answer.get("other_layouts", []))]
    return tuple(sorted(found, key=lambda own: (own.sharding_group_size, own.pod_size)))


def _ms(time: float | None) -> str:
    return "-" if time is None else f"{time:.6g}"
