"""The checks by kind: a plan and a plan after a change against the MILP, and their random cases."""

import model
from command import DONE, NO_PLAN
from comparison import (CLOSE, PROVED, check_infeasible, check_options, check_plan_holds, close,
                        compare, require)
from explain_checks import check_explain
from moves import Moves
from problems import add_twin, changed_problem, random_problem, scale_memory
from space import GIB, rating


def check_plan(command, case):
    problem = case["problem"]
    instance = command.instance(problem)
    code, answer, error = command.call("plan", command.file("problem", problem), "--threads", 1,
                                       "--emit-search-space", "--json")
    if answer and "search_space" in answer and instance:
        check_options(problem, instance, answer)
    if code != DONE:
        check_infeasible(command, problem, instance, code, error)
        return "infeasible" if code == NO_PLAN else f"exit {code}"
    check_plan_holds(problem, instance, answer)
    ours = answer["best_rating"]
    found = model.solve(*instance, cutoff=ours)
    compare("rating", ours, answer["lower_bound"], answer["proven_optimal"], found)
    require(command.call("verify", command.file("problem", problem),
                         command.file("plan", answer))[0] == DONE, "verify refuses the plan")
    return "feasible"


def check_replan(command, case):
    code, old, _ = command.plan(case["old_problem"])
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
    moves = Moves(old["plan"], instance[0], instance[1].world)
    moves.held = {t: held for t, held in moves.held.items() if t in instance[0]}
    migration = answer["migration"]
    require(moves.of_plan(plan) == migration["moved_bytes"],
            f"moved bytes differ: {migration['moved_bytes']} and {moves.of_plan(plan)}")
    ours = answer["best_rating"] + weight * migration["moved_bytes"] / GIB
    require(close(ours, model.objective(plan, instance[1], moves, weight)), "objective differs")
    found = model.solve(*instance, cutoff=ours, moves=moves, weight=weight)
    bound = migration.get("lower_bound", migration.get("objective_bound"))
    proved = bound is None or bound >= ours * (1 - PROVED - CLOSE)
    compare("objective", ours, bound, proved, found)
    # The bound on the rating of all plans holds with any weight.
    if answer["lower_bound"] is not None and found.plan is not None:
        require(answer["lower_bound"] <= rating(found.plan, instance[1]) * (1 + CLOSE),
                "the bound on ratings is above the rating of a plan")
    return "feasible"


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
