"""Which random problems are recorded: for every change of the release, problems that show it."""

from problems import random_problem

MOST_SHARDS = 1500  # of a case in all options, so that recorded files stay small
FIRST_SEEDS = 5000


def planned(answer):
    return bool(answer.get("plan"))


def failed(*kinds):
    return lambda problem, answer: answer.get("error", {}).get("type") in kinds


def tables_with(problem, wanted):
    """Returns names and constraints of the tables that `wanted` accepts."""
    limits = problem.get("constraints", {})
    return [t["name"] for t in problem["tables"] if wanted(t, limits.get(t["name"], {}))]


def below_one(problem, answer):
    return planned(answer) and tables_with(problem, lambda t, c: (
        t.get("kind") != "sequence" and any(0 < f < 1 for f in c.get("pooling_factors", []))))


def declared_order(problem, answer):
    return planned(answer) and tables_with(problem, lambda t, c: (
        len(c.get("sharding_types", [])) > 2 and len(c.get("compute_kernels", [])) > 2))


def guarded(problem, answer):
    return planned(answer) and tables_with(problem, lambda t, c: (
        t.get("feature_processed") and "sharding_types" not in c))


def unguarded(problem, answer):
    return planned(answer) and tables_with(problem, lambda t, c: (
        t.get("feature_processed") and {"row_wise", "table_row_wise"} & set(c.get("sharding_types", []))))


def pods(kind):
    """Pods of several hosts, fewer than all, and an option of this kind in the plan."""
    def wanted(problem, answer):
        machine = problem["topology"]
        pod = machine.get("pod_size", 1) * machine.get("local_world_size", machine["world_size"])
        return (planned(answer) and machine.get("pod_size", 1) > 1 and pod < machine["world_size"]
                and machine["world_size"] % pod == 0
                and any(p["sharding_type"] == kind for p in answer["plan"]))
    return wanted


def uneven(kind):
    """Hosts that leave ranks over, and an option of this kind in the plan."""
    def wanted(problem, answer):
        machine = problem["topology"]
        return (planned(answer) and machine["world_size"] % machine.get("local_world_size", 1)
                and any(p["sharding_type"] == kind and len(p["ranks"]) > 1 for p in answer["plan"]))
    return wanted


def without_hosts(problem, answer):
    machine = problem["topology"]
    return planned(answer) and machine["world_size"] < machine.get("local_world_size", 1) and some_shard(
        answer, lambda o, s: o["sharding_type"] == "table_row_wise")


def some_shard(answer, wanted):
    return any(wanted(option, shard) for option in answer.get("search_space", []) for shard in option["shards"])


def on_ssd(problem, answer):
    return planned(answer) and any(p["ssd"] for p in answer["plan"])


def columns_on_ssd(problem, answer):
    return planned(answer) and any(p["compute_kernel"] == "key_value" and "column" in p["sharding_type"]
                                   and len(p["ranks"]) > 1 for p in answer["plan"])


def without_ssd(problem, answer):
    return planned(answer) and problem["topology"].get("ssd_cap") == 0 and tables_with(
        problem, lambda t, c: "key_value" in c.get("compute_kernels", []))


def reservation(kind, key=None, error=None):
    def wanted(problem, answer):
        given = problem.get("reservation", {})
        fits = answer.get("error", {}).get("type") == error if error else planned(answer)
        return fits and given.get("type") == kind and (key is None or key in given)
    return wanted


def num_poolings(problem, answer):
    return planned(answer) and tables_with(problem, lambda t, c: len(c.get("num_poolings", [])) > 1)


def kernel(name):
    return lambda problem, answer: planned(answer) and any(p["compute_kernel"] == name for p in answer["plan"])


def uneven_buckets(problem, answer):
    ranks = problem["topology"]["world_size"]
    return planned(answer) and ranks > 1 and any(
        p["sharding_type"] == "row_wise" and table.get("total_num_buckets", 0) % ranks
        for p in answer["plan"] for table in problem["tables"] if table["name"] == p["table"])


def tpu(problem, answer):
    return planned(answer) and problem["topology"].get("compute_device") == "tpu"


def estimator(key):
    def wanted(problem, answer):
        return (planned(answer) and problem.get("perf_estimator", {}).get(key)
                and (key in ("config", "is_inference") or some_shard(answer, lambda o, s: s["perf"][4] > 0)))
    return wanted


def input_dist(problem, answer):
    return planned(answer) and len(answer["plan"]) > 3 and some_shard(answer, lambda o, s: s["input_dist_comms"] > 0)


def harmless_device_group(problem, answer):
    return planned(answer) and tables_with(problem, lambda t, c: c.get("device_group") not in (
        None, problem["topology"].get("compute_device", "cuda")))


# Theme -> what a case must show -> number of cases: 66 in all.
WANTED = {
    "pooling-below-one": [(below_one, 6)],
    "declared-order": [(declared_order, 5)],
    "fp-guard": [(guarded, 3), (unguarded, 3)],
    "pods": [(pods("table_row_wise"), 2), (pods("table_column_wise"), 2), (pods("grid_shard"), 2),
             (pods("row_wise"), 1)],
    "ssd-tier": [(on_ssd, 3), (columns_on_ssd, 2), (without_ssd, 1)],
    "reservations": [(reservation("fixed_absolute"), 2), (reservation("sku_aware", "margin_bytes"), 1),
                     (reservation("sku_aware", "model_base_bytes"), 2),
                     (reservation("sku_aware", "dense_tensor_estimate"), 1),
                     (reservation("sku_aware", error="insufficient_storage"), 1),
                     (reservation("fixed_absolute", error="insufficient_storage"), 1)],
    "option-num-poolings": [(num_poolings, 3)],
    "kernels-2026": [(kernel("dram_ssd_virtual_table"), 1), (kernel("ssd_virtual_table"), 1),
                     (uneven_buckets, 3), (tpu, 2)],
    "estimator": [(estimator("use_batch_inputs_for_expected_cache_fetches"), 1),
                  (estimator("use_linear_regression_prefetch_estimate"), 2), (estimator("config"), 2),
                  (estimator("is_inference"), 1)],
    "input_dist_comms": [(input_dist, 2)],
    "uneven-hosts": [(uneven("table_row_wise"), 2), (uneven("table_column_wise"), 1), (uneven("grid_shard"), 1),
                     (uneven("data_parallel"), 1), (without_hosts, 1)],
    "validators": [(failed("missing_module_in_plan"), 2), (failed("invalid_compute_kernel"), 1),
                   (harmless_device_group, 1)],
}


def small(answer):
    return sum(option["num_shards"] for option in answer.get("search_space", [])) <= MOST_SHARDS


def cases(record, themes=tuple(WANTED)):
    """Yields names, problems and answers of these themes. `record` answers a problem."""
    for theme in themes:
        wishes = WANTED[theme]
        number, seed = 0, FIRST_SEEDS
        for wanted, count in wishes:
            found = 0
            while found < count:
                problem = random_problem(seed, {theme})
                seed += 1
                answer = record(problem)
                if small(answer) and wanted(problem, answer):
                    found, number = found + 1, number + 1
                    name = f"{theme}_{number}"
                    yield name, {**problem, "name": name}, answer
