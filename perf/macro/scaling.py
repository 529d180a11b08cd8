#!/usr/bin/env python3
"""How cost grows with tables, ranks and proposals: exponents fitted to medians of planning runs."""

from __future__ import annotations

import argparse
import gzip
import json
import math
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Sequence

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tracking.errors import TrackError  # noqa: E402
from tracking.planners import WORKLOADS, BuildPlanner  # noqa: E402

# Sharding types of the tables; empty = all that the sharder allows.
MIXES: dict[str, list[str]] = {"table-wise": ["table_wise"], "table-row-wise": ["table_row_wise"], "default": []}


@dataclass(frozen=True)
class Axis:
    """One quantity that grows while the others are constant."""

    name: str
    values: Sequence[int]
    tables: int = 500
    ranks: int = 64
    proposals: int = 250


AXES = (
    Axis("tables", (250, 500, 1000, 2000, 4000)),
    Axis("ranks", (16, 32, 64, 128, 256, 512, 1024)),
    Axis("proposals", (125, 250, 500, 1000, 2000), tables=1000),
)

# What grows, in seconds.
COSTS: dict[str, Callable[[dict[str, Any]], float]] = {
    "enumerate": lambda run: float(run["enumerate_s"]),
    "one proposal": lambda run: float(run["explore_s"]) / max(1, run["num_proposals"]),
    "explore": lambda run: float(run["explore_s"]),
}
# Neither the cost of a proposal nor that of enumerating depends on the number of proposals.
SHOWN = {"tables": ("enumerate", "one proposal"), "ranks": ("enumerate", "one proposal"), "proposals": ("explore",)}


def problem(tables: int, ranks: int, mix: str) -> dict[str, Any]:
    """The first tables of the largest workload with one greedy proposer and enough memory for all."""
    workload = json.loads(gzip.decompress((WORKLOADS / "ads_bootstrap_5384t.json.gz").read_bytes()))
    chosen = workload["tables"][:tables]
    document: dict[str, Any] = {
        "name": f"{mix}_{tables}t_{ranks}r", "tables": chosen, "batch_size": 512,
        "topology": {"world_size": ranks, "local_world_size": min(8, ranks), "hbm_cap": 1 << 42},
        "proposers": [{"type": "greedy"}]}
    if MIXES[mix]:
        document["constraints"] = {table["name"]: {"sharding_types": MIXES[mix]} for table in chosen}
    return document


def fit(points: Sequence[tuple[float, float]]) -> float:
    """Returns the exponent of the power law through points above zero: the slope of their logarithms."""
    xs, ys = [math.log(x) for x, _ in points], [math.log(y) for _, y in points]
    middle_x, middle_y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - middle_x) ** 2 for x in xs)
    return sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys)) / spread


def _shards_of(build: Path | None, path: str, tables: int, proposals: int, threads: str) -> int:
    """Returns a work limit for about so many proposals, extrapolated from the work of a few."""
    few = BuildPlanner(build, ["--threads", threads, "--work-limit", str(tables * 8)]).documents([path])[0]
    each = few["work_steps"] / max(1, few["num_proposals"])
    return int(each * proposals)


def measure(axis: Axis, mix: str, build: Path | None, repeat: int, threads: int) -> list[dict[str, Any]]:
    runs = []
    for value in axis.values:
        sizes = {"tables": axis.tables, "ranks": axis.ranks, "proposals": axis.proposals, axis.name: value}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{mix}.json"
            path.write_text(json.dumps(problem(sizes["tables"], sizes["ranks"], mix)), encoding="utf-8")
            limit = _shards_of(build, str(path), sizes["tables"], sizes["proposals"], str(threads))
            planner = BuildPlanner(build, ["--threads", str(threads), "--work-limit", str(limit)])
            run = planner.documents([str(path)], repeat)[0]
        runs.append({**run, "value": run["num_proposals"] if axis.name == "proposals" else value})
    return runs


def rows(build: Path | None, repeat: int, threads: int) -> list[tuple[str, str, str, str, float]]:
    """(axis, range, mix, cost, exponent) for every fit."""
    found = []
    for axis in AXES:
        for mix in MIXES:
            print(f"scaling: {axis.name}, {mix}", file=sys.stderr)
            runs = measure(axis, mix, build, repeat, threads)
            span = f"{axis.values[0]:,} to {axis.values[-1]:,}"
            for cost in SHOWN[axis.name]:
                points = [(float(run["value"]), COSTS[cost](run)) for run in runs]
                found.append((axis.name, span, mix, cost, fit(points)))
    return found


def markdown(fits: list[tuple[str, str, str, str, float]]) -> str:
    mixes = list(dict.fromkeys(mix for _, _, mix, _, _ in fits))
    exponents: dict[tuple[str, str, str], dict[str, float]] = {}
    for axis, span, mix, cost, exponent in fits:
        exponents.setdefault((axis, span, cost), {})[mix] = exponent
    lines = [f"| over | from, to | cost of | {' | '.join(mixes)} |", "|---|---|---|" + "---:|" * len(mixes)]
    lines += [f"| {' | '.join(key)} | {' | '.join(f'{by_mix[mix]:.2f}' for mix in mixes)} |"
              for key, by_mix in exponents.items()]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, help="build folder (default: build/perf, build/release)")
    parser.add_argument("--repeat", type=int, default=5, help="runs of each size (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=1, help="default: %(default)s")
    options = parser.parse_args()
    try:
        print(markdown(rows(options.build, options.repeat, options.threads)))
    except TrackError as error:
        print(f"scaling.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
