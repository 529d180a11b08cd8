#!/usr/bin/env python3
"""What best mode loses with methods switched off: mean gap, proofs, ratings and steps, by method and suite.

    cmake --preset perf && cmake --build build/perf --target perf_ablation
    perf/ablation/run.py -o ablation.jsonl                          # every method alone, every suite
    perf/ablation/run.py -o ablation.jsonl --suite workloads --without dives --without dives,lagrangian_tree
    perf/ablation/run.py -o ablation.jsonl --write perf/ablation/README.md

Answers are kept in the file, a line per case; cases that the file has are not run again. `--without` names the
methods of one row, separated by commas. `--write` rewrites the tables between `<!-- measured -->` and `<!-- end -->`.
Work limits are fixed, so the answers do not depend on the machine. The suite `replans` draws its problems as the MILP
tests do, so it needs their interpreter: build/release/python/milp/bin/python.
"""

import argparse
import gzip
import json
import math
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tracking import measured_table  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
MILP = ROOT / "tests" / "python" / "milp"
MARKS = ("<!-- measured -->", "<!-- end -->")
PROVED = 1e-4  # a relative gap that counts as proved
VISIBLE = 1e-4  # a change of the mean gap from which on a method has a row of its own
FIVE_SECONDS = 1_200_000_000  # steps that two threads take in about five seconds
NOTHING = "nothing"


def workloads(_):
    for path in sorted((GOLDEN / "workloads").glob("*.json.gz")):
        with gzip.open(path, "rt") as file:
            machines = json.load(file)["meta"]["topologies"]
        for machine in machines:
            case = {"case": f"{path.name.removesuffix('.json.gz')}@{machine['world_size']}x{machine['hbm_gib']}",
                    "problem": str(path), "ranks": machine["world_size"],
                    "ranks_per_host": machine["local_world_size"], "hbm_bytes": int(machine["hbm_gib"] * 2**30)}
            if "global_batch" in machine:
                case["batch_size"] = max(1, machine["global_batch"] // machine["world_size"])
            yield case


def recorded(_):
    """The golden cases that HiGHS proves."""
    with gzip.open(GOLDEN / "embedding" / "milp.json.gz", "rt") as file:
        rows = json.load(file)
    for name, row in sorted(rows.items()):
        if row["bound"] >= row["milp"] * (1 - PROVED):
            yield {"case": name, "problem": str(GOLDEN / "embedding" / "cases" / f"{name}.json.gz"),
                   "torchrec": "a48cef79"}


def recorded_random(arguments):
    with gzip.open(GOLDEN / "embedding" / "random_milp.json.gz", "rt") as file:
        rows = json.load(file)
    for row in rows:
        yield written(arguments, f"recorded-{row['seed']}", row["problem"])


def seeds(arguments):
    """Every fifth of the random problems beside which HiGHS was run."""
    sys.path[:0] = [str(MILP), str(ROOT / "perf" / "vs_highs")]
    from problems import rng_of
    compare = load_compare()
    wanted = argparse.Namespace(command=arguments.shardwright, torchrec="1.9.2", options=[])
    for seed in range(0, 500, 5):
        path = arguments.cases / f"seed-{seed}.json"
        if not path.exists():
            problem = compare.random_problem(rng_of("highs", seed), wanted)
            path.write_text(json.dumps(problem and {k: v for k, v in problem.items() if k != "tight"}))
        if path.read_text() != "null":
            yield {"case": path.stem, "problem": str(path)}


def replans(arguments):
    sys.path.insert(0, str(MILP))
    from checks import random_case
    from problems import rng_of
    for seed in range(5000, 5040):
        case = random_case("replan", rng_of("replan", seed))
        old = written(arguments, f"replan-{seed}-old", case["old_problem"])
        plan = arguments.cases / f"replan-{seed}-plan.json"
        if not plan.exists():
            subprocess.run([arguments.shardwright, "plan", old["problem"], "-o", plan, "--work-limit", "3000000"],
                           check=False, capture_output=True)
        if plan.exists() and json.loads(plan.read_text()).get("plan"):
            yield {**written(arguments, f"replan-{seed}", case["problem"]), "old_plan": str(plan),
                   "weight": case["weight"] or 0.1}


def operators(_):
    """Recorded and generated instances, and the contest's where $SHARDWRIGHT_IOPDDL_DIR has them."""
    for name in ("resnet", "narrow", "wide", "dense"):
        yield {"case": name, "instance": name}
    for path in sorted((GOLDEN / "operators" / "autoparallel").glob("*.json.gz")):
        yield {"case": path.name.removesuffix(".json.gz"), "instance": str(path)}
    folder = os.environ.get("SHARDWRIGHT_IOPDDL_DIR")
    for letter in "ABGKLMNPSUV" if folder else "":
        yield {"case": f"contest-{letter}", "instance": f"{folder}/asplos-2025-iopddl-{letter}.json.gz"}


def written(arguments, name, problem):
    path = arguments.cases / f"{name}.json"
    path.write_text(json.dumps(problem))
    return {"case": name, "problem": str(path)}


def load_compare():
    import importlib.machinery
    import importlib.util
    loader = importlib.machinery.SourceFileLoader("compare", str(ROOT / "perf" / "vs_highs" / "compare"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("compare", loader))
    loader.exec_module(module)
    return module


SUITES = {"workloads": workloads, "recorded": recorded, "recorded_random": recorded_random, "seeds": seeds,
          "replans": replans, "operators": operators}


def program(arguments, suite):
    return [arguments.program, *(["--operators"] if suite == "operators" else [])]


def run(arguments, suite, row, cases):
    """Plans the cases in one process and yields an answer each."""
    command = program(arguments, suite)
    if row != NOTHING:
        command += ["--without", row]
    if suite == "seeds":
        command += ["--work", str(FIVE_SECONDS)]
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    process.stdin.write(lines)
    process.stdin.close()
    yield from ({"suite": suite, "without": row, **json.loads(line)} for line in process.stdout)
    if process.wait() != 0:
        sys.exit(f"{' '.join(map(str, command))} failed")


def measure(arguments, known):
    tasks = []
    for suite in arguments.suite or SUITES:
        cases = list(SUITES[suite](arguments))
        for row in rows_of(arguments, suite):
            left = [case for case in cases if (suite, row, case["case"]) not in known]
            half = (len(left) + 1) // 2
            tasks += [(suite, row, part) for part in (left[::2], left[1::2]) if part and half]

    def work(task):
        for answer in run(arguments, *task):
            known[answer["suite"], answer["without"], answer["case"]] = answer
            with arguments.output.open("a") as file:
                file.write(json.dumps(answer) + "\n")

    with ThreadPoolExecutor(arguments.processes) as pool:
        list(pool.map(work, tasks))


def methods(arguments, suite):
    return subprocess.run([*program(arguments, suite), "--list"], capture_output=True, text=True,
                          check=True).stdout.split()


def rows_of(arguments, suite):
    return list(dict.fromkeys([NOTHING, *(arguments.without or methods(arguments, suite))]))


def gap(answer):
    if not answer["rating"]:
        return 0.0
    return max(0.0, 1 - (answer["bound"] or 0) / answer["rating"])


def percent(value, digits=3):
    return f"{100 * value:+.{digits}f}" if abs(value) > 1e-9 else "0"


def mean_gap(answers):
    gaps = [gap(answer) for answer in answers.values() if answer["rating"] is not None]
    return sum(gaps) / len(gaps)


def proofs(answers):
    return sum(answer["rating"] is not None and gap(answer) <= PROVED for answer in answers.values())


def steps(answers):
    return sum(answer["steps"] for answer in answers.values())


def changes(answers, base):
    """Proofs, plans or ratings differ, the mean gap visibly, or the search takes twice the steps."""
    return (proofs(answers) != proofs(base) or abs(mean_gap(answers) - mean_gap(base)) >= VISIBLE
            or steps(answers) >= 2 * steps(base)
            or any(answers[name]["rating"] != base[name]["rating"] for name in base))


def line(row, answers, base):
    both = [name for name in answers if answers[name]["rating"] and base[name]["rating"]]
    logs = {name: math.log(answers[name]["rating"] / base[name]["rating"]) for name in both}
    worst = max(logs, key=logs.get)
    lost = sum(base[name]["rating"] is not None and answers[name]["rating"] is None for name in base)
    mean = percent(math.expm1(sum(logs.values()) / len(logs)), 4)
    change = f"{percent(math.expm1(logs[worst]))} ({worst})" if logs[worst] > 5e-7 else "0"
    change += f", {lost} plans lost" if lost else ""
    return (f"| {row.replace(',', ', ')} | {100 * mean_gap(answers):.3f} | {proofs(answers)} "
            f"| {mean} | {change} | {steps(answers) / 1e9:.2f} |")


def tables(known):
    text = []
    for suite in SUITES:
        base = {case: answer for (s, row, case), answer in known.items() if (s, row) == (suite, NOTHING)}
        if not base:
            continue
        planned = sum(answer["rating"] is not None for answer in base.values())
        text += [f"### {suite}: {len(base)} cases, {planned} with a plan", "",
                 "| off | mean gap, % | proved | mean rating, % | worst rating, % | billion steps |",
                 "|---|---:|---:|---:|---|---:|"]
        same = 0
        rows = dict.fromkeys(row for s, row, _ in known if s == suite)
        for row in rows:
            answers = {case: answer for (s, r, case), answer in known.items() if (s, r) == (suite, row)}
            if answers.keys() == base.keys():
                if row == NOTHING or changes(answers, base):
                    text.append(line(row, answers, base))
                else:
                    same += 1
        if same:
            text += ["", f"The other {same} methods have no effect on this suite."]
        text.append("")
    return "\n".join(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/perf/perf/ablation/perf_ablation"))
    parser.add_argument("--shardwright", default=str(ROOT / "build/release/runtime/shardwright"),
                        help="makes random problems and old plans")
    parser.add_argument("--cases", type=Path, default=ROOT / "build/ablation", help="folder for these")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--suite", action="append", choices=SUITES)
    parser.add_argument("--without", action="append", metavar="METHODS")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--write", type=Path, metavar="FILE", help="only rewrite the tables in this file")
    arguments = parser.parse_args()
    arguments.cases.mkdir(parents=True, exist_ok=True)
    known = {}
    if arguments.output.exists():
        for answer in map(json.loads, arguments.output.read_text().splitlines()):
            known[answer["suite"], answer["without"], answer["case"]] = answer
    if arguments.write:
        measured_table.rewrite(arguments.write, MARKS, tables(known))
        return
    measure(arguments, known)
    print(tables(known))


if __name__ == "__main__":
    main()
