"""Random problem files over what people can say to TorchRec's planner."""

from problems import hardware, limits, machines, search
from problems.chance import Chance
from problems.tables import tables

# What the release has changed. A theme makes what it names frequent. A problem usually has none or one.
CHANGES = ("pooling-below-one", "declared-order", "fp-guard", "pods", "ssd-tier", "reservations",
           "option-num-poolings", "kernels-2026", "estimator", "input_dist_comms", "validators")
# Drawn only when asked for.
THEMES = (*CHANGES, "uneven-hosts")


def planner_parts(chance, themes, problem):
    """Adds what is not about machine, tables and constraints."""
    if chance.maybe(0.9 if "reservations" in themes else 0.6):
        problem["reservation"] = search.reservation(chance, themes, problem["topology"])
    if chance.maybe(0.3):
        problem["dense_params"] = chance.whole(1, 100_000_000)
    if chance.maybe(0.3):
        problem["storage_estimator"] = search.storage_estimator(chance)
    estimator = hardware.perf_estimator(chance, themes)
    if estimator:
        problem["perf_estimator"] = estimator
    proposers = search.proposers(chance, problem["tables"], problem.get("constraints", {}))
    if proposers:
        problem["proposers"] = proposers
    if chance.maybe(0.5):
        problem["partitioner"] = search.partitioner(chance)
    chance.perhaps(0.15, problem, "perf_model", chance.choice(("storage", "storage", "perf")))
    chance.flag(0.2, problem, "use_exact_enumerate_order")


def random_themes(chance):
    return set(chance.sample(CHANGES, chance.often({0: 3, 1: 5, 2: 2})))


def random_problem(seed, themes=None):
    """Returns the problem of a seed; `themes` are drawn, too, unless given."""
    chance = Chance(f"torchrec release {seed}")
    themes = random_themes(chance) if themes is None else set(themes)
    quant = chance.maybe(0.04)
    problem = {"name": f"random_{seed}", "tables": tables(chance, themes, quant)}
    problem["topology"] = machines.topology(chance, themes, problem["tables"])
    device = problem["topology"].get("compute_device", "cuda")
    chance.perhaps(0.9, problem, "batch_size", chance.whole(1, 8192))
    chance.perhaps(0.9, problem, "constraints", limits.constraints(chance, themes, problem["tables"], device, quant))
    sharder = search.sharder(chance, quant)
    if sharder:
        problem["sharder"] = sharder
    planner_parts(chance, themes, problem)
    return problem
