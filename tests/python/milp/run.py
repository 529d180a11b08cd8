#!/usr/bin/env python3
"""Compares the command with a MILP solver on random small problems.

    tests/python/milp/run.py --command build/release/runtime/shardwright --count 1000
    tests/python/milp/run.py --command … --only replan --seed 5069 --count 1
    tests/python/milp/run.py --command … --case build/release/python/milp_cases/plan-17.json

Feasibility, rating, bound, the objective of replan, and what explain suggests must agree with the
MILP. Needs highspy. A problem that fails or stays open is written to --cases and named.
"""

import argparse
import collections
import json
import multiprocessing
import sys
import time
import traceback
from pathlib import Path

from checks import CHECKS, random_case
from command import Command, Failed
from problems import rng_of

# Of ten problems in a row, in this order.
KINDS = ("plan", "replan", "plan", "explain", "plan", "replan", "plan", "replan", "plan", "plan")

worker = None


def start(*arguments):
    global worker
    worker = Command(*arguments)


def run_case(case):
    """Returns what it came to, and an empty string or what is wrong."""
    worker.open.clear()
    try:
        outcome = CHECKS[case["kind"]](worker, case)
        return ("open", "; ".join(worker.open)) if worker.open else (outcome, "")
    except Failed as failure:
        return "failed", str(failure)
    except Exception:  # a defect of the test itself must name its problem, too
        return "failed", traceback.format_exc()


def run_seed(task):
    kind, seed = task
    case = random_case(kind, rng_of(kind, seed))
    before = time.monotonic()
    outcome, wrong = run_case(case)
    return task, case, outcome, wrong, time.monotonic() - before


def tasks(arguments):
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        yield arguments.only or KINDS[seed % len(KINDS)], seed


def report(folder, task, case, wrong):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{task[0]}-{task[1]}.json"
    path.write_text(json.dumps({**case, "wrong": wrong}, indent=1), encoding="utf-8")
    print(f"{path}: {wrong}", flush=True)


def run_all(arguments):
    """Returns counts by kind and outcome."""
    counts = collections.Counter()
    started = time.monotonic()
    with multiprocessing.Pool(arguments.jobs, start,
                              (arguments.command, arguments.seconds,
                               arguments.cpu_seconds)) as pool:
        for done, (task, case, outcome, wrong, took) in enumerate(
                pool.imap_unordered(run_seed, tasks(arguments), chunksize=4), 1):
            counts[task[0], outcome] += 1
            if wrong:
                report(arguments.cases, task, case, wrong)
            if arguments.verbose:
                print(f"{task[0]} {task[1]}: {outcome}, {took:.2f} s", flush=True)
            if done % 1000 == 0:
                print(f"{done} problems, {time.monotonic() - started:.0f} s", flush=True)
    return counts


def number(counts, outcome):
    return sum(count for (_, came_to), count in counts.items() if came_to == outcome)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", default="build/release/runtime/shardwright")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first problem")
    parser.add_argument("--only", choices=CHECKS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60, help="limit for one call of the command")
    parser.add_argument("--cpu-seconds", type=float, default=1.0,
                        help="that plan and replan may take")
    parser.add_argument("--cases", type=Path, default=Path("build/release/python/milp_cases"))
    parser.add_argument("--case", type=Path, help="run this file again")
    parser.add_argument("--most-open", type=int, default=0,
                        help="problems that may end right, but without a proof or late")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    if arguments.case:
        start(arguments.command, arguments.seconds, arguments.cpu_seconds)
        outcome, wrong = run_case(json.loads(arguments.case.read_text(encoding="utf-8")))
        print(wrong or outcome)
        return 1 if wrong else 0
    started = time.monotonic()
    counts = run_all(arguments)
    for (kind, outcome), count in sorted(counts.items()):
        print(f"{count:7} {kind}: {outcome}")
    failed, left = number(counts, "failed"), number(counts, "open")
    print(f"{arguments.count} problems from seed {arguments.seed}: {failed} failed, {left} open of "
          f"at most {arguments.most_open}, {time.monotonic() - started:.1f} s")
    return 1 if failed or left > arguments.most_open else 0


if __name__ == "__main__":
    sys.exit(main())
