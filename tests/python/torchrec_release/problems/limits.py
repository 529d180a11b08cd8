"""Random constraints of tables."""

from problems.tables import DIMS, names_of_features

BAG_TYPES = ("data_parallel", "table_wise", "column_wise", "table_column_wise", "row_wise", "table_row_wise",
             "grid_shard")
SEQUENCE_TYPES = ("data_parallel", "table_wise", "column_wise", "row_wise")
TOWER_TYPES = ("table_row_wise", "table_column_wise")
CUDA_KERNELS = ("fused", "fused_uvm", "fused_uvm_caching", "dense")
KERNELS = {"cuda": CUDA_KERNELS, "cpu": ("fused", "dense"), "mtia": ("fused", "dense"),
           "tpu": ("fused", "dense", "unfused_tpu")}
QUANT_KERNELS = {"cuda": ("quant", "quant_uvm", "quant_uvm_caching")}
VIRTUAL_KERNELS = ("ssd_virtual_table", "dram_virtual_table", "dram_ssd_virtual_table", "fused_triton")
PARTITIONS = (1, 4, 8, 16, 20, 32, 64, 100, 128, 256, 1000)


def kernels(chance, themes, device, quant):
    if quant:
        return list(QUANT_KERNELS.get(device, ("quant",)))
    names = list(KERNELS[device])
    if device == "cuda" and chance.maybe(0.9 if "ssd-tier" in themes else 0.04):
        names.append("key_value")
    if device == "cuda" and "kernels-2026" in themes:
        names += chance.some(VIRTUAL_KERNELS, 0)
    return names


def factor(chance, themes):
    """Returns an average number of values per sample."""
    below = 0.6 if "pooling-below-one" in themes else 0.15
    if chance.maybe(below):
        return round(chance.uniform(0.001, 0.999), chance.choice((1, 3, 12)))
    return chance.often({1.0: 5, 0.0: 0.3, 20: 5, round(chance.uniform(1, 100), 3): 8, chance.uniform(1, 30): 8})


def inputs(chance, themes, table, result):
    """Adds what is said of every feature. Without pooling factors TorchRec counts one feature, unless the table has
    factors of its own."""
    count = len(names_of_features(table))
    if chance.maybe(0.8):
        result["pooling_factors"] = [factor(chance, themes) for _ in range(count)]
    elif not own_factors(table):
        count = 1
    if chance.maybe(0.8 if "option-num-poolings" in themes else 0.15):
        result["num_poolings"] = [round(chance.uniform(0.2, 4), 2) for _ in range(count)]
    if chance.maybe(0.15):
        result["batch_sizes"] = [chance.whole(1, 4096) for _ in range(count)]


def own_factors(table):
    """Returns true if the table or a feature has a pooling factor."""
    return "pooling_factor" in table or any(
        isinstance(of, dict) and "pooling_factor" in of for of in table.get("features", []))


def statistics(chance, table):
    bins = chance.randint(1, 20)
    height = table["num_embeddings"]
    return {"cacheability": chance.often({round(chance.uniform(0, 1), 4): 20, 0.0: 1}),
            "expected_lookups": chance.often({chance.whole(1, 2_000_000): 20, 0: 1}),
            "mrc_hist_counts": [float(chance.randint(0, 900)) for _ in range(bins)],
            "height": chance.often({height: 20, max(height // 2, 1): 1})}


def cache(chance, themes, table):
    result = {}
    if chance.maybe(0.8):
        result["load_factor"] = chance.often({round(chance.uniform(0.01, 0.99), 3): 10, 0.0: 0.3, 0.5: 1,
                                              1.0: 4 if "validators" in themes else 0.2})
    chance.perhaps(0.1, result, "precision", chance.choice(("FP32", "FP16", "INT8")))
    if chance.maybe(0.3):
        result["algorithm"] = chance.choice(("LRU", "LFU"))
    if chance.maybe(0.2):
        result["prefetch_pipeline"] = chance.maybe(0.7)
    if chance.maybe(0.1):
        result["reserved_memory"] = chance.choice((0.0, 1.5))
    if chance.maybe(0.1):
        result["multipass_prefetch_config"] = {"num_passes": chance.randint(1, 12)}
    if chance.maybe(0.9 if "estimator" in themes else 0.5):
        result["stats"] = statistics(chance, table)
    return result


def rare(chance, themes, table, result):
    """Adds what few people write."""
    if chance.maybe(0.1):
        result["output_dtype"] = chance.choice(("FP32", "FP16", "BF16", "INT8"))
    chance.flag(0.05, result, "is_weighted")
    chance.flag(0.03, result, "enforce_hbm")
    chance.flag(0.03, result, "stochastic_rounding")
    if chance.maybe(0.03):
        result["bounds_check_mode"] = chance.choice(("FATAL", "WARNING", "IGNORE", "NONE"))
    if chance.maybe(0.03):
        result["feature_names"] = names_of_features(table)
    if chance.maybe(0.3 if "validators" in themes else 0.02):
        result["device_group"] = chance.choice(("cuda", "cpu"))
    if chance.maybe(0.5 if "ssd-tier" in themes else 0.05):
        sizes = result["key_value_params"] = {}
        chance.perhaps(0.8, sizes, "max_l1_cache_size", chance.choice((0, 1, 64, 4096)))
        chance.perhaps(0.3, sizes, "l2_cache_size", 2)
    chance.flag(0.2 if "kernels-2026" in themes else 0, result, "use_virtual_table")


def constraint(chance, themes, table, device, quant):
    types = (TOWER_TYPES if table.get("tower") else
             SEQUENCE_TYPES if table.get("kind") == "sequence" else BAG_TYPES)
    result = {}
    inputs(chance, themes, table, result)
    narrow = 0.9 if themes & {"declared-order", "ssd-tier", "fp-guard"} else 0.4
    if chance.maybe(narrow):
        result["sharding_types"] = chance.some(types)[:chance.choice((1, 2, 3, 7))]
    if chance.maybe(narrow):
        result["compute_kernels"] = chance.some(kernels(chance, themes, device, quant))
        if "fused" not in result["compute_kernels"] and not quant and chance.maybe(0.7):
            result["compute_kernels"].insert(chance.randrange(3), "fused")
    if chance.maybe(0.3):
        result["min_partition"] = chance.choice((*PARTITIONS, *DIMS))
    if chance.maybe(0.6 if themes & {"validators", "estimator"} else 0.2):
        result["cache_params"] = cache(chance, themes, table)
    rare(chance, themes, table, result)
    if chance.maybe(0.005):  # an error, unless the table is left out
        count = len(names_of_features(table))
        key, value = ("num_poolings", 1.5) if count == 1 else ("batch_sizes", 64)
        result[key] = [value] * (count + 1)
    return result


def constraints(chance, themes, tables, device, quant):
    """Returns constraints by table. Many tables have few options, so that TorchRec answers in time."""
    usual = chance.choice((0.3, 0.8, 1)) if len(tables) <= 10 else 0.9
    return {table["name"]: constraint(chance, themes, table, device, quant)
            for table in tables if chance.maybe(usual)}
