"""A hardware configuration of TorchRec's time estimator as `perf_estimator.config` of a problem."""

from __future__ import annotations

import dataclasses
from typing import Any

from torchrec.distributed.planner.estimator.config import EmbeddingPerfEstimatorConfig
from torchrec.distributed.planner.estimator.types import (EstimatorPerfCoefficients,
                                                          HardwarePerfConfig,
                                                          PerfCoefficientConfig)

from .._native import COMPUTE_KERNELS
from .machine import Unrecognised

# Attribute of the configuration -> key of the problem.
_KEYS = {"_bwd_compute_multiplier": "bwd_compute_multiplier",
         "_weighted_feature_bwd_compute_multiplier": "weighted_feature_bwd_compute_multiplier",
         "device_bw": "device_bw", "hbm_to_ddr_mem_bw": "hbm_to_ddr_mem_bw",
         "_use_min_dim_for_lookup": "use_min_dim_for_lookup",
         "_use_block_usage_penalty": "use_block_usage_penalty",
         "_use_bytes_for_input_read_size": "use_bytes_for_input_read_size",
         "_input_data_type_size": "input_data_type_size"}
_TRANSLATED = {"coefficients", "_coefficients", "kernel_device_bandwidths",
               "_supported_sharding_types", "name"}
_TYPES = ("table_wise", "column_wise", "row_wise", "table_row_wise", "data_parallel")
# Members of the coefficients that a problem cannot say: they must have their defaults.
_FIXED = ("default", "bwd_compute_multiplier", "weighted_feature_bwd_compute_multiplier")


def config_of(config: HardwarePerfConfig, compute_device: str) -> dict[str, Any] | None:
    """Returns nothing for TorchRec's default. Raises Unrecognised for configurations that compute."""
    if type(config) is EmbeddingPerfEstimatorConfig:
        return None
    said: dict[str, Any] = {}
    for name in _own_attributes(config):
        if name in _KEYS:
            said[_KEYS[name]] = getattr(config, name)
        elif name not in _TRANSLATED:
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
    """What a user's classes and the object set, methods included."""
    names = set(vars(config))
    for kind in type(config).__mro__:
        if kind in (HardwarePerfConfig, EmbeddingPerfEstimatorConfig):
            break
        names |= {name for name in vars(kind) if not name.startswith("__")}
    return names


def _coefficients(given: PerfCoefficientConfig) -> dict[str, Any]:
    usual = PerfCoefficientConfig()
    for name in _FIXED:
        if getattr(given, name) != getattr(usual, name):
            raise Unrecognised(f"{name} of the coefficients")
    said: dict[str, Any] = {
        name: _passes(getattr(given, name)) for name in _TYPES if getattr(given, name) is not None}
    said["weighted_kernel_multiplier"] = given.weighted_kernel_multiplier
    said["by_kernel"] = [{"sharding_type": kind, "compute_kernel": kernel, **_passes(own)}
                         for (kind, kernel), own in given.by_kernel.items()]
    if given.prefetch is not None:
        said["prefetch"] = dataclasses.asdict(given.prefetch)
    return said


def _passes(given: EstimatorPerfCoefficients) -> dict[str, Any]:
    return {name: dataclasses.asdict(own) for name, own in (("fwd", given.fwd), ("bwd", given.bwd))
            if own is not None}
