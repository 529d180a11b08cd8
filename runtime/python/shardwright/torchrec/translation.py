"""A TorchRec enumerator's machine, estimators and tables as a problem of the library.

Only what is TorchRec's own can be translated. Everything else raises Unrecognised, and TorchRec
enumerates itself.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Sequence

import torch
from torch import nn
from torchrec import optim as optimizers
from torchrec.distributed.embedding_types import BaseQuantEmbeddingSharder
from torchrec.distributed.planner import shard_estimators
from torchrec.distributed.planner.constants import SSD_CAP
from torchrec.distributed.planner.enumerators import EmbeddingEnumerator
from torchrec.distributed.planner.estimator import estimator as perf_estimators
from torchrec.distributed.planner.estimator.config import EmbeddingPerfEstimatorConfig
from torchrec.distributed.planner.estimator.types import (EstimatorPerfCoefficients,
                                                          HardwarePerfConfig, PerfCoefficientConfig)
from torchrec.distributed.planner.shard_estimators import EmbeddingOffloadStats
from torchrec.distributed.planner.types import (BasicCommsBandwidths, ParameterConstraints,
                                                Topology)
from torchrec.distributed.planner.utils import build_sharder_data
from torchrec.distributed.types import CacheParams, ModuleSharder
from torchrec.modules.embedding_configs import dtype_to_data_type
from torchrec.modules.embedding_tower import EmbeddingTower, EmbeddingTowerCollection
from torchrec.modules.fp_embedding_modules import FeatureProcessedEmbeddingBagCollection

from .._native import COMPUTE_KERNELS, SHARDING_TYPES
from .machine import Unrecognised
from .walk import Table

_CODEC_OF_BYTES = {4: "FP32", 2: "FP16", 1: "INT8"}
_COLLECTIVES = {"POOLED_EMBEDDINGS_ALL_TO_ALL": "pooled_all_to_all",
                "SEQUENCE_EMBEDDINGS_ALL_TO_ALL": "sequence_all_to_all",
                "POOLED_EMBEDDINGS_REDUCE_SCATTER": "pooled_reduce_scatter"}
BANDWIDTHS = ("hbm_mem_bw", "ddr_mem_bw", "ssd_mem_bw", "hbm_to_ddr_mem_bw", "intra_host_bw",
               "inter_host_bw", "bwd_compute_multiplier",
               "weighted_feature_bwd_compute_multiplier", "uneven_sharding_perf_multiplier")
# The optimizers that TorchRec's storage model tells apart, by their names there.
_OPTIMIZERS = {torch.optim.SGD: "SGD", optimizers.SGD: "SGD", torch.optim.Adam: "Adam",
               optimizers.Adam: "Adam", optimizers.RowWiseAdagrad: "RowWiseAdagrad"}
# Members of a constraint that are the same in a problem.
_PLAIN = ("min_partition", "num_poolings", "batch_sizes", "is_weighted", "enforce_hbm",
          "stochastic_rounding", "feature_names", "device_group", "use_virtual_table")
_CONSTRAINT = {*_PLAIN, "sharding_types", "compute_kernels", "pooling_factors", "cache_params",
               "bounds_check_mode", "output_dtype", "key_value_params"}
# From attributes of a hardware configuration to members of `perf_estimator.config`.
_HARDWARE = {"_bwd_compute_multiplier": "bwd_compute_multiplier",
         "_weighted_feature_bwd_compute_multiplier": "weighted_feature_bwd_compute_multiplier",
         "device_bw": "device_bw", "hbm_to_ddr_mem_bw": "hbm_to_ddr_mem_bw",
         "_use_min_dim_for_lookup": "use_min_dim_for_lookup",
         "_use_block_usage_penalty": "use_block_usage_penalty",
         "_use_bytes_for_input_read_size": "use_bytes_for_input_read_size",
         "_input_data_type_size": "input_data_type_size"}
_HARDWARE_TRANSLATED = {"coefficients", "_coefficients", "kernel_device_bandwidths",
               "_supported_sharding_types", "name"}
_COEFFICIENTS = ("table_wise", "column_wise", "row_wise", "table_row_wise", "data_parallel")
# Coefficients that a problem does not have, and that must have their defaults.
_FIXED_COEFFICIENTS = ("default", "bwd_compute_multiplier", "weighted_feature_bwd_compute_multiplier")


def problem_of(enumerator: EmbeddingEnumerator, tables: Sequence[Table],
               torchrec_release: str) -> dict[str, Any]:
    """The problem whose options and costs are those that `enumerator` has for these tables.

    Raises Unrecognised.
    """
    perf, storage = estimators_of(enumerator)
    topology = perf._topology
    hardware = _hardware(perf.config, topology.compute_device)
    names = {table.name for table in tables}
    sharders = [_sharder(sharder) for sharder in dict.fromkeys(table.sharder for table in tables)]
    if any(own != sharders[0] for own in sharders):
        raise Unrecognised("sharders with different parameters")
    return {
        "name": "torchrec", "torchrec": torchrec_release, "batch_size": enumerator._batch_size,
        "topology": _topology(topology), "use_exact_enumerate_order": True,
        "tables": [_table(table) for table in tables],
        "constraints": {name: _constraint(name, constraint)
                        for name, constraint in (enumerator._constraints or {}).items()
                        if constraint and name in names},
        "sharder": sharders[0] if sharders else {},
        "perf_estimator": {
            "is_inference": perf.is_inference,
            "use_batch_inputs_for_expected_cache_fetches":
                perf._use_batch_inputs_for_expected_cache_fetches,
            "use_linear_regression_prefetch_estimate":
                perf._use_linear_regression_prefetch_estimate,
            **({"config": hardware} if hardware is not None else {})},
        "storage_estimator": {
            "pipeline_type": storage._pipeline_type.value,
            "run_embedding_at_peak_memory": storage._run_embedding_at_peak_memory,
            "is_inference": storage._is_inference},
    }


def estimators_of(enumerator: EmbeddingEnumerator) -> tuple[Any, Any]:
    """The estimators of time and memory. Raises Unrecognised."""
    if len(enumerator._estimators) != 2:
        raise Unrecognised(f"{len(enumerator._estimators)} estimators")
    perf: Any
    storage: Any
    perf, storage = enumerator._estimators
    if type(perf) is shard_estimators.EmbeddingPerfEstimator:
        perf = perf._estimator
    if type(perf) is not perf_estimators.EmbeddingPerfEstimator:
        raise Unrecognised(f"the estimator {type(perf).__name__}")
    if type(storage) is not shard_estimators.EmbeddingStorageEstimator:
        raise Unrecognised(f"the estimator {type(storage).__name__}")
    for own in (perf, storage):
        if own._constraints is not enumerator._constraints and (own._constraints or {}) != (
                enumerator._constraints or {}):
            raise Unrecognised("estimators with constraints of their own")
        machine: Topology = own._topology
        if (machine.compute_device, machine.world_size, machine.intra_group_size) != (
                enumerator._compute_device, enumerator._world_size, enumerator._local_world_size):
            raise Unrecognised("estimators with a topology of their own")
    return perf, storage


def _topology(topology: Topology) -> dict[str, Any]:
    if type(topology.comms_bandwidths) is not BasicCommsBandwidths:
        raise Unrecognised(f"the bandwidths {type(topology.comms_bandwidths).__name__}")
    found: dict[str, Any] = {
        "world_size": topology.world_size, "local_world_size": topology.local_world_size,
        "compute_device": topology.compute_device,
        **{name: getattr(topology, name) for name in BANDWIDTHS}}
    if topology._pod_size is not None:
        found["pod_size"] = topology._pod_size
    custom = topology._custom_topology_data
    by_rank = {}
    for tier in ("hbm", "ddr", "ssd"):
        sizes = [getattr(device.storage, tier) for device in topology.devices]
        if custom is not None and custom.has_data(f"{tier}_cap"):
            by_rank[f"{tier}_cap"] = sizes
        elif tier == "hbm" and topology.compute_device == "cpu":
            continue
        elif any(size != sizes[0] for size in sizes):
            raise Unrecognised("devices whose memory was changed")
        elif tier != "ssd" or sizes[0] != SSD_CAP:
            found[f"{tier}_cap"] = sizes[0]
    if by_rank:
        found["custom"] = by_rank
    return found


def reserved_memory(before: Topology, after: Topology) -> dict[str, int | list[int]]:
    """The bytes that a reservation takes of every rank; one number if it is equal on all ranks."""
    taken = {tier: [getattr(own.storage, tier) - getattr(left.storage, tier)
                    for own, left in zip(before.devices, after.devices)]
             for tier in ("hbm", "ddr", "ssd")}
    return {tier: sizes[0] if len(set(sizes)) == 1 else sizes
            for tier, sizes in taken.items() if any(sizes)}


def _table(table: Table) -> dict[str, Any]:
    if table.attributes["stash_weights"]:
        raise Unrecognised(f"stashed weights of table {table.name}")
    columns, data_type = _columns_and_type(table)
    processed = isinstance(table.module, FeatureProcessedEmbeddingBagCollection)
    # The constraints say whether such a module is weighted.
    is_weighted = None if processed else getattr(table.module, "is_weighted", None)
    said: dict[str, Any] = {
        "name": table.name, "module": table.path or ".",
        "num_embeddings": int(table.tensor.shape[0]),
        "embedding_dim": columns,
        "kind": "pooled" if table.is_pooled else "sequence", "data_type": data_type,
        "weighted": bool(is_weighted()) if callable(is_weighted) else False,
        "feature_processed": processed,
        "tower": isinstance(table.module, (EmbeddingTower, EmbeddingTowerCollection))}
    optimizer = getattr(table.tensor, "_optimizer_classes", [None])[0]
    if optimizer is not None:
        said["optimizer"] = _OPTIMIZERS.get(optimizer, "other")
    if table.dependency:
        said["dependency"] = table.dependency
    if table.buckets is not None:
        said.update(use_virtual_table=True, total_num_buckets=table.buckets)
    return said


def _columns_and_type(table: Table) -> tuple[int, str]:
    """Quantised tensors have scales and padding beside the columns, so their configuration counts.
    """
    if not isinstance(table.sharder, BaseQuantEmbeddingSharder):
        try:
            return int(table.tensor.shape[1]), str(dtype_to_data_type(table.tensor.dtype).name)
        except Exception as error:  # TorchRec documents no type of exception
            raise Unrecognised(f"the type {table.tensor.dtype} of table {table.name}") from error
    module: Any = table.module
    configs = module.embedding_bag_configs() if table.is_pooled else module.embedding_configs()
    for config in configs:
        if config.name == table.name:
            return int(config.embedding_dim), str(config.data_type.name)
    raise Unrecognised(f"table {table.name}, which its module's configuration lacks")


def _constraint(name: str, given: ParameterConstraints) -> dict[str, Any]:
    if type(given) is not ParameterConstraints or {
            item.name for item in dataclasses.fields(given)} != _CONSTRAINT:
        raise Unrecognised(f"the constraints of table {name}")
    # Always present, because a table with constraints differs from a table without.
    said: dict[str, Any] = {"pooling_factors": list(given.pooling_factors)}
    for key, known in (("sharding_types", SHARDING_TYPES), ("compute_kernels", COMPUTE_KERNELS)):
        values = getattr(given, key)
        if values:
            if unknown := set(values) - set(known):
                raise Unrecognised(f"{sorted(map(str, unknown))[0]} in the {key} of table {name}")
            said[key] = list(dict.fromkeys(values))
    # TorchRec ignores an empty list and a `min_partition` of 0, which problems do not allow.
    unsaid = {"min_partition": (None, 0)}
    said |= {key: getattr(given, key) for key in _PLAIN
             if getattr(given, key) not in unsaid.get(key, (None, []))}
    said |= _names(given, "bounds_check_mode", "output_dtype")
    if given.cache_params is not None:
        said["cache_params"] = _cache(name, given.cache_params)
    if given.key_value_params is not None:
        said["key_value_params"] = _present(given.key_value_params, "max_l1_cache_size", "l2_cache_size")
    return said


def _present(given: object, *keys: str) -> dict[str, Any]:
    return {key: value for key in keys if (value := getattr(given, key)) is not None}


def _names(given: object, *keys: str) -> dict[str, str]:
    """The names of members that are enums."""
    return {key: value.name for key, value in _present(given, *keys).items()}


def _cache(name: str, given: CacheParams) -> dict[str, Any]:
    said = {**_present(given, "load_factor", "reserved_memory", "prefetch_pipeline"),
            **_names(given, "algorithm", "precision")}
    if given.multipass_prefetch_config is not None:
        said["multipass_prefetch_config"] = {
            "num_passes": given.multipass_prefetch_config.num_passes}
    stats = given.stats
    if stats is not None:
        if type(stats) is not EmbeddingOffloadStats:
            raise Unrecognised(f"the cache statistics {type(stats).__name__} of table {name}")
        said["stats"] = {"cacheability": float(stats.cacheability),
                         "expected_lookups": float(stats.expected_lookups),
                         "mrc_hist_counts": stats.hist.tolist(), "height": stats.height}
    return said


def _sharder(sharder: ModuleSharder[nn.Module]) -> dict[str, Any]:
    data = build_sharder_data(sharder)
    fused = {key: data.fused_params[key] for key in ("cache_load_factor", "prefetch_pipeline")
             if data.fused_params.get(key) is not None}
    if passes := data.fused_params.get("multipass_prefetch_config"):
        fused["multipass_prefetch_config"] = {"num_passes": passes.num_passes}
    codecs = {}
    for name, sizes in data.qcomm_dtype_sizes.items():
        if not set(sizes) <= set(_CODEC_OF_BYTES):
            raise Unrecognised(f"the codec of {name}")
        codecs[_COLLECTIVES[name]] = {"forward": _CODEC_OF_BYTES[int(sizes[0])],
                                      "backward": _CODEC_OF_BYTES[int(sizes[1])]}
    return {"type": "quant" if isinstance(sharder, BaseQuantEmbeddingSharder) else "training",
            **({"fused_params": fused} if fused else {}),
            **({"qcomm_codecs": codecs} if codecs else {})}


def _hardware(config: HardwarePerfConfig, compute_device: str) -> dict[str, Any] | None:
    """`perf_estimator.config` of a problem; None for TorchRec's default. Raises Unrecognised for
    configurations whose methods compute.
    """
    if type(config) is EmbeddingPerfEstimatorConfig:
        return None
    said: dict[str, Any] = {}
    for name in _own_attributes(config):
        if name in _HARDWARE:
            said[_HARDWARE[name]] = getattr(config, name)
        elif name not in _HARDWARE_TRANSLATED:
            raise Unrecognised(f"{name} of the hardware configuration {type(config).__name__}")
    bandwidths = {}
    for (device, kernel), bandwidth in config.kernel_device_bandwidths.items():
        if device != compute_device:
            continue
        if kernel not in COMPUTE_KERNELS:
            raise Unrecognised(f"the bandwidth of the kernel {kernel}")
        bandwidths[kernel] = bandwidth
    if bandwidths:
        said["kernel_device_bandwidths"] = bandwidths
    if config._supported_sharding_types is not None:
        said["supported_sharding_types"] = sorted(config._supported_sharding_types)
    said["coefficients"] = _coefficients(config.coefficients)
    return {key: value for key, value in said.items() if value is not None}


def _own_attributes(config: HardwarePerfConfig) -> set[str]:
    """Names that a user's classes and the object set, methods included."""
    names = set(vars(config))
    for kind in type(config).__mro__:
        if kind in (HardwarePerfConfig, EmbeddingPerfEstimatorConfig):
            break
        names |= {name for name in vars(kind) if not name.startswith("__")}
    return names


def _coefficients(given: PerfCoefficientConfig) -> dict[str, Any]:
    usual = PerfCoefficientConfig()
    for name in _FIXED_COEFFICIENTS:
        if getattr(given, name) != getattr(usual, name):
            raise Unrecognised(f"{name} of the coefficients")
    said: dict[str, Any] = {
        name: _passes(value) for name, value in _present(given, *_COEFFICIENTS).items()}
    said["weighted_kernel_multiplier"] = given.weighted_kernel_multiplier
    said["by_kernel"] = [{"sharding_type": kind, "compute_kernel": kernel, **_passes(own)}
                         for (kind, kernel), own in given.by_kernel.items()]
    if given.prefetch is not None:
        said["prefetch"] = dataclasses.asdict(given.prefetch)
    return said


def _passes(given: EstimatorPerfCoefficients) -> dict[str, Any]:
    return {name: dataclasses.asdict(own) for name, own in _present(given, "fwd", "bwd").items()}
