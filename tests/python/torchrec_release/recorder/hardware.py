"""`perf_estimator.config` of a problem: what a configuration of the hardware tells TorchRec's estimator."""

from torchrec.distributed.planner.estimator import (EstimatorPerfCoefficients, HardwarePerfConfig,
                                                    PerfCoefficient, PerfCoefficientConfig,
                                                    PrefetchCoefficients)

# Problem key -> attribute of the configuration.
ATTRIBUTES = {"bwd_compute_multiplier": "_bwd_compute_multiplier",
              "weighted_feature_bwd_compute_multiplier": "_weighted_feature_bwd_compute_multiplier",
              "device_bw": "device_bw", "hbm_to_ddr_mem_bw": "hbm_to_ddr_mem_bw",
              "use_min_dim_for_lookup": "_use_min_dim_for_lookup",
              "use_block_usage_penalty": "_use_block_usage_penalty",
              "use_bytes_for_input_read_size": "_use_bytes_for_input_read_size",
              "input_data_type_size": "_input_data_type_size"}
TYPES = ("table_wise", "row_wise", "table_row_wise", "data_parallel", "column_wise")


def of_type(given):
    backward = given.get("bwd")
    return EstimatorPerfCoefficients(fwd=PerfCoefficient(**given.get("fwd", {})),
                                     bwd=PerfCoefficient(**backward) if backward else None)


def coefficients(given):
    fields = {name: of_type(given[name]) for name in TYPES if given.get(name)}
    fields["by_kernel"] = {(entry["sharding_type"], entry["compute_kernel"]): of_type(entry)
                           for entry in given.get("by_kernel", [])}
    if given.get("prefetch") is not None:  # none of its coefficients may be given
        fields["prefetch"] = PrefetchCoefficients(**given["prefetch"])
    if "weighted_kernel_multiplier" in given:
        fields["weighted_kernel_multiplier"] = given["weighted_kernel_multiplier"]
    return PerfCoefficientConfig(**fields)


def config(given, compute_device):
    """Returns a configuration whose bandwidths, in bytes per millisecond, are for this device."""
    attributes = {name: given[key] for key, name in ATTRIBUTES.items() if key in given}
    attributes["coefficients"] = coefficients(given.get("coefficients", {}))
    attributes["kernel_device_bandwidths"] = {
        (compute_device, kernel): bandwidth
        for kernel, bandwidth in given.get("kernel_device_bandwidths", {}).items()}
    if "supported_sharding_types" in given:
        attributes["_supported_sharding_types"] = frozenset(given["supported_sharding_types"])
    return type("Hardware", (HardwarePerfConfig,), attributes)()
