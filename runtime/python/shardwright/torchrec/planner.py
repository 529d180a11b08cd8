"""EmbeddingShardingPlanner: TorchRec's planner with shardwright's search.

Annotations are values here, and those of TorchRec where it has them: its schema check compares signatures.
"""

import copy
import functools
import logging
import math
import os
from contextlib import nullcontext
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Union

import torch.distributed as dist
from torch import nn
from torch.distributed.remote_device import _remote_device
from torchrec.distributed.planner import planners
from torchrec.distributed.planner.stats import EmbeddingStats
from torchrec.distributed.planner.types import (Enumerator, ParameterConstraints, Partitioner,
                                                PerfModel, PlanDebugStats, PlanLoader,
                                                PlannerContextFingerprintError, PlannerError,
                                                Proposer, ShardingOption, Stats, StorageReservation,
                                                Topology)
from torchrec.distributed.planner.utils import reset_shard_rank
from torchrec.distributed.sharding_plan import get_default_sharders, placement
from torchrec.distributed.types import (EmbeddingModuleShardingPlan, EnumerableShardingSpec,
                                        ModuleSharder, ParameterSharding, ShardMetadata,
                                        ShardingPlan, ShardingType)

from ..answer import Cancel, ProgressLike
from ..arguments import Mode
from ..planning import replan as replan_problem
from ..questions import Audit, audit
from ..result import PlanResult
from .collective import Leader, plan_on_leader
from .enumeration import enumerate_candidates, estimated_options, forget_enumeration
from .garbage import collections_allowed, collections_held
from .machine import Unrecognised, Unsupported
from .resharding import Replanned, deltas_of, movable_modules, restrict
from .search import (Search, SearchSettings, default_proposers, is_known, partitioner_json,
                     perf_model_name, proposer_json)

logger = logging.getLogger(__name__)

# Work of best mode unless the user says otherwise, in steps: about a second on two cores.
_WORK_LIMIT = 100_000_000


@dataclass(frozen=True)
class PlanSeconds:
    """Seconds of each stage of `plan`."""

    reserve: float  # TorchRec's reservation
    enumerate: float  # translation of the model and checks, or TorchRec's enumeration
    hand_over: float  # parsing of the problem by the library
    search: float  # options, costs and plan
    build: float  # conversion of the plan, callbacks, statistics and validation

    @property
    def total(self) -> float:
        """Sum of all stages, seconds."""
        return self.reserve + self.enumerate + self.hand_over + self.search + self.build


class ProposedPlan:
    """The best plan among the proposals of some proposers, as TorchRec's planner would find it."""

    def __init__(self, partitioner: Partitioner, perf_model: PerfModel, topology: Topology,
                 end: float | None) -> None:
        """`topology` is what the reservation left; no proposal begins after `end` of perf_counter.
        """
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


class EmbeddingShardingPlanner(planners.EmbeddingShardingPlanner):
    """Takes the arguments of TorchRec's planner and returns TorchRec's ShardingPlan.

    `mode` "best" searches for the best plan, starting from TorchRec's own; "compat" makes
    TorchRec's decisions. `threads`, `work_limit`, `seed`, `progress` and `cancel` are those of
    `shardwright.plan`; `work_limit` is 100 million steps unless given, about a second on two cores.
    `timeout_seconds` is a time limit. Whichever limit is reached first ends the search; a work limit
    gives the same plan on every machine, a time limit need not. Options and costs are those of the
    installed release with the given estimators, enumerator and sharders. Where TorchRec's
    EmbeddingOffloadScaleupProposer would scale caches, best mode chooses their load factors.
    In best mode, plans of custom proposers compete with the search's; in compat mode TorchRec searches
    itself then, and in both modes given custom partitioners or performance models or a machine of
    less than half of a host; it logs a warning.

    After `plan`, `result` has rating, bound and gap of the search, `seconds` the time of each stage,
    and `searched_by` is "shardwright", "torchrec", "proposers" (a custom one found a better plan) or
    "loader" (the plan loader had the plan). If the library did not search, `result` is None.
    Raises TypeError or ValueError for wrong arguments.
    Thread safety: one plan at a time per planner, as in TorchRec.
    """

    def __init__(
            self, topology: Optional[Topology] = None, batch_size: Optional[int] = None,
            enumerator: Optional[Enumerator] = None,
            storage_reservation: Optional[StorageReservation] = None,
            proposer: Optional[Union[Proposer, List[Proposer]]] = None,
            partitioner: Optional[Partitioner] = None,
            performance_model: Optional[PerfModel] = None,
            stats: Optional[Union[Stats, List[Stats]]] = None,
            constraints: Optional[Dict[str, ParameterConstraints]] = None, debug: bool = True,
            callbacks: Optional[List[Callable[[List[ShardingOption]], List[ShardingOption]]]] = None,
            timeout_seconds: Optional[int] = None, plan_loader: Optional[PlanLoader] = None, *,
            mode: Mode = "best", threads: int = 0, work_limit: int | None = None, seed: int = 0,
            progress: ProgressLike = None, cancel: Cancel | None = None) -> None:
        if mode not in ("best", "compat"):
            raise ValueError(f"mode must be 'best' or 'compat', not {mode!r}")
        if topology is not None and not isinstance(topology, Topology):
            raise TypeError(f"topology must be a Topology, not {type(topology).__name__}")
        if constraints is not None and not isinstance(constraints, dict):
            raise TypeError("constraints must be a dict of ParameterConstraints by table, "
                            f"not {type(constraints).__name__}")
        super().__init__(
            topology=topology, batch_size=batch_size, enumerator=enumerator,
            storage_reservation=storage_reservation, proposer=proposer, partitioner=partitioner,
            performance_model=performance_model, stats=stats, constraints=constraints, debug=debug,
            callbacks=callbacks, timeout_seconds=timeout_seconds, plan_loader=plan_loader)
        if work_limit is None and mode == "best":
            work_limit = _WORK_LIMIT  # TorchRec's proposers bound the work of compat mode
        self._settings = SearchSettings(mode=mode, threads=threads, work_limit=work_limit,
                                        time_limit=timeout_seconds, seed=seed, progress=progress,
                                        cancel=cancel)
        self._enumerated: tuple[nn.Module, list[ModuleSharder[nn.Module]]] | None = None
        self.result: PlanResult | None = None
        self.seconds: PlanSeconds | None = None
        self.searched_by = ""

    def plan(self, module: nn.Module, sharders: List[ModuleSharder[nn.Module]]) -> ShardingPlan:
        """Returns a plan for the modules that `sharders` can shard.

        Raises TorchRec's PlannerError if no plan is found, and TypeError for wrong arguments.
        """
        if not isinstance(module, nn.Module):
            raise TypeError(f"module must be a torch.nn.Module, not {type(module).__name__}")
        if not isinstance(sharders, (list, tuple)) or not all(
                isinstance(sharder, ModuleSharder) for sharder in sharders):
            raise TypeError("sharders must be a list of TorchRec's ModuleSharders")
        self._enumerated = (module, list(sharders))
        try:
            with collections_held():
                return self._plan(module, list(sharders))
        except Unsupported as reason:
            forget_enumeration(self._enumerator)
            logger.warning("TorchRec searches this plan itself, because of %s", reason)
            self.result = self.seconds = None
            self.searched_by = "torchrec"
            return super().plan(module, list(sharders))

    def problem(self, module: nn.Module,
                sharders: List[ModuleSharder[nn.Module]]) -> Dict[str, Any]:
        """Returns the problem that `plan` solves as a problem file, which `shardwright plan` reads.

        `load_plan` makes a ShardingPlan of its answer. Raises ValueError if something in the planner
        or the module has no place in problem files, such as the user's own estimators.
        """
        try:
            options = estimated_options(self._enumerator, module, list(sharders))
            with Search(options, self._reserve(module, list(sharders)),
                        *self._steering(self._proposers)) as search:
                return search.document
        except (Unrecognised, Unsupported) as reason:
            raise ValueError(f"no problem file can say this, because of {reason}") from reason

    def replan(self, module: nn.Module, sharders: List[ModuleSharder[nn.Module]],
               old_plan: ShardingPlan, *, migration_weight: float | None = None,
               reshardable: bool = False) -> Replanned:
        """Plans again from a ShardingPlan in use.

        Moving one GiB must lower the rating by at least `migration_weight` ms; without it, the plan
        that moves least among the fast ones is the answer. With `reshardable`, the new plan differs
        from the old one only in what DistributedModelParallel.reshard can change: ranks of
        table_wise and column_wise tables with kernel fused, and the number of shards of the latter.
        Raises what `problem` and `load_plan` raise, and NoPlanError if no plan is found.
        """
        from .plan_files import load_plan, save_plan

        own = self._settings
        document = self.problem(module, sharders)
        held = save_plan(old_plan, module, sharders=sharders)
        if reshardable:
            restrict(document, held, movable_modules(module, sharders))
        result = replan_problem(
            document, held, migration_weight=migration_weight, threads=own.threads,
            time_limit=own.time_limit, work_limit=own.work_limit, seed=own.seed,
            progress=own.progress, cancel=own.cancel)
        new_plan = load_plan(result, module, sharders, topology=self._topology,
                             constraints=self._constraints)
        return Replanned(new_plan, deltas_of(old_plan, new_plan), result)

    def audit(self, log: str | os.PathLike[str] | None = None, **arguments: Any) -> Audit:
        """Judges a log of a planner (`shardwright.audit`), by default this planner's last plan.

        Raises ValueError if this planner has not planned.
        """
        if log is not None:
            return audit(log, **arguments)
        if not self._best_plan or self._enumerated is None:
            raise ValueError("call plan() first, or give a log")
        stats = EmbeddingStats()
        topology = self._topology
        sharders = self._enumerated[1]
        stats.log(to_sharding_plan(self._best_plan, topology), topology, self._batch_size,
                  self._storage_reservation, self._num_proposals, self._num_plans, 0.0,
                  self._best_plan, self._constraints, sharders, self._enumerator)
        machine = {"ranks_per_host": topology.intra_group_size,
                   "intra_host_bw": topology.comms_bandwidths.intra_host_bw,
                   "inter_host_bw": topology.comms_bandwidths.inter_host_bw}
        return audit("\n".join(stats._stats_table) + "\n", **{**machine, **arguments})

    def collective_plan(self, module: nn.Module,
                        sharders: Optional[List[ModuleSharder[nn.Module]]] = None,
                        pg: Optional[dist.ProcessGroup] = None) -> ShardingPlan:
        """Returns one plan on all ranks of the group.

        In best mode rank r searches with `seed` + r, and the plan is the best one of all ranks;
        `threads` 0 divides the cores of a host among its ranks. Otherwise the plan is rank 0's. Only
        rank 0 has a `result`, with the bound of its own search. Raises what `plan` raises there, on
        all ranks.
        """
        group = pg if pg is not None else dist.GroupMember.WORLD
        if group is None:
            raise ValueError("call torch.distributed.init_process_group() first, or use plan()")
        own = self._settings
        sharders = get_default_sharders() if sharders is None else sharders
        if group.size() == 1:
            return self.plan(module, sharders)

        self.result = self.seconds = None
        self.searched_by = ""

        def plan_here(leader: Leader) -> ShardingPlan:
            self._settings = replace(own, leader=leader)
            try:
                return self.plan(module, sharders)
            finally:
                self._settings = own

        return plan_on_leader(group, plan_here, own.threads, own.cancel)

    def _plan(self, module: nn.Module, sharders: list[ModuleSharder[nn.Module]]) -> ShardingPlan:
        best_mode = self._settings.mode == "best"
        own = [proposer for proposer in self._proposers if best_mode and not is_known(proposer)]
        steering = self._steering([each for each in self._proposers if each not in own])
        start = perf_counter()
        self._best_plan, self._search_space = None, None
        self._num_proposals = self._num_plans = 0
        topology = self._reserve(module, sharders)
        reserved = perf_counter()
        candidates = enumerate_candidates(self._enumerator, module, sharders, self._batch_size)
        enumerated = handed_over = searched = perf_counter()
        if candidates.num_tables == 0:
            return ShardingPlan({})
        best_plan = self._loaded_plan()
        if best_plan:
            self.searched_by, self.result = "loader", None
        else:
            with Search(candidates, topology, *steering) as search:
                handed_over = perf_counter()
                self.searched_by = "shardwright"
                with collections_allowed() if best_mode else nullcontext():
                    result = self.result = search.run(self._settings)
                self._num_proposals, self._num_plans = result.num_proposals, result.num_plans
                searched = perf_counter()
                proposed = self._proposed(own, topology, start)
                rating = math.inf if result.rating is None else result.rating
                if proposed.plan is not None and proposed.rating < rating:
                    best_plan, self.searched_by = proposed.plan, "proposers"
                else:
                    best_plan = [chosen.option for chosen in search.chosen(result)]
        for callback in self._callbacks:
            best_plan = callback(best_plan)
        self._best_plan = best_plan
        sharding_plan = to_sharding_plan(best_plan, self._topology)
        seconds = PlanSeconds(reserved - start, enumerated - reserved, handed_over - enumerated,
                              searched - handed_over, perf_counter() - searched)
        self.seconds = seconds
        self._log_stats(sharding_plan, best_plan, sharders, seconds.total)
        planners.validate_modules_inclusion_in_sharding_plan(sharding_plan, module, sharders)
        planners.validate_rank_assignment(sharding_plan, self._topology)
        planners.validate_compute_kernels(best_plan)
        self.seconds = replace(seconds, build=perf_counter() - searched)
        return sharding_plan

    def _reserve(self, module: nn.Module, sharders: list[ModuleSharder[nn.Module]]) -> Topology:
        """What the storage reservation leaves of the topology."""
        return self._storage_reservation.reserve(
            topology=self._topology, batch_size=self._batch_size, module=module,
            sharders=sharders, constraints=self._constraints)

    def _steering(self, proposers: list[Proposer]
                  ) -> tuple[list[dict[str, Any]], dict[str, Any], str]:
        """Proposers, partitioner and performance model in the form of problem files. Raises
        Unsupported.
        """
        return (list(map(proposer_json, proposers)) or default_proposers(),
                partitioner_json(self._partitioner), perf_model_name(self._perf_model))

    def _proposed(self, proposers: list[Proposer], topology: Topology,
                  start: float) -> ProposedPlan:
        """The best plan of the user's proposers in the time that is left since `start`."""
        end = start + self._timeout_seconds if self._timeout_seconds else None
        found = ProposedPlan(self._partitioner, self._perf_model, topology, end)
        if proposers:
            with collections_allowed():
                found.run(proposers, self.get_search_space() or [], self._enumerator)
            self._num_proposals += found.num_proposals
            self._num_plans += found.num_plans
        return found

    def _loaded_plan(self) -> list[ShardingOption]:
        """The plan loader's plan for these options; empty if there is none.

        Raises TorchRec's PlannerError if it is for another model or machine. Source:
        EmbeddingShardingPlanner.plan of torchrec 1.9.2.
        """
        if self.plan_loader is None:
            return []
        try:
            current = self.hash_planner_context_inputs_str()
        except PlannerContextFingerprintError:
            logger.warning("This planner's inputs have no stable fingerprint, so the stored plan "
                           "is not used", exc_info=True)
            return []
        self._loader_plan_validation(current_planner_hash=current,
                                     loaded_plan_hash=self.plan_loader.plan_context_hash())
        loaded = self.plan_loader.load()
        if loaded is None:
            return []
        return copy.deepcopy(planners.extract_plan(search_space=self.get_search_space() or [],
                                                   loaded_sharding_options=loaded))

    def _log_stats(self, sharding_plan: ShardingPlan, best_plan: list[ShardingOption],
                   sharders: list[ModuleSharder[nn.Module]], run_time: float) -> None:
        for stats in self._stats:
            stats.log(
                sharding_plan=sharding_plan, topology=self._topology, batch_size=self._batch_size,
                storage_reservation=self._storage_reservation, num_proposals=self._num_proposals,
                num_plans=self._num_plans, run_time=run_time, best_plan=best_plan,
                constraints=self._constraints, enumerator=self._enumerator, sharders=sharders,
                debug=self._debug,
                debug_stats=PlanDebugStats(planner_type=type(self).__name__,
                                           timeout_seconds=self._timeout_seconds))

    def get_search_space(self) -> Optional[List[ShardingOption]]:
        """The enumerated options as TorchRec's objects, made on demand because there are many."""
        if self._search_space is None and self._enumerated is not None:
            module, sharders = self._enumerated
            self._search_space = self._enumerator.enumerate(module=module, sharders=sharders)
        return self._search_space


def to_sharding_plan(options: list[ShardingOption], topology: Topology) -> ShardingPlan:
    """As TorchRec's function of this name, but makes one placement object per rank."""
    @functools.cache
    def place(rank: int) -> Any:
        return _remote_device(placement(topology.compute_device, rank, topology.local_world_size))

    plan: dict[str, Any] = {}
    for option in options:
        ranks = [shard.rank for shard in option.shards]
        spec = None
        if option.sharding_type != ShardingType.DATA_PARALLEL.value:
            spec = EnumerableShardingSpec([
                ShardMetadata(shard_sizes=shard.size, shard_offsets=shard.offset,
                              placement=place(shard.rank)) for shard in option.shards])
        module_plan = plan.setdefault(option.path, EmbeddingModuleShardingPlan())
        module_plan[option.name] = ParameterSharding(
            sharding_spec=spec, sharding_type=option.sharding_type,
            compute_kernel=option.compute_kernel, ranks=ranks, cache_params=option.cache_params,
            enforce_hbm=option.enforce_hbm, stochastic_rounding=option.stochastic_rounding,
            bounds_check_mode=option.bounds_check_mode, output_dtype=option.output_dtype,
            key_value_params=option.key_value_params)
    return ShardingPlan(plan)
