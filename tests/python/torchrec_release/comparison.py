"""Finds the first difference between TorchRec's answer and the command's."""

import itertools
import struct

from command import BAD_INPUT, DONE, NO_PLAN

OPTION_KEYS = ("table", "module", "sharding_type", "compute_kernel", "partition_by", "batch_size",
               "is_pooled", "is_weighted", "load_factor", "num_shards")
PLAN_KEYS = ("table", "module", "sharding_type", "compute_kernel", "load_factor", "ranks")
PERF = ("fwd_compute", "fwd_comms", "bwd_compute", "bwd_comms", "prefetch_compute")
# TorchRec adds up float32 values of a scale-up search in an order of its own.
SCALEUP_TOLERANCE = 1e-9


class Different(Exception):
    """Says where answers differ, what TorchRec says there, and what the command says."""


def same(where, theirs, ours):
    if theirs != ours:
        raise Different(f"{where}: TorchRec {theirs!r}, shardwright {ours!r}")


def same_double(where, theirs, ours):
    """Bit-equal, but for the sign of zero, which TorchRec's whole-number zeros do not have."""
    bits = [struct.pack("<d", float(value) + 0.0) for value in (theirs, ours)]
    if bits[0] != bits[1]:
        raise Different(f"{where}: TorchRec {theirs!r}, shardwright {ours!r}")


def same_shard(where, theirs, ours):
    for key in ("size", "offset", "hbm", "ddr"):
        same(f"{where}/{key}", theirs[key], ours[key])
    same(f"{where}/ssd", theirs["ssd"], ours.get("ssd", 0))
    for name, a, b in zip(PERF, theirs["perf"], ours["perf"], strict=True):
        same_double(f"{where}/{name}", a, b)
    same_double(f"{where}/input_dist_comms", theirs["input_dist_comms"], ours.get("input_dist_comms", 0))


def title(option):
    return option and f"{option['table']} {option['sharding_type']} {option['compute_kernel']}"


def same_space(theirs, ours):
    for i, (a, b) in enumerate(itertools.zip_longest(theirs, ours)):
        same(f"option {i}", title(a), title(b))
        for key in OPTION_KEYS:
            same(f"option {i} ({title(a)})/{key}", a[key], b[key])
        for number, (one, other) in enumerate(zip(a["shards"], b["shards"], strict=True)):
            same_shard(f"option {i} ({title(a)})/shard {number}", one, other)


def same_storage(where, theirs, ours):
    """The command names SSD only where something can take it."""
    same(where, theirs[:len(ours)], ours)


def per_rank(reserved):
    return reserved.get("per_rank") or [reserved["uniform"]] * reserved["world_size"]


def same_reservation(theirs, ours):
    same("reserved_topology", bool(theirs), bool(ours))
    if not theirs:
        return
    for rank, (a, b) in enumerate(zip(per_rank(theirs), per_rank(ours), strict=True)):
        same_storage(f"reserved_topology/rank {rank}", a, b)
    for key in ("dense_storage", "kjt_storage"):
        if key in theirs:
            same_storage(f"reserved_topology/{key}", theirs[key], ours.get(key, []) or [None])


def same_ratings(where, theirs, ours, tolerance):
    for rank, (a, b) in enumerate(zip(theirs, ours, strict=True)):
        if tolerance and abs(a - b) <= tolerance * abs(a):
            continue
        same_double(f"{where}/{rank}", a, b)


def same_plan(theirs, ours, tolerance):
    same("plan/tables", [p["table"] for p in theirs["plan"]], [p["table"] for p in ours.get("plan", [])])
    for a, b in zip(theirs["plan"], ours["plan"]):
        for key in PLAN_KEYS:
            same(f"plan/{a['table']}/{key}", a[key], b[key])
    if theirs["plan"]:
        same_ratings("best_rating", [theirs["best_rating"]], [ours["best_rating"]], tolerance)
        same_ratings("plan_perf_by_rank", theirs["plan_perf_by_rank"], ours["plan_perf_by_rank"], tolerance)
        for key in ("plan_hbm_by_rank", "plan_ddr_by_rank", "plan_ranks_sha1"):
            same(key, theirs[key], ours[key])
        none = [0] * len(theirs["plan_ssd_by_rank"])
        same("plan_ssd_by_rank", theirs["plan_ssd_by_rank"], ours.get("plan_ssd_by_rank", none))


def expanded(proposals):
    """Yields proposals with all of their options."""
    latest = {}
    for entry in proposals:
        if "options" in entry:
            latest[entry["p"]] = list(entry["options"])
        for place, new in entry.get("delta", []):
            latest[entry["p"]][place] = new
        yield entry, [] if "tables" in entry else list(latest[entry["p"]])


def same_proposals(theirs, ours, tolerance):
    for number, pair in enumerate(itertools.zip_longest(expanded(theirs), expanded(ours or []))):
        same("number of proposals", len(theirs), len(ours or []))
        (a, options), (b, own) = pair
        where = f"proposal {number}"
        same(f"{where}/p", a["p"], b["p"])
        same(f"{where}/options", options, own)
        same(f"{where}/cached", a.get("cached", False), b.get("cached", False))
        same(f"{where}/ok", a["ok"], b["ok"])
        if a["ok"]:
            same_ratings(f"{where}/rating", [a["rating"]], [b["rating"]], tolerance)
        same(f"{where}/ranks_sha1", a.get("ranks_sha1"), b.get("ranks_sha1"))


def check_space(theirs, enumerated):
    code, ours, words = enumerated
    if "search_space" not in theirs:
        return
    if code != DONE:
        raise Different(f"enumerate exits with {code}: {words}")
    same_space(theirs["search_space"], ours["search_space"])


def refused_first(theirs, code, enumerated):
    """The command reads all constraints first. TorchRec reads them when it enumerates, after the reservation."""
    return "search_space" not in theirs and "error" in theirs and code == enumerated[0] == BAD_INPUT


def check_plan(theirs, enumerated, planned, tolerance):
    code, ours, words = planned
    error = theirs.get("error", {})
    if error.get("type") == "crashed" or refused_first(theirs, code, enumerated):
        return
    if error.get("type") == "refused":
        if code != BAD_INPUT:
            raise Different(f"plan exits with {code}, but TorchRec ends with {error['message'][:300]}")
        return
    if code not in (DONE, NO_PLAN):
        raise Different(f"plan exits with {code}: {words}; TorchRec: {error.get('type', 'a plan')}")
    same_reservation(theirs.get("reserved_topology"), ours.get("reserved_topology"))
    same_proposals(theirs["proposals"], ours.get("proposals"), tolerance)
    same("error/type", error.get("type"), ours.get("error", {}).get("type"))
    for key in ("num_proposals", "num_plans"):
        same(key, theirs[key], ours[key])
    if not error:
        same_plan(theirs, ours, tolerance)


def difference(problem, theirs, asked):
    """Returns None if all is equal; otherwise where it first is not, and how."""
    enumerated, planned = asked
    scaled = any(p["type"] == "scaleup" for p in problem.get("proposers", []))
    try:
        check_space(theirs, enumerated)
        check_plan(theirs, enumerated, planned, SCALEUP_TOLERANCE if scaled else 0)
    except Different as found:
        return str(found)
    return None
