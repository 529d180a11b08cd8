"""Plans again from a ShardingPlan in use, also restricted to what TorchRec can move at run time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping

from torch import nn
from torchrec.distributed.sharding.dynamic_sharding import output_sharding_plan_delta_single
from torchrec.distributed.types import EmbeddingModuleShardingPlan, ModuleSharder, ShardingPlan

from ..result import PlanResult

MOVABLE_TYPES = ("table_wise", "column_wise")


@dataclass(frozen=True)
class Replanned:
    """The answer of `EmbeddingShardingPlanner.replan`."""

    plan: ShardingPlan
    # By module: MB and the tables that move. `model.reshard(deltas, path)` takes them as they are.
    deltas: dict[str, tuple[float, EmbeddingModuleShardingPlan]]
    result: PlanResult  # rating, bound and moves

    @property
    def moves(self) -> tuple[Mapping[str, Any], ...]:
        """The tables that move: `table`, `module`, `from`, `to`, `bytes`."""
        return tuple(self.result.data["migration"]["moves"])


def movable_modules(module: nn.Module, sharders: list[ModuleSharder[nn.Module]]) -> set[str]:
    """The paths of modules whose sharder has `reshard`."""
    kinds = {sharder.module_type for sharder in sharders if hasattr(sharder, "reshard")}
    return {path for path, own in module.named_modules() if type(own) in kinds}


def restrict(document: dict[str, Any], held: Mapping[str, Any], movable: set[str]) -> None:
    """Restricts a problem to plans that TorchRec's `reshard` reaches from the plan that is held.

    A table keeps its sharding type and kernel. Where `reshard` can move it, its shards may go to
    other ranks, one per rank, and columns may be cut into another number of shards. All others stay.
    Raises ValueError if tables of two modules have one name, since constraints are by name.
    """
    constraints = dict(document.get("constraints") or {})
    seen = set()
    for entry in held["plan"]:
        name, kind = entry["table"], entry["sharding_type"]
        if name in seen:
            raise ValueError(f"two modules have a table {name!r}, and constraints are by name")
        seen.add(name)
        own = dict(constraints.get(name) or {})
        own.update(sharding_types=[kind], compute_kernels=[entry["compute_kernel"]])
        path = "" if entry["module"] == "." else entry["module"]
        if kind in MOVABLE_TYPES and entry["compute_kernel"] == "fused" and path in movable:
            own["distinct_ranks"] = True
        elif kind not in ("row_wise", "data_parallel"):
            own["shard_ranks"] = {str(shard): [rank] for shard, rank in enumerate(entry["ranks"])}
            if "column" in kind:
                own["min_partition"] = entry["shards"][0]["size"][1]
        constraints[name] = own
    document["constraints"] = constraints


def deltas_of(old: ShardingPlan, new: ShardingPlan
              ) -> dict[str, tuple[float, EmbeddingModuleShardingPlan]]:
    """What `reshard` takes, for the modules in which a table moves."""
    found = {}
    for path, module in old.plan.items():
        volume, delta = output_sharding_plan_delta_single(module, new.plan[path], True)
        if delta:
            found[path] = (volume, delta)
    return found
