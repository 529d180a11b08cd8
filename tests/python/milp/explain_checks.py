"""An explanation against the MILP: what does not fit, what would help, what an option would cost."""

import model
from command import BAD_INPUT, DONE, NO_PLAN
from comparison import CLOSE, check_infeasible, close, require, written
from edits import dropped, only_tables, set_values, with_more
from space import excess, key_of, rating, read_plan


def is_feasible(command, problem):
    """True, False, or None if the MILP is not decided or the command refuses the problem."""
    instance = command.instance(problem)
    if instance is None:
        return None
    found = model.solve(*instance)
    return None if not found.decided else found.plan is not None


def one_step_less(remedy):
    least, step = remedy["from"], remedy["step"]
    if remedy["kind"] in ("batch_size", "reservation"):
        return min(least, remedy["to"] + step)
    return max(least, remedy["to"] - step)


def check_remedy(command, problem, remedy):
    kind = remedy["kind"]
    if kind == "constraint":
        better, less, text = dropped(problem, remedy["drop"]), problem, f"dropping {remedy['drop']}"
    else:
        if kind in ("ranks", "hosts") and remedy["to"] * (
                1 if kind == "ranks" else problem["topology"]["local_world_size"]) > 24:
            return
        better = with_more(problem, kind, remedy["to"])
        less = with_more(problem, kind, one_step_less(remedy))
        text = f"{kind} {remedy['to']}"
        if remedy["set"]:
            require(set_values(problem, remedy["set"]) == better, f"{text}: `set` says something else")
    require(is_feasible(command, better) is not False, f"{text} is suggested, but does not do")
    require(is_feasible(command, less) is not True,
            f"{text} is suggested, but one step less does as well "
            f"(it says: {remedy['one_step_less']})")


def check_vain(command, problem, vain, tables):
    kind, message = vain["kind"], vain["message"]
    if kind == "constraint" and message.startswith("dropping any one of"):
        names = {entry["table"] for entry in tables}
        for name in names & set(problem.get("constraints", {})):
            for key in problem["constraints"][name]:
                pointer = f"/constraints/{name}/{key}"
                require(is_feasible(command, dropped(problem, pointer)) is not True,
                        f"{message}, but dropping {pointer} does")
    if not message.startswith("not even"):
        return
    most = {"batch_size": 1, "reservation": 0.0, "hbm": 1 << 40, "ddr": 1 << 40}.get(kind)
    if most is not None:
        require(is_feasible(command, with_more(problem, kind, most)) is not True,
                f"{kind}: {message}, but {most} would do")


def check_explain(command, case):
    problem = case["problem"]
    code, answer, error = command.call("explain", command.file("problem", problem), "--threads", 1,
                                       "--json")
    if code == BAD_INPUT or answer is None:
        check_infeasible(command, problem, command.instance(problem), code, error)
        return f"exit {code}"
    if answer["feasible"]:
        return check_standings(command, problem, answer)
    if code == NO_PLAN:
        check_infeasible(command, problem, command.instance(problem), code, error)
    reason = answer["infeasible"]
    names = [entry["table"] for entry in reason["tables"]]
    if names and reason["reason"] != "reservation":
        require(is_feasible(command, only_tables(problem, names)) is not True,
                f"{names} are said not to fit, but do alone")
    if reason["irreducible"] and len(names) > 1:
        for name in names:
            rest = only_tables(problem, [n for n in names if n != name])
            require(is_feasible(command, rest) is not False,
                    f"{names} are said to fit without {name}, but do not")
    for remedy in answer["remedies"]:
        check_remedy(command, problem, remedy)
    for vain in answer["in_vain"]:
        check_vain(command, problem, vain, reason["tables"])
    return "explained"


def check_standings(command, problem, answer):
    """Every option in a plan whose other tables stay: the MILP must not find it better places."""
    options, machine, rules = command.instance(problem)
    code, planned, _ = command.plan(problem)
    require(code == DONE, "explain finds a plan, and plan does not")
    if not close(planned["best_rating"], answer["best_rating"]):
        return "another plan"
    plan = read_plan(planned["plan"], options)
    for table in answer["tables"][:3]:
        key = key_of(table["module"], table["table"])
        others = {name: [place[0]] for name, place in plan.items() if name != key}
        for told in table["options"][:6]:
            check_standing(machine, rules, plan, others, key, told, options)
    return "standings"


def check_standing(machine, rules, plan, others, name, told, options):
    same = [o for o in options[name]
            if (o.sharding_type, o.kernel) == (told["sharding_type"], told["compute_kernel"])]
    if told["standing"] == "excluded" or not same:
        return
    text = f"explain of {same[0].name()} ({told['standing']})"
    fixed = rules.with_places({table: plan[table][1] for table in others})
    if told["standing"] not in ("chosen", "possible"):
        require(model.solve({**others, name: same}, machine, fixed).plan is None,
                f"{text}: there is room")
        return
    changed = {**plan, name: (same[0], told["ranks"])}
    require(not rules.violations(changed), f"{text}: {rules.violations(changed)}")
    require(excess(changed, machine) == 0, f"{text}: does not fit")
    require(close(rating(changed, machine), told["rating"]),
            f"{text}: rates {rating(changed, machine)} instead of {told['rating']}")
    # Shards are placed one after the other, which is optimal if they cost the same.
    if len({shard.cost() for shard in same[0].shards}) == 1 and told["standing"] == "possible":
        found = model.solve({**others, name: same}, machine, fixed, cutoff=told["rating"])
        require(found.objective >= told["rating"] * (1 - CLOSE),
                f"{text}: {told['rating']:.9g} on {told['ranks']}, but {found.objective:.9g} with "
                f"{written(found.plan or {})}")
