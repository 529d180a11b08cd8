"""The checks by kind: a plan and a plan after a change against the MILP, and their random cases."""

import model
from command import DONE, NO_PLAN, NOT_VERIFIED, VIOLATED
from comparison import (CLOSE, PROVED, check_infeasible, check_options, check_plan_holds, close,
                        compare, require, written)
from edits import scale_memory, without_rules
from explain_checks import check_explain
from moves import Moves
from problems import add_twin, changed_problem, random_problem, rng_of
from space import GIB, excess, rating, read_plan


# A claim that every feasible problem refutes.
FORGED = {"plan": None, "mode": "best",
          "error": {"type": "insufficient_storage", "reason": "no_plan_exists", "message": "none"}}


def check_plan(command, case):
    problem = case["problem"]
    instance = command.instance(problem)
    code, answer, error = command.plan(problem, "--emit-search-space")
    if answer and "search_space" in answer and instance:
        check_options(problem, instance, answer)
    if code != DONE:
        check_infeasible(command, problem, instance, code, error)
        require(answer is None or command.verify(problem, answer) in (DONE, NOT_VERIFIED),
                "verify refuses the proof that there is no plan")
        return "infeasible" if code == NO_PLAN else f"exit {code}"
    check_plan_holds(problem, instance, answer)
    ours = answer["best_rating"]
    found = model.solve(*instance, cutoff=ours)
    compare(command, "rating", ours, answer["lower_bound"], answer["proven_optimal"], found)
    require(command.verify(problem, answer) == DONE, "verify refuses the plan")
    check_verifier(command, problem, instance, found.plan or {})
    require(command.verify(problem, FORGED) in (VIOLATED, NOT_VERIFIED),
            "verify accepts that there is no plan")
    return "feasible"


def check_verifier(command, problem, instance, plan):
    """The MILP's plan, and plans with one table elsewhere, right or wrong: does verify know?"""
    options, machine, rules = instance
    rng = rng_of("verify", str(problem))
    for tried in range(3 if plan else 0):
        valid = excess(plan, machine) == 0 and not rules.violations(plan)
        code = command.verify(problem, {"plan": written(plan)})
        require(code == (DONE if valid else VIOLATED),
                f"verify says {code} of {written(plan)}, which breaks {rules.violations(plan)} and "
                f"takes {excess(plan, machine)} bytes too many")
        table = rng.choice(sorted(plan))
        option = rng.choice(options[table])
        plan = {**plan, table: (option, random_ranks(rng, option, machine))}


def random_ranks(rng, option, machine):
    """Ranks of the right form for the option's type, most of the time."""
    shards, local = len(option.shards), machine.local
    if option.sharding_type in ("data_parallel", "row_wise") and rng.random() < 0.9:
        return list(range(shards))
    if option.sharding_type in ("table_row_wise", "grid_shard") and rng.random() < 0.9:
        hosts = [rng.randrange(machine.hosts) for _ in range(shards // local)]
        return [host * local + i for host in hosts for i in range(local)]
    return [rng.randrange(machine.world) for _ in range(shards)]


def check_replan(command, case):
    # Little work, because a plan in use need not be a good one.
    for problem in (case["old_problem"], without_rules(case["old_problem"])):
        code, old, _ = command.plan(problem, "--work-limit", 5000)
        if code == DONE:
            break
    if code != DONE:
        return "no old plan"
    problem, weight = case["problem"], case["weight"]
    instance = command.instance(problem)
    code, answer, error = command.call(
        "replan", command.file("problem", problem), command.file("old", old), "--threads", 1,
        "--migration-weight", weight, "--json")
    if code != DONE:
        check_infeasible(command, problem, instance, code, error)
        return "infeasible"
    plan = check_plan_holds(problem, instance, answer)
    require(command.verify(problem, answer, "--old-plan", command.file("old", old)) == DONE,
            "verify refuses the new plan")
    moves = Moves(old["plan"], instance[0], instance[1].world)
    moves.held = {t: held for t, held in moves.held.items() if t in instance[0]}
    migration = answer["migration"]
    require(moves.of_plan(plan) == migration["moved_bytes"],
            f"moved bytes differ: {migration['moved_bytes']} and {moves.of_plan(plan)}")
    ours = answer["best_rating"] + weight * migration["moved_bytes"] / GIB
    require(close(ours, model.objective(plan, instance[1], moves, weight)) and
            close(ours, migration["objective"] if weight else ours), "the objective differs")
    check_kept(old, instance, migration)
    found = model.solve(*instance, cutoff=ours, moves=moves, weight=weight)
    bound = migration["lower_bound"] if weight else answer["lower_bound"]
    proved = bound is not None and bound >= ours * (1 - PROVED - CLOSE)
    compare(command, "objective", ours, bound, proved, found)
    # The bound on the rating of all plans holds with any weight.
    if answer["lower_bound"] is not None and found.plan is not None:
        require(answer["lower_bound"] <= rating(found.plan, instance[1]) * (1 + CLOSE),
                "the bound on ratings is above the rating of a plan")
    return "feasible"


def check_kept(old, instance, migration):
    """If the old plan is a plan of all tables still, keeping everything rates what it rates now."""
    options, machine, rules = instance
    kept = {table: place for table, place in read_plan(old["plan"], options).items()
            if table in options}
    if sorted(kept) != sorted(options) or None in kept.values():
        return
    if not rules.violations(kept) and excess(kept, machine) == 0:
        require(close(migration["rating_kept"], rating(kept, machine)),
                f"keeping everything rates {rating(kept, machine)}, not {migration['rating_kept']}")


def random_case(kind, rng):
    if kind == "replan":
        old = random_problem(rng, 6)
        add_twin(rng, old)
        scale_memory(old, 3)
        return {"kind": kind, "old_problem": old, "problem": changed_problem(rng, old),
                "weight": rng.choice((0, 0.001, 0.1, 1, 10, 1000))}
    problem = random_problem(rng)
    if kind == "plan":
        add_twin(rng, problem)
    if kind == "explain":
        scale_memory(problem, rng.choice((0.15, 0.3, 0.5)))
    return {"kind": kind, "problem": problem}


CHECKS = {"plan": check_plan, "replan": check_replan, "explain": check_explain}
