#!/usr/bin/env python3
"""Halves and doubles every parameter of a domain and prints the effect on what is found in fixed work."""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tracking import repository  # noqa: E402
from tracking.errors import TrackError  # noqa: E402

FACTORS = (0.5, 2.0)
WIDTH = 118  # of a page's lines
TABLE = Path(__file__).resolve().with_name("README.md")
SETTINGS = re.compile(r"^struct \w+Settings \{.*?^\};", re.MULTILINE | re.DOTALL)
MEMBER = re.compile(r"^  (?!bool |\w+Parameters )[\w:<>, ]+? (\w+)(?: = [^;]+|\{[^;]*\});", re.MULTILINE)

EXAMPLES = """examples:
  perf/parameters/run.py                                 every parameter of best mode; prints a Markdown table
  perf/parameters/run.py --domain proof                  every parameter of best mode's proof
  perf/parameters/run.py --domain operators              every parameter of the operators' solver
  perf/parameters/run.py --only moves. --only balance.   the parameters of two groups
  perf/parameters/run.py --case 36 --case 41 --work 20000000
  perf/parameters/run.py --domain operators --case my_instance.json --only arms.
  perf/parameters/run.py --update                        writes the table into perf/parameters/README.md

A change is the geometric mean, over cases and seeds, of the rating (embedding), of the work until the rating is proved
optimal or the gap that is left (proof), or of the cost or the work until the proof (operators), relative to that of the
defaults; + is worse. The worst and the best case follow. Searches that find
or prove something on one side only are counted separately.
Build first: cmake --build build/perf --target perf_parameters"""


class Change:
    """The effect of one factor for one parameter on one figure of every case."""

    def __init__(self) -> None:
        self.logs: dict[str, list[float]] = {}

    def add(self, case: str, old: float, new: float) -> None:
        self.logs.setdefault(case, []).append(math.log(new / old))

    def by_case(self) -> dict[str, float]:
        return {case: sum(logs) / len(logs) for case, logs in self.logs.items()}

    def size(self) -> float:
        """The size of the mean in percent."""
        by_case = self.by_case()
        return abs(100 * math.expm1(sum(by_case.values()) / len(by_case))) if by_case else 0.0

    def text(self, digits: int = 3) -> str:
        """Percentages; empty if nothing changed."""
        by_case = self.by_case()
        if not any(by_case.values()):
            return ""
        worst = max(by_case, key=by_case.get)
        best = min(by_case, key=by_case.get)
        extremes = [f"{case}: {percent(by_case[case], digits)}" for case, sign in ((worst, 1), (best, -1))
                    if sign * by_case[case] > 0]
        return f"{percent(sum(by_case.values()) / len(by_case), digits)} ({', '.join(extremes)})"


@dataclass(frozen=True)
class Effect:
    """A cell of the table, and the largest mean change in percent; infinite if a plan or a proof was lost or won."""

    text: str
    size: float


def effect(changes: tuple[Change, ...], parts: list[str], others: list[str], joint: str) -> Effect:
    return Effect(joint.join([*parts, *others]) or "0", math.inf if others else max(each.size() for each in changes))


def percent(log: float, digits: int = 3) -> str:
    return f"{100 * math.expm1(log):+.{digits}f}"


def counted(count: int, what: str) -> list[str]:
    return [f"{count} {what}"] if count else []


def rating_change(before: dict, after: dict) -> Effect:
    """Compares ratings; null is a search that found no plan."""
    change, lost, won = Change(), 0, 0
    for case, ratings in before.items():
        for old, new in zip(ratings, after[case]):
            if old is None or new is None:
                lost += new is None and old is not None
                won += old is None and new is not None
                continue
            change.add(case, old, new)
    others = counted(lost, "without a plan") + counted(won, "more with a plan")
    return effect((change,), [change.text()] if change.text() else [], others, " ")


def outcome_change(before: dict, after: dict) -> Effect:
    """Compares the work of proved searches and the costs of the others."""
    cost, work, lost, won = Change(), Change(), 0, 0
    for case, outcomes in before.items():
        for old, new in zip(outcomes, after[case]):
            if old["proved"] and new["proved"]:
                work.add(case, old["work"], new["work"])
                continue
            lost += old["proved"] and not new["proved"]
            won += new["proved"] and not old["proved"]
            if old["cost"] is not None and new["cost"] is not None:
                cost.add(case, old["cost"], new["cost"])
    parts = [f"{name} {change.text()}" for name, change in (("cost", cost), ("work", work)) if change.text()]
    return effect((cost, work), parts, counted(lost, "not proved") + counted(won, "more proved"), "; ")


def proof_change(before: dict, after: dict) -> Effect:
    """Compares the work of finished proofs and the gaps of the others."""
    work, gap, lost, won, refused = Change(), Change(), [], [], []
    for case, outcomes in before.items():
        for old, new in zip(outcomes, after[case]):
            if not new["accepted"]:
                refused.append(case)
            if old["proved"] and new["proved"]:
                work.add(case, old["work"], new["work"])
            elif old["proved"] or new["proved"]:
                (lost if old["proved"] else won).append(case)
            else:
                gap.add(case, old["gap"], new["gap"])
    parts = [f"{name} {change.text(1)}" for name, change in (("work", work), ("gap", gap)) if change.text()]
    others = [f"{', '.join(cases)} {what}" for cases, what in
              ((lost, "no longer proved"), (won, "proved too"), (refused, "refused by the check")) if cases]
    return effect((work, gap), parts, others, "; ")


@dataclass(frozen=True)
class Domain:
    """What is measured, and where its parameters are declared."""

    name: str
    cases: tuple[str, ...]
    work: int
    seeds: int
    headers: tuple[Path, ...]
    listing: str  # the file that must name every member of the headers
    compare: Callable[[dict, dict], Effect]
    is_random: bool = True  # seeds matter
    floor: float = 0.0  # where they do not: parameters whose mean change in percent is above this have a row

    @property
    def marks(self) -> tuple[str, str]:
        return f"<!-- table: {self.name} -->", f"<!-- end of table: {self.name} -->"

    def declared(self) -> set[str]:
        """The members with a default in the headers, without those that a caller sets."""
        return {name for header in self.headers
                for name in MEMBER.findall(SETTINGS.sub("", header.read_text(encoding="utf-8")))}


PROOF_PARAMETERS = (repository.ROOT / "search/embedding/bound/bound_parameters.h",)


def headers(folder: str, *others: str) -> tuple[Path, ...]:
    return (*sorted((repository.ROOT / folder).glob("*_parameters.h")), *(repository.ROOT / other for other in others))


DOMAINS = {domain.name: domain for domain in (
    Domain("embedding", ("09", "20", "23", "29", "31", "36", "40"), 3_000_000, 3,
           tuple(header for header in headers("search/embedding/best",
                                              "search/embedding/model/priced_choices.h")
                 if header not in PROOF_PARAMETERS),
           "best_parameter_list.cc", rating_change),
    Domain("proof", ("05", "09", "16", "20", "22", "23", "30", "31", "36"), 40_000_000, 1, PROOF_PARAMETERS,
           "proof_parameter_list.cc", proof_change, is_random=False, floor=5.0),
    Domain("operators", ("resnet", "narrow", "wide", "dense", "sparse", "large"), 200_000_000, 2,
           headers("search/operators/solve"), "solver_parameter_list.cc", outcome_change))}


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, help="build folder (default: build/perf, build/release)")
    parser.add_argument("--domain", choices=tuple(DOMAINS), default="embedding", help="default: %(default)s")
    parser.add_argument("--case", action="append", help="repeatable (default: those of the table)")
    parser.add_argument("--work", type=int, help="work limit of a search (default: that of the table)")
    parser.add_argument("--seeds", type=int, help="searches per case (default: those of the table)")
    parser.add_argument("--only", action="append", help="parameters whose name begins like this; repeatable")
    parser.add_argument("--jobs", type=int, default=1, help="measurements at once (default: %(default)s)")
    parser.add_argument("--update", action="store_true", help=f"write the table into {TABLE.name}")
    return parser.parse_args(arguments)


def ask(driver: Path, *arguments: str) -> object:
    done = subprocess.run([str(driver), *arguments], cwd=repository.ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise TrackError(f"{driver.name} {' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def table(options: argparse.Namespace) -> str:
    domain = DOMAINS[options.domain]
    driver = repository.program("parameters", options.build)
    cases, work = options.case or domain.cases, options.work or domain.work
    seeds = (options.seeds or domain.seeds) if domain.is_random else 1
    fixed = [f"--domain={domain.name}", *(f"--case={case}" for case in cases), f"--work={work}"]
    common = [*fixed, f"--seeds={seeds}"]
    known = ask(driver, f"--domain={domain.name}", "--list")
    missing = domain.declared() - {parameter["name"].split(".")[-1] for parameter in known}
    if missing:
        raise TrackError(f"perf/parameters/{domain.listing} lacks {', '.join(sorted(missing))}")
    parameters = [parameter for parameter in known
                  if not options.only or parameter["name"].startswith(tuple(options.only))]
    twice = ask(driver, *fixed, f"--seeds={2 * seeds}")
    before = {case: found[:seeds] for case, found in twice.items()}
    other_seeds = {case: found[seeds:] for case, found in twice.items()}
    runs = [(parameter["name"], factor) for parameter in parameters for factor in FACTORS]
    with ThreadPoolExecutor(options.jobs) as pool:
        after = dict(zip(runs, pool.map(
            lambda run: ask(driver, *common, f"--scale={run[0]}", f"--factor={run[1]}"), runs)))
    drawn = f" {seeds} seeds;" if domain.is_random else ""
    lines = [f"Cases {', '.join(cases)};{drawn} {work:,} units of work each.", "",
             "| parameter | default | halved: change in % | doubled: change in % |", "|---|---|---|---|"]
    floor = domain.floor
    if domain.is_random:
        noise = domain.compare(before, other_seeds)
        lines.append(f"| nothing, other seeds | | {noise.text} | |")
        floor = 2 * noise.size
    small, without = [], []
    for parameter in parameters:
        halved, doubled = (domain.compare(before, after[parameter["name"], factor]) for factor in FACTORS)
        if max(halved.size, doubled.size) > floor or options.only:
            lines.append(f"| {parameter['name']} | {parameter['value']} | {halved.text} | {doubled.text} |")
        else:
            (without if halved.text == doubled.text == "0" else small).append(parameter["name"])
    than = "twice that of other seeds" if domain.is_random else f"{floor:g} %"
    lines += ["", *named(f"Smaller effect than {than}", small), "", *named("No effect in these cases", without)]
    return "\n".join(lines)


def named(what: str, names: list[str]) -> list[str]:
    return textwrap.wrap(f"{what}: {', '.join(names) or 'none'}.", WIDTH, break_on_hyphens=False)


def update(domain: Domain, text: str) -> None:
    begin, end = domain.marks
    page = TABLE.read_text(encoding="utf-8")
    head, rest = page.split(begin, 1)
    _, tail = rest.split(end, 1)
    TABLE.write_text(f"{head}{begin}\n{text}\n{end}{tail}", encoding="utf-8")


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    try:
        text = table(options)
        if options.update:
            update(DOMAINS[options.domain], text)
        print(text)
        return 0
    except TrackError as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
