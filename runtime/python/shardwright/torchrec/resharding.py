"""Plans again from a ShardingPlan in use, also restricted to what TorchRec can move at run time."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Mapping

from torch import nn
from torchrec.distributed.model_parallel import DistributedModelParallel
from torchrec.distributed.sharding.dynamic_sharding import output_sharding_plan_delta_single
from torchrec.distributed.types import EmbeddingModuleShardingPlan, ModuleSharder, ShardingPlan

from ..result import PlanResult

MOVABLE_TYPES = ("table_wise", "column_wise")


@dataclass(frozen=True)
class Replanned:
    """The answer of `EmbeddingShardingPlanner.replan`."""

    plan: ShardingPlan
    # By module: MB and the tables that move. `apply` gives them to `model.reshard`.
    deltas: dict[str, tuple[float, EmbeddingModuleShardingPlan]]
    result: PlanResult  # rating, bound and moves

    def apply(self, model: DistributedModelParallel) -> None:
        """Moves the tables of a running model, on all ranks together.

        All processes need the same PYTHONHASHSEED, because torchrec 1.9.2 makes the tags of its
        messages with hash(). It also keeps the features in the order of the old plan if that needed no
        permutation, so the flag is set anew here.
        """
        for path in self.deltas:
            sharded = model.module.get_submodule(path)
            if hasattr(sharded, "_has_features_permute"):
                sharded._has_features_permute = True
            model.reshard(self.deltas, path)

    @cached_property
    def migration(self) -> Mapping[str, Any]:
        """`rating_before`, `moved_bytes`, and `moves`: `table`, `module`, `from`, `to`, `bytes`."""
        found: dict[str, Any] = json.loads(self.result.to_json())["migration"]
        return found


def movable_modules(module: nn.Module, sharders: list[ModuleSharder[nn.Module]]) -> set[str]:
    """The paths of modules whose sharder has `reshard`."""
    kinds = {sharder.module_type for sharder in sharders if hasattr(sharder, "reshard")}
    return {path for path, own in module.named_modules() if type(own) in kinds}


def restrict(document: dict[str, Any], held: Mapping[str, Any], movable: set[str]) -> None:
    """Restricts a problem to plans that TorchRec's `reshard` reaches from the plan that is held.

    A table keeps its sharding type and kernel. Where `reshard` can move it, its shards may go to
    other ranks, one per rank if they were so, and columns may be cut into another number of shards.
    All others stay, and so do modules with a data_parallel table, which `reshard` refuses. Raises ValueError if tables of two modules have one name, since constraints are by name.
    """
    constraints = dict(document.get("constraints") or {})
    seen = set()
    path_of = {entry["table"]: "" if entry["module"] == "." else entry["module"]
               for entry in held["plan"]}
    movable = movable - {path_of[entry["table"]] for entry in held["plan"]
                         if entry["sharding_type"] == "data_parallel"}
    for entry in held["plan"]:
        name, kind = entry["table"], entry["sharding_type"]
        if name in seen:
            raise ValueError(f"two modules have a table {name!r}, and constraints are by name")
        seen.add(name)
        own = dict(constraints.get(name) or {})
        own.update(sharding_types=[kind], compute_kernels=[entry["compute_kernel"]])
        if kind in MOVABLE_TYPES and entry["compute_kernel"] == "fused" and path_of[name] in movable:
            own["distinct_ranks"] = len(set(entry["ranks"])) == len(entry["ranks"])
        elif kind not in ("row_wise", "data_parallel"):
            own["shard_ranks"] = {str(shard): [rank] for shard, rank in enumerate(entry["ranks"])}
            if "column" in kind:
                own["min_partition"] = entry["layout"][0][1]
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
