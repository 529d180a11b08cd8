#!/usr/bin/env python3
"""Compares the command with a MILP solver on random small problems.

    tests/python/milp/run.py --command build/release/runtime/shardwright --count 1000
    tests/python/milp/run.py --command … --only replan --seed 5069 --count 1
    tests/python/milp/run.py --command … --case build/release/python/milp_cases/plan-17.json

Feasibility, rating, bound, the objective of replan, and what explain suggests must agree with the
MILP. Needs highspy. A problem that fails is written to --cases and named.
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
    try:
        return CHECKS[case["kind"]](worker, case), ""
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
    """Returns the number of problems that failed, and counts by kind and outcome."""
    counts = collections.Counter()
    failed = 0
    started = time.monotonic()
    with multiprocessing.Pool(arguments.jobs, start,
                              (arguments.command, arguments.seconds,
                               arguments.cpu_seconds)) as pool:
        for done, (task, case, outcome, wrong, took) in enumerate(
                pool.imap_unordered(run_seed, tasks(arguments), chunksize=4), 1):
            counts[f"{task[0]}: {outcome}"] += 1
            if wrong:
                failed += 1
                report(arguments.cases, task, case, wrong)
            if arguments.verbose:
                print(f"{task[0]} {task[1]}: {outcome}, {took:.2f} s", flush=True)
            if done % 1000 == 0:
                print(f"{done} problems, {failed} failed, {time.monotonic() - started:.0f} s",
                      flush=True)
    return failed, counts


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", default="build/release/runtime/shardwright")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first problem")
    parser.add_argument("--only", choices=CHECKS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60, help="limit for one call of the command")
    parser.add_argument("--cpu-seconds", type=float, default=2.0,
                        help="that plan and replan may take; twice what a quiet core needs at most")
    parser.add_argument("--cases", type=Path, default=Path("build/release/python/milp_cases"))
    parser.add_argument("--case", type=Path, help="run this file again")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    if arguments.case:
        start(arguments.command, arguments.seconds, arguments.cpu_seconds)
        outcome, wrong = run_case(json.loads(arguments.case.read_text(encoding="utf-8")))
        print(wrong or outcome)
        return 1 if wrong else 0
    started = time.monotonic()
    failed, counts = run_all(arguments)
    for name, count in sorted(counts.items()):
        print(f"{count:7} {name}")
    print(f"{arguments.count} problems from seed {arguments.seed}, {failed} failed, "
          f"{time.monotonic() - started:.1f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
