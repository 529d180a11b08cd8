"""Which problem files TorchRec can be asked: those that say nothing that only this project knows."""

TOP = {"format", "name", "torchrec", "topology", "batch_size", "tables", "constraints", "dense_params", "sharder",
       "storage_estimator", "perf_estimator", "reservation", "proposers", "partitioner", "perf_model",
       "use_exact_enumerate_order"}
CONSTRAINT = {"sharding_types", "compute_kernels", "min_partition", "pooling_factors", "num_poolings", "batch_sizes",
              "is_weighted", "cache_params", "enforce_hbm", "stochastic_rounding", "bounds_check_mode", "feature_names",
              "output_dtype", "device_group", "key_value_params", "use_virtual_table"}


class Unsupported(Exception):
    """The problem cannot be said in TorchRec's terms; the message has the JSON pointer."""


def only(where, given, known):
    for key in given:
        if key not in known:
            raise Unsupported(f"{where}/{key}: TorchRec has no word for this")


def check(problem):
    """Raises Unsupported."""
    only("", problem, TOP)
    if "world_size" not in problem.get("topology", {}):
        raise Unsupported("/topology/world_size: is needed")
    if "sharding_groups" in problem["topology"] or isinstance(problem["topology"].get("pod_size"), list):
        raise Unsupported("/topology: has to be one layout")
    for name, given in (problem.get("constraints") or {}).items():
        only(f"/constraints/{name}", given, CONSTRAINT)
        only(f"/constraints/{name}/cache_params", given.get("cache_params") or {},
             {"algorithm", "load_factor", "reserved_memory", "precision", "prefetch_pipeline", "stats",
              "multipass_prefetch_config"})
    for i, table in enumerate(problem["tables"]):
        if table.get("dependency", table.get("module")) != table.get("module"):
            raise Unsupported(f"/tables/{i}/dependency: has to be the name of the module, which is then a tower")
        if table.get("tower", False) != ("dependency" in table):
            raise Unsupported(f"/tables/{i}/tower: has to go with a dependency")
