"""What every check shares: what a plan file claims, and the MILP's word against the command's."""

import model
from command import BAD_INPUT, STOPPED, Failed
from space import excess, key_of, loads, name_of, rating, read_plan

PROVED = 1e-4   # the gap at which the command calls a plan optimal and ends its search
CLOSE = 1e-6    # two sums of the same times, and the solver's tolerance


def require(holds, message):
    if not holds:
        raise Failed(message)


def close(a, b):
    return abs(a - b) <= CLOSE * max(abs(a), abs(b))


def is_contradiction(message):
    """The command refuses rules that leave a shard no rank, even one that no option has."""
    return "/shard_ranks/" in message or "none of" in message


def check_options(problem, instance, answer):
    """The options that the command used are those without rules, with the measured factors."""
    options, machine, _ = instance
    by_storage = problem.get("perf_model") == "storage"
    for entry in answer["search_space"]:
        same = [o for o in options[key_of(entry["module"], entry["table"])]
                if (o.sharding_type, o.kernel) == (entry["sharding_type"], entry["compute_kernel"])]
        require(len(same) == 1, f"{entry['table']}: an option that is not in the bare problem")
        for ours, shard in zip(same[0].shards, entry["shards"]):
            times = ours.hbm if by_storage else sum(shard["perf"])
            require((shard["hbm"], shard["ddr"]) == (ours.hbm, ours.ddr) and close(times, ours.ms),
                    f"{same[0].name()}: calibrated costs differ: {shard} and {ours}")
        rules = problem.get("constraints", {}).get(entry["table"], {})
        require(entry["sharding_type"] in rules.get("sharding_types", [entry["sharding_type"]]) and
                entry["compute_kernel"] in rules.get("compute_kernels", [entry["compute_kernel"]]),
                f"{same[0].name()} is not among the allowed types and kernels")
    left = answer.get("reserved_topology")
    if left:
        hbm, ddr = zip(*left["per_rank"]) if "per_rank" in left \
            else [[size] * machine.world for size in left["uniform"]]
        require(list(ddr) == machine.ddr and list(hbm) == machine.hbm,
                f"memory left differs: {left} and {machine.hbm}, {machine.ddr}")


def check_plan_holds(problem, instance, answer):
    """Returns the plan with the options of the MILP after checking all that the file says of it."""
    options, machine, rules = instance
    plan = read_plan(answer["plan"], options)
    require(sorted(plan) == sorted(options) and None not in plan.values(),
            "the plan has not one option for every table")
    broken = rules.violations(plan)
    require(not broken, f"the plan breaks rules: {broken}")
    require(excess(plan, machine) == 0, f"the plan takes {excess(plan, machine)} bytes too many")
    ms, hbm, ddr = loads(plan, machine)
    by_storage = problem.get("perf_model") == "storage"
    require((by_storage or all(map(close, ms, answer["plan_perf_by_rank"]))) and
            hbm == answer["plan_hbm_by_rank"] and ddr == answer["plan_ddr_by_rank"],
            "times or bytes of a rank differ")
    require(close(rating(plan, machine), answer["best_rating"]), "the rating differs")
    return plan


def written(plan):
    return [{"table": name_of(option.table), "module": option.table.split("/")[0],
             "sharding_type": option.sharding_type,
             "compute_kernel": option.kernel, "ranks": ranks}
            for option, ranks in plan.values()]


def check_infeasible(command, problem, instance, code, error):
    """The command found no plan: the MILP must not have one."""
    if instance is None:
        return
    found = model.solve(*instance)
    if found.plan is None:
        if code == STOPPED and found.decided:
            command.open.append("exit 4, but there is no plan")
        return
    if code == BAD_INPUT and is_contradiction(error):
        return
    verified = command.verify(problem, {"plan": written(found.plan)})
    raise Failed(f"exit {code}, but there is a plan ({rating(found.plan, instance[1]):.9g} ms), of "
                 f"which verify says {verified}: {written(found.plan)}")


def compare(command, what, ours, bound, proved, found):
    """`found`: the MILP's best plan among those that cost no more than `ours`."""
    if not found.decided and found.plan is None and found.lower == float("inf"):
        return
    best = min(found.objective, ours)
    if bound is not None:
        require(bound <= best * (1 + CLOSE) + 1e-15,
                f"{what}: the bound {bound:.12g} is above a plan of {best:.12g}: "
                f"{written(found.plan) if found.plan else ''}")
    require(found.plan is not None or not found.decided,
            f"{what}: the MILP denies a plan of {ours:.12g} (check the MILP)")
    require(ours >= found.lower * (1 - CLOSE), f"{what}: {ours} is below the MILP's {found.lower}")
    if best < ours * (1 - PROVED - CLOSE):
        claim = f" (bound {bound:.9g})" if bound is not None else ""
        raise Failed(f"{what}: {ours:.9g}{claim}, but there is {best:.9g}, "
                     f"{ours / best:.4f} times better: {written(found.plan)}")
    if found.decided and not proved and ours > 0:
        command.open.append(f"{what}: {ours:.9g} is optimal, but not proved; the bound is {bound}")
