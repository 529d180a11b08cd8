"""Finds the first difference between the answers of Paddle's Resharder and of the command."""

import itertools

# What the Resharder always gives to operators of a type. The command does not write it.
ALWAYS = {
    "c_allgather": {"use_calc_stream": True},
    # The rank is that of the process that runs the Resharder.
    "c_concat": {"use_calc_stream": True, "use_model_parallel": True, "rank": 0},
    "recv_v2": {"use_calc_stream": True, "dynamic_shape": True},
    "send_v2": {"use_calc_stream": True, "dynamic_shape": True},
    "slice": {"decrease_axis": []},
    "split": {"sections": []},
}


class Different(Exception):
    pass


def same(where, theirs, ours):
    if theirs != ours:
        raise Different(f"{where}: Paddle {theirs!r}, shardwright {ours!r}")


def same_lists(where, theirs, ours):
    for place, (one, other) in enumerate(itertools.zip_longest(theirs, ours)):
        same(f"{where}/{place}", one, other)


def names(arguments):
    return [argument["var"] for argument in arguments]


def listing(program):
    return [[op["type"], names(op["inputs"]), names(op["outputs"])] for op in program["ops"]]


def variables(program):
    return sorted(var["name"] for var in program["vars"])


def flat(slots):
    return [name for slot in slots.values() for name in slot]


def implied(op, types):
    """Attributes that follow from the others."""
    if op["type"] == "recv_v2":
        return {"dtype": types[op["outputs"][0]["var"]]}
    if op["type"] == "slice":
        return {"infer_flags": [1] * len(op["attributes"]["axes"])}
    return {}


def same_operator(where, theirs, ours, types):
    for key in ("type", "role"):
        same(f"{where}/{key}", theirs[key], ours[key])
    for key in ("inputs", "outputs"):
        same(f"{where}/{key}", flat(theirs[key]), names(ours[key]))
        same(f"{where}/{key}/arg", list(range(len(ours[key]))), [argument["arg"] for argument in ours[key]])
    same(f"{where}/attributes", theirs["attributes"],
         {**ALWAYS.get(ours["type"], {}), **implied(ours, types), **ours.get("attributes", {})})


def same_groups(theirs, ours):
    def plain(groups):
        return [(group["ring_id"], group["ranks"], group.get("point_to_point", False)) for group in groups]
    same_lists("groups", plain(theirs), plain(ours))


def compare(theirs, ours):
    rank = ours["ranks"][0]
    same_lists("ops", theirs["ops"], rank["ops"])
    inserted = [op for op in rank["program"]["ops"] if op.get("is_inserted")]
    same_lists("inserted", [op["type"] for op in theirs["inserted"]], [op["type"] for op in inserted])
    types = {var["name"]: var["dtype"] for var in rank["program"]["vars"]}
    for place, (one, other) in enumerate(zip(theirs["inserted"], inserted)):
        same_operator(f"inserted/{place}", one, other, types)
    same_lists("vars", theirs["vars"], variables(rank["program"]))
    same_lists("startup_ops", theirs["startup_ops"], listing(rank["startup"]))
    same_lists("startup_vars", theirs["startup_vars"], variables(rank["startup"]))
    same_groups(theirs["groups"], ours["groups"])
    same("planner_calls", theirs["planner_calls"], rank["counters"]["planner_calls"])
    same("inserted_ops", len(theirs["inserted"]), rank["counters"]["inserted_ops"])


def difference(theirs, ours):
    """Returns a sentence, or None if the answers are equal."""
    try:
        compare(theirs, ours)
    except Different as found:
        return str(found)
    return None
