#!/usr/bin/env python3
"""Compares the command's compat mode with the installed TorchRec on random problems.

    differential.py --command build/release/runtime/shardwright --count 300
    differential.py --command … --seed 17 --count 1 --cases folder
    differential.py --command … --case folder/17.json

Options, reserved topology, proposals, plan, rating and error must be equal. A problem that is answered differently is
named with its seed and the first difference, and written to --cases.
"""

import argparse
import collections
import importlib.metadata
import json
import sys
import time
from pathlib import Path

from command import Command
from comparison import difference
from problems import THEMES, random_problem
from recorder import record

PROGRESS = 1000  # problems between two lines that say how far it is


def outcome(theirs):
    return theirs.get("error", {}).get("type", "planned" if theirs.get("plan") else "nothing to plan")


def problems(arguments):
    """Yields names and problems."""
    if arguments.case:
        for path in arguments.case:
            yield path.stem, json.loads(path.read_text(encoding="utf-8"))
        return
    themes = arguments.theme and set(arguments.theme)
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        yield str(seed), random_problem(seed, themes)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0, help="of the first problem")
    parser.add_argument("--theme", action="append", choices=THEMES, help="make frequent what it names")
    parser.add_argument("--case", type=Path, nargs="+", help="problem files instead of random problems")
    parser.add_argument("--cases", type=Path, help="folder for problems that are answered differently")
    return parser.parse_args()


def main():
    arguments = parse()
    release = importlib.metadata.version("torchrec")
    command = Command(arguments.command, release)
    outcomes, failed, began = collections.Counter(), [], time.monotonic()
    for name, problem in problems(arguments):
        theirs = record(problem)
        outcomes[outcome(theirs)] += 1
        found = difference(problem, theirs, command.ask(problem))
        if found:
            failed.append(name)
            print(f"DIFFERENT seed {name}: {found}", flush=True)
            if arguments.cases:
                arguments.cases.mkdir(parents=True, exist_ok=True)
                (arguments.cases / f"{name}.json").write_text(json.dumps(problem, indent=1), encoding="utf-8")
        if outcomes.total() % PROGRESS == 0:
            print(f"{outcomes.total()} problems in {time.monotonic() - began:.0f} s", flush=True)
    print(f"torchrec {release}: {outcomes.total()} problems in {time.monotonic() - began:.0f} s, "
          f"{len(failed)} answered differently; " + ", ".join(f"{k} {v}" for k, v in outcomes.most_common()))
    if outcomes["planned"] * 4 < outcomes.total() and not arguments.case:
        print("too few problems have a plan for the comparison to mean much")
        return 1
    return 1 if failed or not outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
