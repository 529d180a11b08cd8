"""What can be measured: a build of this project, or any planner command."""

from __future__ import annotations

import gzip
import json
import os
import shlex
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Protocol

from . import repository
from .errors import TrackError

# (case, metric) -> value. Metrics end in their unit.
Figures = dict[tuple[str, str], float]

CASES = repository.ROOT / "tests" / "golden" / "embedding" / "cases"
WORKLOADS = repository.ROOT / "tests" / "golden" / "workloads"

# The names of times in a command's answer; the first one that is present counts.
_TIMES = {
    "enumerate_s": ("enumerate_s",),
    "explore_s": ("explore_s", "loop_s"),
    "total_s": ("total_s", "plan_total_s"),
}


def unit_of(metric: str) -> str:
    """The unit that a metric's name ends in."""
    for ending, unit in (("_s", "s"), ("_ns", "ns"), ("per_placed_shard", "ns"), ("_bytes", "bytes"),
                         ("rating", "rating")):
        if metric.endswith(ending):
            return unit
    return ""


class Planner(Protocol):
    """Plans cases and reports what it took."""

    def run(self, cases: list[str]) -> Figures: ...


def problem_text(case: str) -> str:
    """A problem file for `case`: a golden case by number or name, WORKLOAD@RANKS, or a path."""
    if "/" in case or case.endswith((".json", ".gz")):
        path = Path(case)
        raw = path.read_bytes()
        return (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode()
    name, at, ranks = case.partition("@")
    if at:
        path = WORKLOADS / f"{name}.json.gz"
        if not path.is_file() or not ranks.isdigit():
            raise TrackError(f"case {case}: expected WORKLOAD@RANKS with a workload of {WORKLOADS}")
        problem = json.loads(gzip.decompress(path.read_bytes()))
        problem["topology"] = {"world_size": int(ranks), "local_world_size": min(int(ranks), 8), "hbm_cap": 80 << 30}
        return json.dumps(problem)
    found = sorted(path for path in CASES.glob(f"{case}*.json.gz")
                   if path.name[:-8] == case or path.name.startswith(case + "_"))
    if not found:
        raise TrackError(f"case {case}: no golden case has this name or number")
    return gzip.decompress(found[0].read_bytes()).decode()


class CommandPlanner:
    """A command line with {problem} and {out}; the answer is read from {out}, else from standard output."""

    def __init__(self, template: str, timeout_s: float = 3600) -> None:
        if "{problem}" not in template:
            raise TrackError(f"--command needs {{problem}} where the problem's path goes: {template}")
        self._template = template
        self._timeout_s = timeout_s

    def run(self, cases: list[str]) -> Figures:
        figures: Figures = {}
        for case in cases:
            with tempfile.TemporaryDirectory() as folder:
                problem = Path(folder) / "problem.json"
                problem.write_text(problem_text(case), encoding="utf-8")
                for metric, value in self._run_one(case, problem, Path(folder) / "out.json").items():
                    figures[(case, metric)] = value
        return figures

    def _run_one(self, case: str, problem: Path, out: Path) -> dict[str, float]:
        places = {"problem": str(problem), "out": str(out)}
        words = [word.format_map(places) for word in shlex.split(self._template)]
        begin = time.perf_counter()
        with tempfile.TemporaryFile() as told:
            try:
                process = subprocess.Popen(words, cwd=repository.ROOT, stdout=told, stderr=subprocess.DEVNULL)
            except OSError as error:
                raise TrackError(f"cannot run {words[0]}: {error.strerror}") from None
            # wait4 gives the memory of this child alone.
            _, status, usage = os.wait4(process.pid, 0)
            wall = time.perf_counter() - begin
            process.returncode = os.waitstatus_to_exitcode(status)
            told.seek(0)
            text = out.read_text(encoding="utf-8") if out.is_file() else told.read().decode("utf-8", "replace")
        if process.returncode not in (0, 3):  # 3 = no plan fits
            raise TrackError(f"case {case}: the command ended with {process.returncode}: {shlex.join(words)}")
        figures = {"wall_s": wall, "peak_bytes": float(usage.ru_maxrss) * 1024}
        return {**figures, **_answer_figures(text)}


def _answer_figures(text: str) -> dict[str, float]:
    """Returns times and rating of an answer, as far as it has them."""
    try:
        answer: Any = json.loads(text)
    except json.JSONDecodeError:
        return {}
    if not isinstance(answer, dict):
        return {}
    figures = {}
    timing = answer.get("timing") or {}
    for metric, names in _TIMES.items():
        for name in names:
            if isinstance(timing.get(name), (int, float)):
                figures[metric] = float(timing[name])
                break
    if isinstance(answer.get("best_rating"), (int, float)):
        figures["best_rating"] = float(answer["best_rating"])
    return figures


class BuildPlanner:
    """perf_plan_cases of a build folder, every case in a process of its own."""

    _METRICS = ("enumerate_s", "explore_s", "total_s", "peak_bytes", "ns_per_placed_shard", "best_rating")

    def __init__(self, build: Path | None, arguments: list[str]) -> None:
        self._program = repository.program("macro", build)
        self._arguments = arguments

    def run(self, cases: list[str]) -> Figures:
        return {(document["name"], metric): float(document[metric]) for document in self.documents(cases)
                for metric in self._METRICS if document.get(metric) is not None}

    def documents(self, cases: list[str], repeat: int = 1) -> list[dict[str, Any]]:
        """Returns what the program prints about each case; no cases = its own list."""
        command = [str(self._program), "--repeat", str(repeat), *self._arguments]
        for case in cases:
            command += ["--case", case]
        done = subprocess.run(command, cwd=repository.ROOT, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise TrackError(f"{self._program.name} ended with {done.returncode}: {done.stderr.strip()}")
        return list(json.loads(done.stdout)["cases"])


class MicroPlanner:
    """perf_micro of a build folder; cases are Google Benchmark filters."""

    def __init__(self, build: Path | None) -> None:
        self._program = repository.program("micro", build)

    def run(self, cases: list[str]) -> Figures:
        command = [str(self._program), "--benchmark_format=json", "--benchmark_min_time=0.1"]
        if cases:
            command.append(f"--benchmark_filter={'|'.join(cases)}")
        done = subprocess.run(command, cwd=repository.ROOT, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise TrackError(f"{self._program.name} ended with {done.returncode}: {done.stderr.strip()}")
        figures: Figures = {}
        for bench in json.loads(done.stdout)["benchmarks"]:
            scale = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[bench["time_unit"]]
            figures[(bench["name"], "cpu_ns")] = bench["cpu_time"] * scale
            for counter in ("per_shard", "per_proposal"):
                if counter in bench:
                    figures[(bench["name"], f"{counter}_ns")] = bench[counter] * 1e9
        return figures
