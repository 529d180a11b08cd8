"""The suites, as measurements."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import counted, repository
from .planners import BuildPlanner, CommandPlanner, Figures, MicroPlanner, Planner, unit_of
from .results import Measurement

SUITES = ("macro", "micro", "instr", "quality")

# Without --case, a foreign command plans these small cases, which a slow planner can finish.
COMMAND_CASES = ["09", "20", "22", "36"]


@dataclass
class Request:
    """What a call of `run` measures."""

    build: Path | None = None
    command: str | None = None
    cases: list[str] = field(default_factory=list)
    repeat: int = 3
    threads: int = 1
    work_limit: int | None = None

    def macro_arguments(self) -> list[str]:
        arguments = ["--threads", str(self.threads)]
        if self.work_limit is not None:
            arguments += ["--work-limit", str(self.work_limit)]
        return arguments


def _collect(suite: str, planner: Planner, cases: list[str], repeat: int) -> list[Measurement]:
    """Runs all cases `repeat` times in turn, so that a slow minute of the machine does not hit one case alone."""
    samples: dict[tuple[str, str], list[float | None]] = {}
    for _ in range(repeat):
        figures: Figures = planner.run(cases)
        for key, value in figures.items():
            samples.setdefault(key, []).append(value)
    return [Measurement(suite, case, metric, unit_of(metric), values) for (case, metric), values in samples.items()]


def _macro(request: Request, notes: dict[str, Any]) -> list[Measurement]:
    if request.command:
        notes["command"] = request.command
        return _collect("macro", CommandPlanner(request.command), request.cases or COMMAND_CASES, request.repeat)
    planner = BuildPlanner(request.build, request.macro_arguments())
    measurements = []
    for document in planner.documents(request.cases, request.repeat):
        case = document["name"]
        for metric in ("enumerate_s", "explore_s", "total_s"):
            measurements.append(Measurement("macro", case, metric, "s", document["samples"][metric]))
        for metric in ("peak_bytes", "ns_per_placed_shard", "best_rating"):
            if metric in document:
                measurements.append(Measurement("macro", case, metric, unit_of(metric), [document[metric]]))
        notes.setdefault("torchrec", {})[case] = {
            key: document[key] for key in ("loop_ratio", "enumerate_ratio", "torchrec", "num_proposals",
                                           "work_steps", "threads") if key in document}
    return measurements


def _instr(request: Request) -> list[Measurement]:
    counts = counted.measure_regions(repository.program("instr", request.build), request.cases or None)
    measurements = []
    for region, each in counts.items():
        measurements += [
            Measurement("instr", region, "instructions", "instructions", [each.instructions]),
            Measurement("instr", region, "allocations", "allocations", [each.allocations]),
            Measurement("instr", region, "allocated_bytes", "allocated_bytes", [each.bytes])]
    if not request.cases:
        total = sum(each.instructions for each in counts.values())
        measurements.append(Measurement("instr", "total", "instructions", "instructions", [total]))
    return measurements


def _quality(request: Request) -> list[Measurement]:
    ratings = counted.measure_quality(repository.program("quality", request.build))
    return [Measurement("quality", case, "best_rating", "rating", [rating]) for case, rating in ratings.items()]


def run(suite: str, request: Request, notes: dict[str, Any]) -> list[Measurement]:
    """Returns the measurements of one suite. Other facts about the run go into `notes`."""
    if suite == "macro":
        return _macro(request, notes)
    if suite == "micro":
        return _collect("micro", MicroPlanner(request.build), request.cases, request.repeat)
    return _instr(request) if suite == "instr" else _quality(request)
