#!/usr/bin/env python3
"""Halves and doubles every parameter of best mode and prints the effect on ratings at fixed work."""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tracking import repository  # noqa: E402
from tracking.errors import TrackError  # noqa: E402

CASES = ("09", "20", "23", "29", "31", "36", "40")
WORK = 3_000_000
SEEDS = 3
FACTORS = (0.5, 2.0)
TABLE = Path(__file__).resolve().with_name("README.md")
HEADERS = (*sorted((repository.ROOT / "search/embedding/best/parameters").glob("*_parameters.h")),
           repository.ROOT / "search/embedding/model/context/pricing_parameters.h")
MEMBER = re.compile(r"^  [\w:<>, ]+? (\w+)(?: = [^;]+|\{[^;]*\});", re.MULTILINE)
BEGIN, END = "<!-- table -->", "<!-- end of table -->"

EXAMPLES = """examples:
  perf/parameters/run.py                                 every parameter; prints a Markdown table
  perf/parameters/run.py --only moves. --only balance.   the parameters of two groups
  perf/parameters/run.py --case 36 --case 41 --work 20000000
  perf/parameters/run.py --update                        writes the table into perf/parameters/README.md

A change of the rating is the geometric mean, over cases and seeds, of the rating relative to that of the defaults at
the same work; + is worse. The worst and the best case follow. Searches that find a plan on one side only are counted
separately. Build first: cmake --build build/perf --target perf_parameters"""


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, help="build folder (default: build/perf, build/release)")
    parser.add_argument("--case", action="append", help=f"repeatable (default: {' '.join(CASES)})")
    parser.add_argument("--work", type=int, default=WORK, help="work limit of a search (default: %(default)s)")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="searches per case (default: %(default)s)")
    parser.add_argument("--only", action="append", help="parameters whose name begins like this; repeatable")
    parser.add_argument("--jobs", type=int, default=1, help="measurements at once (default: %(default)s)")
    parser.add_argument("--update", action="store_true", help=f"write the table into {TABLE.name}")
    return parser.parse_args(arguments)


def ask(driver: Path, *arguments: str) -> object:
    done = subprocess.run([str(driver), *arguments], cwd=repository.ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise TrackError(f"{driver.name} {' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


class Change:
    """The effect of one factor for one parameter on every case."""

    def __init__(self, before: dict, after: dict):
        self.lost = self.won = 0
        self.by_case: dict[str, float] = {}
        for case, ratings in before.items():
            logs = []
            for old, new in zip(ratings, after[case]):
                if old is None or new is None:
                    self.lost += new is None and old is not None
                    self.won += old is None and new is not None
                    continue
                logs.append(math.log(new / old))
            if logs:
                self.by_case[case] = sum(logs) / len(logs)

    def text(self) -> str:
        logs = list(self.by_case.values())
        if not any(logs) and not self.lost and not self.won:
            return "0"
        worst = max(self.by_case, key=self.by_case.get)
        best = min(self.by_case, key=self.by_case.get)
        parts = [percent(sum(logs) / len(logs))]
        extremes = [f"{case}: {percent(self.by_case[case])}"
                    for case, sign in ((worst, 1), (best, -1)) if sign * self.by_case[case] > 0]
        if extremes:
            parts.append(f"({', '.join(extremes)})")
        if self.lost:
            parts.append(f"{self.lost} without a plan")
        if self.won:
            parts.append(f"{self.won} more with a plan")
        return " ".join(parts)


def declared() -> set[str]:
    """The members with a default in the headers of parameters."""
    return {name for header in HEADERS for name in MEMBER.findall(header.read_text(encoding="utf-8"))}


def percent(log: float) -> str:
    return f"{100 * math.expm1(log):+.3f} %"


def table(options: argparse.Namespace) -> str:
    driver = repository.program("parameters", options.build)
    cases = options.case or CASES
    fixed = [f"--case={case}" for case in cases] + [f"--work={options.work}"]
    common = [*fixed, f"--seeds={options.seeds}"]
    known = ask(driver, "--list")
    missing = declared() - {parameter["name"].split(".")[-1] for parameter in known}
    if missing:
        raise TrackError(f"perf/parameters/parameter_list.cc lacks {', '.join(sorted(missing))}")
    parameters = [parameter for parameter in known
                  if not options.only or parameter["name"].startswith(tuple(options.only))]
    twice = ask(driver, *fixed, f"--seeds={2 * options.seeds}")
    before = {case: ratings[:options.seeds] for case, ratings in twice.items()}
    other_seeds = {case: ratings[options.seeds:] for case, ratings in twice.items()}
    runs = [(parameter["name"], factor) for parameter in parameters for factor in FACTORS]
    with ThreadPoolExecutor(options.jobs) as pool:
        after = dict(zip(runs, pool.map(
            lambda run: ask(driver, *common, f"--scale={run[0]}", f"--factor={run[1]}"), runs)))
    lines = [f"Cases {', '.join(cases)}; {options.seeds} seeds; {options.work:,} units of work each.", "",
             "| parameter | default | halved | doubled |", "|---|---|---|---|"]
    lines.append(f"| nothing, other seeds | | {Change(before, other_seeds).text()} | |")
    for parameter in parameters:
        halved, doubled = (Change(before, after[parameter["name"], factor]).text() for factor in FACTORS)
        lines.append(f"| {parameter['name']} | {parameter['value']} | {halved} | {doubled} |")
    return "\n".join(lines)


def update(text: str) -> None:
    page = TABLE.read_text(encoding="utf-8")
    head, rest = page.split(BEGIN, 1)
    _, tail = rest.split(END, 1)
    TABLE.write_text(f"{head}{BEGIN}\n{text}\n{END}{tail}", encoding="utf-8")


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    try:
        text = table(options)
        if options.update:
            update(text)
        print(text)
        return 0
    except TrackError as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
