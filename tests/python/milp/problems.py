"""Random small problems with every kind of rule, and problems that differ from another in a little."""

import copy
import random

from edits import PROBLEM_RULES, drop_tables

SHARDING_TYPES = ("data_parallel", "table_wise", "column_wise", "row_wise", "table_row_wise",
                  "table_column_wise", "grid_shard")
KERNELS = ("dense", "fused", "fused_uvm", "fused_uvm_caching")
ELEMENT_BYTES = {"FP32": 4, "FP16": 2, "BF16": 2, "INT8": 2, "INT4": 2}


def rng_of(kind, seed):
    """A case depends on its kind and number alone."""
    return random.Random(f"{kind} {seed}")


def some(rng, values, at_least=1):
    return sorted(rng.sample(list(values), rng.randint(at_least, len(values))))


def random_table(rng, name):
    table = {"name": name,
             "num_embeddings": int(10 ** rng.uniform(1, 6.5)),
             "embedding_dim": rng.choice((4, 8, 16, 32, 64, 128, 256)),
             "pooling_factor": rng.choice((0.5, 1, 2, 5, 20))}
    if rng.random() < 0.25:
        table["kind"] = "sequence"
    elif rng.random() < 0.2:
        table["weighted"] = True
    if rng.random() < 0.3:
        table["data_type"] = rng.choice(tuple(ELEMENT_BYTES))
    if rng.random() < 0.3:
        table["optimizer"] = rng.choice(("SGD", "Adam", "Adagrad", "RowWiseAdagrad"))
    return table


def table_bytes(table):
    size = ELEMENT_BYTES[table.get("data_type", "FP32")]
    return table["num_embeddings"] * table["embedding_dim"] * size


def random_topology(rng, tables):
    hosts = rng.choice((1, 1, 1, 2, 2, 3, 4))
    local = rng.randint(1, 8 // hosts)
    world = hosts * local
    share = sum(table_bytes(table) for table in tables) / world
    # Inputs and outputs of a step take memory beside the tables.
    hbm = int(share * 2 ** rng.uniform(-1.5, 3.5)) + (1 << rng.randint(16, 30))
    ddr = int(share * 2 ** rng.uniform(-2, 3)) + 65536 if rng.random() < 0.7 else 1 << 37
    topology = {"world_size": world, "local_world_size": local, "hbm_cap": hbm, "ddr_cap": ddr}
    if rng.random() < 0.08:
        topology["compute_device"] = "cpu"
    if rng.random() < 0.2:
        topology["custom"] = {
            "hbm_cap": [int(hbm * rng.uniform(0.4, 1.6)) for _ in range(world)],
            "ddr_cap": [int(ddr * rng.uniform(0.4, 1.6)) for _ in range(world)]}
    return topology


def random_constraints(rng, world, hosts):
    rules = {}
    if rng.random() < 0.35:
        rules["sharding_types"] = rng.sample(SHARDING_TYPES, rng.randint(2, 6))
    if rng.random() < 0.3:
        rules["compute_kernels"] = rng.sample(KERNELS, rng.randint(2, 4))
    if rng.random() < 0.3:
        rules["min_partition"] = rng.choice((4, 8, 16, 32, 64))
    if rng.random() < 0.2:
        rules["max_shards"] = rng.choice((1, 2, 4, 8))
    if rng.random() < 0.2:
        rules["ranks"] = some(rng, range(world), (world + 1) // 2)
    if rng.random() < 0.1:
        rules["hosts"] = some(rng, range(hosts))
    if rng.random() < 0.12:
        shards = rng.sample(range(4), rng.randint(1, 2))
        rules["shard_ranks"] = {str(s): some(rng, range(world)) for s in shards}
    if rng.random() < 0.15:
        rules["distinct_ranks"] = True
    return rules


def random_groups(rng, names, most_on_rank, most_on_host):
    groups = []
    for _ in range(rng.choice((1, 1, 2))):
        on = rng.choice(("rank", "host")) if most_on_host > 1 else "rank"
        most = most_on_rank if on == "rank" else most_on_host
        tables = rng.sample(names, rng.randint(2, min(most, len(names))))
        groups.append({"tables": tables, "on": on})
    return groups


def random_calibration(rng, world):
    calibration = {}
    if rng.random() < 0.7:
        factors = [round(rng.uniform(0.5, 2), 3) for _ in range(world)]
        calibration["ranks"] = {"time": factors}
    if rng.random() < 0.7:
        kernels = {}
        for kernel in rng.sample(KERNELS, rng.randint(1, 3)):
            own = kernels.setdefault(kernel, {})
            own["time"] = round(rng.uniform(0.5, 2), 3)
            if rng.random() < 0.5:
                own["comms"] = [{"dim": 16, "comms": round(rng.uniform(0.7, 1.5), 3)},
                                {"dim": 100, "comms": round(rng.uniform(0.7, 1.5), 3)}]
            if rng.random() < 0.6:
                own["memory"] = round(rng.uniform(0.8, 1.3), 3)
        calibration["kernels"] = kernels
    return calibration


def random_reservation(rng):
    kind = rng.choice(("none", "none", "fixed", "heuristical"))
    if kind == "none":
        return {"type": "none"}
    return {"type": kind, "percentage": rng.choice((0.05, 0.15, 0.3))}


def random_problem(rng, most_tables=8):
    """Rules are drawn with probabilities that leave about three quarters of the problems feasible."""
    tables = [random_table(rng, f"t{i}") for i in range(rng.randint(1, most_tables))]
    topology = random_topology(rng, tables)
    problem = {"name": "random", "topology": topology, "tables": tables,
               "batch_size": rng.choice((16, 128, 512, 2048, 8192)),
               "reservation": random_reservation(rng)}
    if rng.random() < 0.06:
        problem["perf_model"] = "storage"
    add_rules(rng, problem)
    if rng.random() < 0.05:
        make_quantised(problem)
    return problem


def make_quantised(problem):
    """Inference on quantised tables, which have kernels of their own."""
    problem["sharder"] = {"type": "quant"}
    for table in problem["tables"]:
        table["data_type"] = "INT8"
    for rules in problem.get("constraints", {}).values():
        rules.pop("compute_kernels", None)
        rules.pop("sharding_types", None)
    problem.get("calibration", {}).pop("kernels", None)


def add_twin(rng, problem):
    """Now and then a second module has a table of the same name, under the same constraints."""
    if len(problem["tables"]) < 8 and rng.random() < 0.08:
        problem["tables"].append({**problem["tables"][0], "module": "other"})


def add_rules(rng, problem):
    topology = problem["topology"]
    names = list(dict.fromkeys(table["name"] for table in problem["tables"]))
    world = topology["world_size"]
    hosts = world // topology["local_world_size"]
    constraints = {}
    for name in names:
        rules = random_constraints(rng, world, hosts) if rng.random() < 0.6 else {}
        if rules:
            constraints[name] = rules
    if constraints:
        problem["constraints"] = constraints
    if len(names) > 1 and rng.random() < 0.25:
        problem["keep_together"] = random_groups(rng, names, 3, 3)
    if len(names) > 1 and world > 1 and rng.random() < 0.3:
        problem["keep_apart"] = random_groups(rng, names, min(world, 4), min(hosts, 4))
    if rng.random() < 0.2 and topology.get("compute_device") != "cpu":
        small = min(topology["custom"]["hbm_cap"]) if "custom" in topology else topology["hbm_cap"]
        hbm = [rng.randint(0, small // 4) for _ in range(world)]
        problem["reserved_memory"] = {"hbm": hbm if rng.random() < 0.5 else hbm[0]}
    if rng.random() < 0.25:
        problem["memory_margin"] = rng.choice(
            (0.05, 0.2, 10000, {"hbm": 0.1}, {"hbm": 4096, "ddr": 0.07}))
    if rng.random() < 0.35:
        problem["calibration"] = random_calibration(rng, world)


def changed_problem(rng, old):
    """The problem of a plan in use some time later: other inputs, tables, machine or rules."""
    new = copy.deepcopy(old)
    for table in new["tables"]:
        if rng.random() < 0.4:
            table["pooling_factor"] = rng.choice((0.5, 1, 2, 5, 20, 50))
    if rng.random() < 0.3:
        new["batch_size"] = rng.choice((16, 128, 512, 2048, 8192))
    if rng.random() < 0.3:
        new["tables"].append(random_table(rng, "new"))
        room = 4 * table_bytes(new["tables"][-1]) // new["topology"]["world_size"]
        new["topology"]["hbm_cap"] += room
        new["topology"]["ddr_cap"] += room
    if len(new["tables"]) > 2 and rng.random() < 0.2:
        drop_tables(new, {new["tables"][0]["name"]})
    if rng.random() < 0.3 and "custom" not in new["topology"]:
        factor = rng.uniform(0.6, 1.5)
        new["topology"]["hbm_cap"] = int(new["topology"]["hbm_cap"] * factor)
    if rng.random() < 0.3:
        for key in ("constraints",) + PROBLEM_RULES:
            new.pop(key, None)
        if rng.random() < 0.5:
            topology = new["topology"]
            hosts = rng.randint(1, 3)
            topology.pop("custom", None)
            topology["world_size"] = hosts * topology["local_world_size"] \
                if hosts * topology["local_world_size"] <= 8 else topology["local_world_size"]
        add_rules(rng, new)
    return new
