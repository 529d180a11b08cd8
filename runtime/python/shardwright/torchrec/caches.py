"""Caches of other sizes: what best mode chooses from where TorchRec's planner would scale caches up."""

from __future__ import annotations

import dataclasses
from typing import Iterable

from torchrec.distributed.planner.proposers import EmbeddingOffloadScaleupProposer
from torchrec.distributed.planner.types import Proposer, ShardingOption
from torchrec.distributed.types import CacheParams

CACHED = "fused_uvm_caching"
# The ladder of problem files (runtime/io/README.md). 1 stands for plain HBM.
LADDER = (0.01, 0.012, 0.015, 0.018, 0.022, 0.027, 0.033, 0.039, 0.047, 0.056, 0.068, 0.082, 0.1,
          0.12, 0.15, 0.18, 0.22, 0.27, 0.33, 0.39, 0.47, 0.56, 0.68, 0.82, 1.0)


def scales_caches(proposers: Iterable[Proposer]) -> bool:
    """True if TorchRec would scale caches up."""
    return any(type(proposer) is EmbeddingOffloadScaleupProposer for proposer in proposers)


def load_factors(cache: CacheParams | None) -> list[float]:
    """The load factors above a table's own; empty if TorchRec would not scale its cache.

    Source: EmbeddingOffloadScaleupProposer.get_scalable_sharding_options.
    """
    if cache is None or cache.stats is None or not cache.load_factor:
        return []
    if not (cache.stats.cacheability or 0) * (cache.stats.expected_lookups or 0) > 0:
        return []
    return [step for step in LADDER if step > cache.load_factor]


def resize(option: ShardingOption, load_factor: float) -> ShardingOption:
    """Gives an option another cache, or plain HBM for a load factor of 1. Costs stay as they are."""
    promoted = load_factor >= 1
    option.cache_params = dataclasses.replace(
        option.cache_params, load_factor=None if promoted else load_factor)
    if promoted:
        option.compute_kernel = "fused"
    return option
