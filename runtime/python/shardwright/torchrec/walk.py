"""The tables of a model, in the order in which TorchRec's enumerator meets them."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Iterator

from torch import nn
from torchrec.distributed.planner import enumerators
from torchrec.distributed.planner.enumerators import EmbeddingEnumerator
from torchrec.distributed.planner.types import Shard, ShardingOption
from torchrec.distributed.planner.utils import sharder_name
from torchrec.distributed.types import ModuleSharder
from torchrec.modules.embedding_tower import EmbeddingTower, EmbeddingTowerCollection


# What TorchRec's _extract_constraints_for_param returns.
_EXTRACTED = ("input_lengths", "col_wise_shard_dim", "cache_params", "enforce_hbm",
              "stochastic_rounding", "bounds_check_mode", "feature_names", "output_dtype",
              "device_group", "key_value_params")


@dataclass(slots=True)
class Table:
    """A table of a module, with what shards it."""

    name: str
    path: str
    module: nn.Module
    tensor: Any
    is_pooled: bool
    dependency: str | None
    sharder: ModuleSharder[nn.Module]
    buckets: int | None  # of zero-collision hashing; None without it
    # Arguments of ShardingOption other than costs, from the table's constraints.
    attributes: dict[str, Any]

    @property
    def fqn(self) -> str:
        return self.path + "." + self.name

    def sharding_option(self, sharding_type: str, partition_by: str, compute_kernel: str,
                        shards: list[Shard]) -> ShardingOption:
        return ShardingOption(
            name=self.name, tensor=self.tensor, module=(self.path, self.module),
            sharding_type=sharding_type, partition_by=partition_by,
            compute_kernel=compute_kernel, shards=shards, dependency=self.dependency,
            is_pooled=self.is_pooled,
            **{**self.attributes, "cache_params": copy.copy(self.attributes["cache_params"])})


def walk(enumerator: EmbeddingEnumerator, module: nn.Module,
         sharders: list[ModuleSharder[nn.Module]]) -> Iterator[Table]:
    """Yields the tables that `enumerator` would enumerate.

    Source: EmbeddingEnumerator.enumerate of torchrec 1.9.2.
    """
    sharder_of = {sharder_name(sharder.module_type): sharder for sharder in sharders}
    queue: list[tuple[str, nn.Module]] = [("", module)]
    while queue:
        path, child = queue.pop(0 if enumerator._use_exact_enumerate_order else -1)
        sharder = sharder_of.get(sharder_name(type(child)))
        if sharder is None:
            queue += [(f"{path}.{name}" if path else name, inner)
                      for name, inner in child.named_children()]
            continue
        is_pooled = ShardingOption.module_pooled(child, path)
        for name, tensor in sharder.shardable_parameters(child).items():
            attributes = dict(zip(_EXTRACTED, enumerators._extract_constraints_for_param(
                enumerator._constraints, name), strict=True))
            device_group = attributes.pop("device_group")
            if device_group and device_group != enumerator._compute_device:
                continue
            del attributes["col_wise_shard_dim"]
            attributes["batch_size"] = enumerator._batch_size
            attributes["stash_weights"] = enumerator._get_stash_weights(name, child)
            yield Table(name, path, child, tensor, is_pooled, _dependency(path, child, name),
                        sharder, enumerator._get_num_buckets(name, child), attributes)


def _dependency(path: str, module: nn.Module, name: str) -> str | None:
    """Tables with equal dependencies share a host."""
    if isinstance(module, EmbeddingTower):
        return path
    if isinstance(module, EmbeddingTowerCollection):
        return f"{path}.tower_{enumerators._get_tower_index(name, module)}"
    return None
