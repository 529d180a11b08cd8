#!/usr/bin/env python3
"""Compares the command's compat mode with the Resharder of the installed Paddle.

    differential.py --command build/release/runtime/shardwright
    differential.py --command … --only "transformer of 2 layers on 2x2"
    differential.py --command … --only "transformer of 1 layers on 1x2 then 1x4, rank 3" --record recorded.json.gz

Every case is a model that Paddle completes, differentiates and partitions for one rank. Operators with their order,
slots, roles and attributes, variables, the startup program, process groups with their rings, and planner calls must be
equal. A case that is answered differently is named with the first difference.
"""

import argparse
import collections
import gzip
import json
import logging
import sys
import time
from pathlib import Path

import paddle
from cases import cases
from command import Command
from comparison import difference
from recorder import record

FEWEST_KINDS = 9  # of inserted operators; fewer would mean that the cases have lost their point


def write(path, found):
    text = json.dumps({"program": found.program, "startup": found.startup, "answer": found.answer})
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True)
    parser.add_argument("--only", default="", help="cases whose names contain this")
    parser.add_argument("--record", type=Path, help="write the last case and Paddle's answer to this file")
    return parser.parse_args()


def main():
    arguments = parse()
    logging.disable(logging.INFO)
    paddle.enable_static()
    command = Command(arguments.command)
    inserted, failed, count, began = collections.Counter(), [], 0, time.monotonic()
    for case in cases():
        if arguments.only not in str(case):
            continue
        count += 1
        found = record(case)
        inserted.update(op["type"] for op in found.answer["inserted"])
        different = difference(found.answer, command.ask(found.program, found.startup)[0])
        if different:
            failed.append(case)
            print(f"DIFFERENT {case}: {different}", flush=True)
        if arguments.record:
            write(arguments.record, found)
    print(f"paddle {paddle.__version__}: {count} cases in {time.monotonic() - began:.0f} s, {len(failed)} answered "
          "differently; inserted: " + ", ".join(f"{number} {kind}" for kind, number in inserted.most_common()))
    if not arguments.only and len(inserted) < FEWEST_KINDS:
        print("too few kinds of operators were inserted for the comparison to mean much")
        return 1
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
