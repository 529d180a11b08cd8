"""Copies of a problem with something changed, left out or added."""

import copy

# Placement rules are applied by the MILP alone, so its options are enumerated without them.
PLACEMENT_KEYS = ("ranks", "hosts", "shard_ranks", "max_shards", "distinct_ranks")
PROBLEM_RULES = ("keep_together", "keep_apart", "reserved_memory", "memory_margin", "calibration")


def scale_memory(problem, factor):
    topology = problem["topology"]
    for part in (topology, topology.get("custom", {})):
        for key in ("hbm_cap", "ddr_cap"):
            if key in part:
                part[key] = [max(int(v * factor), 1) for v in part[key]] \
                    if isinstance(part[key], list) else max(int(part[key] * factor), 1)
    problem.pop("reserved_memory", None)


def drop_tables(problem, names):
    problem["tables"] = [t for t in problem["tables"] if t["name"] not in names]
    for name in names:
        problem.get("constraints", {}).pop(name, None)
    for key in ("keep_together", "keep_apart"):
        groups = []
        for group in problem.get(key, []):
            left = [name for name in group["tables"] if name not in names]
            if left:
                groups.append({"tables": left, "on": group["on"]})
        if groups:
            problem[key] = groups
        else:
            problem.pop(key, None)


def only_tables(problem, names):
    narrow = copy.deepcopy(problem)
    drop_tables(narrow, {t["name"] for t in problem["tables"]} - set(names))
    return narrow


def without_rules(problem):
    """The problem without what the MILP applies itself."""
    bare = copy.deepcopy(problem)
    for key in PROBLEM_RULES:
        bare.pop(key, None)
    for rules in bare.get("constraints", {}).values():
        for key in PLACEMENT_KEYS:
            rules.pop(key, None)
    return bare


def set_values(problem, values):
    changed = copy.deepcopy(problem)
    for pointer, value in values.items():
        at = changed
        *path, last = pointer.strip("/").split("/")
        for key in path:
            at = at[key]
        at[last] = value
    return changed


def dropped(problem, pointer):
    changed = copy.deepcopy(problem)
    at = changed
    *path, last = pointer.strip("/").split("/")
    for key in path:
        at = at[key]
    del at[int(last) if isinstance(at, list) else last]
    return changed


def with_more(problem, kind, value):
    """The problem with a remedy's value; memory that is given by rank grows by the value."""
    if kind in ("hbm", "ddr"):
        changed = copy.deepcopy(problem)
        custom = changed["topology"].get("custom")
        if custom:
            custom[f"{kind}_cap"] = [size + int(value) for size in custom[f"{kind}_cap"]]
        else:
            changed["topology"][f"{kind}_cap"] = int(value)
        return changed
    local = problem["topology"]["local_world_size"]
    return set_values(problem, {
        "ranks": {"/topology/world_size": value, "/topology/local_world_size": value},
        "hosts": {"/topology/world_size": value * local},
        "batch_size": {"/batch_size": value},
        "reservation": {"/reservation/percentage": value}}[kind])
