"""Random reservations, estimators, proposers and partitioners."""

GIB = 1 << 30


def percentage(chance):
    return chance.often({0.0: 2, 0.05: 2, 0.15: 2, 0.4: 2, 0.99: 0.4, 1.0: 0.4, round(chance.uniform(0, 0.5), 4): 4})


def absolute(chance, cap):
    """Returns bytes: from nothing to more than a rank has."""
    return int(cap * chance.often({0.0: 1, 0.05: 4, 0.3: 4, 0.9: 2, 1.0: 1, 1.1: 0.5}))


def sku_aware(chance, cap):
    result = {"type": "sku_aware", "margin_bytes": absolute(chance, cap)}
    if chance.maybe(0.4):
        result["runtime_overhead_bytes"] = absolute(chance, cap // 4)
    if chance.maybe(0.3):
        result["parameter_multiplier"] = chance.choice((1.0, 3.5, 12.0))
    if chance.maybe(0.4):
        result["model_base_bytes"] = absolute(chance, cap)
    if chance.maybe(0.2):
        result["dense_tensor_estimate"] = absolute(chance, cap // 2)
    return result


def reservation(chance, themes, machine):
    cap = machine.get("hbm_cap", 32 * GIB)
    kind = chance.often({"heuristical": 4, "fixed": 4, "inference": 1, "none": 1,
                         **({"fixed_absolute": 8, "sku_aware": 12} if "reservations" in themes else {})})
    if kind == "none":
        return {"type": "none"}
    if kind == "fixed_absolute":
        return {"type": kind, "hbm_reserved_bytes": absolute(chance, cap)}
    if kind == "sku_aware":
        return sku_aware(chance, cap)
    result = {} if kind == "heuristical" and chance.maybe(0.2) else {"type": kind}
    chance.perhaps(0.8, result, "percentage", percentage(chance))
    if kind != "fixed" and chance.maybe(0.2):
        result["parameter_multiplier"] = chance.choice((1.0, 3.5, 12.0))
    if kind != "fixed" and chance.maybe(0.2):
        result["dense_tensor_estimate"] = absolute(chance, cap // 2)
    return result


def proposer(chance, scaled, small):
    """`scaled` says that every table has a cache to scale, `small` that there are few combinations of options."""
    kind = chance.often({"greedy": 6, "uniform": 3, "grid": 2, "dp": 1, "scaleup": 2 if scaled else 0.1})
    result = {"type": kind}
    if kind == "grid":
        chance.perhaps(0.5 if small else 1, result, "max_proposals", chance.choice((1, 40, 200)))
    if kind == "dp":
        chance.perhaps(0.8, result, "hbm_bins_per_device", chance.choice((0, 1, 5, 20, 100)))
    if kind in ("greedy", "uniform", "scaleup") and chance.maybe(0.3):
        result["use_depth"] = chance.maybe(0.3)
    if kind == "greedy" and chance.maybe(0.3):
        result["threshold"] = chance.choice((0, 1, 5, 30))
    return result


def proposers(chance, tables, limits):
    """Returns None for the default four. These try all combinations of options up to 10,000, so TorchRec takes long
    for three to five tables."""
    if chance.maybe({1: 0.5, 2: 0.5, 3: 0.15, 4: 0, 5: 0}.get(len(tables), 0.4)):
        return None
    scaled = all("cache_params" in limits.get(t["name"], {}) for t in tables)
    small = len(tables) <= 2 or len(tables) > 5
    return [proposer(chance, scaled, small) for _ in range(chance.often({1: 3, 2: 4, 3: 2, 4: 1}))]


def partitioner(chance):
    result = {}
    if chance.maybe(0.12):
        result["type"] = "memory_balanced"
        chance.perhaps(0.8, result, "max_search_count", chance.randint(1, 10))
        chance.perhaps(0.8, result, "tolerance", chance.choice((0.0, 0.02, 0.3)))
    else:
        chance.perhaps(0.9, result, "type", "greedy")
        chance.perhaps(0.8, result, "sort_by", chance.choice(("storage", "perf")))
    chance.perhaps(0.8, result, "balance_modules", chance.maybe(0.3))
    return result


def storage_estimator(chance):
    result = {}
    chance.perhaps(0.9, result, "pipeline_type", chance.choice(("none", "train_base", "train_sparse_dist",
                                                                "train_prefetch_sparse_dist")))
    if chance.maybe(0.4):
        result["run_embedding_at_peak_memory"] = chance.maybe(0.7)
    chance.flag(0.1, result, "is_inference")
    return result


def codecs(chance):
    names = ("pooled_all_to_all", "sequence_all_to_all", "pooled_reduce_scatter")
    return {name: {way: chance.choice(("FP32", "FP16", "BF16", "INT8"))
                   for way in ("forward", "backward") if chance.maybe(0.9)}
            for name in chance.some(names)}


def fused_params(chance):
    result = {}
    if chance.maybe(0.7):
        result["cache_load_factor"] = round(chance.uniform(0.01, 0.99), 3)
    if chance.maybe(0.4):
        result["prefetch_pipeline"] = chance.maybe(0.7)
    if chance.maybe(0.3):
        result["multipass_prefetch_config"] = {"num_passes": chance.randint(1, 12)}
    return result


def sharder(chance, quant):
    result = {"type": "quant"} if quant else {"type": "training"} if chance.maybe(0.1) else {}
    if chance.maybe(0.25):
        result["fused_params"] = fused_params(chance)
    if not quant and chance.maybe(0.15):
        result["qcomm_codecs"] = codecs(chance)
    return result
