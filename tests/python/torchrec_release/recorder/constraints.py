"""The constraints of a problem as TorchRec's `ParameterConstraints`."""

import torch
from torchrec.distributed.planner import ParameterConstraints
from torchrec.distributed.planner.shard_estimators import EmbeddingOffloadStats
from torchrec.distributed.types import (BoundsCheckMode, CacheAlgorithm, CacheParams,
                                        KeyValueParams, MultiPassPrefetchConfig)
from torchrec.modules.embedding_configs import DataType


def multipass(given):
    return MultiPassPrefetchConfig(num_passes=given["num_passes"]) if given else None


def cache_params(given):
    fields = {key: given[key] for key in ("load_factor", "reserved_memory", "prefetch_pipeline")
              if key in given}
    if given.get("algorithm"):
        fields["algorithm"] = CacheAlgorithm[given["algorithm"]]
    if given.get("precision"):
        fields["precision"] = DataType[given["precision"]]
    if given.get("stats"):
        stats = given["stats"]
        fields["stats"] = EmbeddingOffloadStats(
            cacheability=stats["cacheability"], expected_lookups=stats["expected_lookups"],
            mrc_hist_counts=torch.tensor(stats["mrc_hist_counts"]), height=stats["height"])
    fields["multipass_prefetch_config"] = multipass(given.get("multipass_prefetch_config"))
    return CacheParams(**fields)


CONVERSIONS = {
    "cache_params": cache_params,
    "key_value_params": lambda given: KeyValueParams(**given),
    "output_dtype": lambda name: DataType[name],
    "bounds_check_mode": lambda name: BoundsCheckMode[name],
}


def own_pooling_factors(table):
    """Returns the pooling factors that a table carries itself, or None. One number per feature."""
    features = table.get("features") or []
    if any(isinstance(f, dict) and "pooling_factor" in f for f in features):
        return [f.get("pooling_factor", 1.0) if isinstance(f, dict) else 1.0 for f in features]
    if "pooling_factor" in table:
        count = max(len(features), 1)
        return [table["pooling_factor"] / count] * count
    return None


def constraints(problem):
    """Returns constraints by table name, or None if no table has any."""
    result = {}
    for table in problem["tables"]:
        factors = own_pooling_factors(table)
        if factors:
            result[table["name"]] = ParameterConstraints(pooling_factors=factors)
    for name, given in (problem.get("constraints") or {}).items():
        fields = {key: CONVERSIONS[key](value) if key in CONVERSIONS and value is not None else value
                  for key, value in given.items()}
        if name in result:
            fields.setdefault("pooling_factors", result[name].pooling_factors)
        result[name] = ParameterConstraints(**fields)
    return result or None
