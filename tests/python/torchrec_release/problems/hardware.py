"""Random configurations of TorchRec's estimator of times."""

TYPES = ("table_wise", "row_wise", "table_row_wise", "data_parallel", "column_wise")
MULTIPLIERS = ("input_read_size_multiplier", "lookup_size_multiplier", "embedding_output_multiplier",
               "hash_size_multiplier")
PREFETCH = ("expected_num_lookups_coefficient", "expected_num_unique_lookups_coefficient",
            "expected_size_cache_fetches_coefficient")
KERNELS = ("fused", "fused_uvm", "fused_uvm_caching", "dense")
FLAGS = ("use_min_dim_for_lookup", "use_block_usage_penalty", "use_bytes_for_input_read_size")


def multipliers(chance):
    return {name: chance.choice((0.0, 1.0, round(chance.uniform(0, 3), 4)))
            for name in MULTIPLIERS if chance.maybe(0.8)}


def of_type(chance):
    result = {}
    chance.perhaps(0.9, result, "fwd", multipliers(chance))
    if chance.maybe(0.5):
        result["bwd"] = multipliers(chance) or {"lookup_size_multiplier": 2.0}
    return result


def coefficients(chance, regression):
    result = {name: of_type(chance) for name in chance.some(TYPES)}
    if chance.maybe(0.3):
        result["by_kernel"] = [{"sharding_type": chance.choice(TYPES), "compute_kernel": kernel, **of_type(chance)}
                               for kernel in chance.some(KERNELS)]
    if regression or chance.maybe(0.1):
        result["prefetch"] = {name: chance.uniform(1e-9, 1e-5) for name in PREFETCH if chance.maybe(0.9)}
    if chance.maybe(0.3):
        result["weighted_kernel_multiplier"] = chance.choice((0.0, 1.0, 1.7))
    return result


def config(chance, regression):
    result = {}
    if regression or chance.maybe(0.8):
        result["coefficients"] = coefficients(chance, regression)
    for key in ("bwd_compute_multiplier", "weighted_feature_bwd_compute_multiplier"):
        if chance.maybe(0.3):
            result[key] = round(chance.uniform(0.5, 3), 3)
    for key in ("device_bw", "hbm_to_ddr_mem_bw"):
        if chance.maybe(0.2):
            result[key] = chance.uniform(1e6, 1e9)
    if chance.maybe(0.3):
        result["kernel_device_bandwidths"] = {kernel: chance.uniform(1e6, 1e9) for kernel in chance.some(KERNELS)}
    for key in FLAGS:
        if chance.maybe(0.2):
            result[key] = chance.maybe(0.5)
    if chance.maybe(0.1):
        result["input_data_type_size"] = chance.choice((4, 8))
    if chance.maybe(0.05):
        result["supported_sharding_types"] = chance.some((*TYPES, "table_column_wise", "grid_shard"), 5)
    return result


def perf_estimator(chance, themes):
    """Returns nothing for the usual estimator. The regression needs coefficients, so without them it is an error."""
    result = {}
    chance.flag(0.05, result, "is_inference")
    if "estimator" not in themes:
        return result
    regression = chance.maybe(0.3)
    if chance.maybe(0.5):
        result["use_batch_inputs_for_expected_cache_fetches"] = chance.maybe(0.8)
    chance.flag(1 if regression else 0, result, "use_linear_regression_prefetch_estimate")
    if chance.maybe(0.9 if regression else 0.5):
        result["config"] = config(chance, regression)
    return result
