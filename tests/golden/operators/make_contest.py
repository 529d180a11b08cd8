#!/usr/bin/env python3
"""Makes contest_small.json, an instance of the IOPDDL contest's form that is small enough to try every choice.

    make_contest.py [--seed 2025] [--nodes 12] > contest_small.json

As in the contest: a chain with shortcuts, costs that forbid pairs of strategies, intervals during which nodes hold
memory, and a limit that the cheapest choices exceed.
"""

import argparse
import json
import random

FORBIDDEN = 10**18


def instance(seed, nodes):
    draw = random.Random(seed)
    costs = [[draw.randrange(100, 2000) for _ in range(draw.choice((2, 3, 3, 4)))] for _ in range(nodes)]
    # What costs less holds more.
    usages = [[10**6 // cost + draw.randrange(500) for cost in own] for own in costs]
    intervals = [[10 * n, 10 * (n + draw.choice((2, 3, 5)))] for n in range(nodes)]
    pairs = [(n, n + 1) for n in range(nodes - 1)] + [(n, n + 3) for n in range(0, nodes - 3, 3)]

    def entry(a, b):
        if a == b:
            return 0
        return FORBIDDEN if draw.random() < 0.1 else draw.randrange(50, 900)

    edges = [[entry(a, b) for a in range(len(costs[i])) for b in range(len(costs[j]))] for i, j in pairs]
    return {
        "problem": {
            "name": f"small-{seed}",
            "nodes": {"intervals": intervals, "costs": costs, "usages": usages},
            "edges": {"nodes": [list(pair) for pair in pairs], "costs": edges},
            "usage_limit": 7000,
        }
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=2025)
    parser.add_argument("--nodes", type=int, default=12)
    given = parser.parse_args()
    print(json.dumps(instance(given.seed, given.nodes)))
