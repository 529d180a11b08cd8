"""The repository: its builds and its revision."""

from __future__ import annotations

import subprocess
from pathlib import Path

from .errors import TrackError

ROOT = Path(__file__).resolve().parents[2]
BASELINE = ROOT / "perf" / "baselines" / "instr.json"
HISTORY = ROOT / "perf" / "baselines" / "history.jsonl"

# Programs by suite, below a build folder.
PROGRAMS = {
    "instr": "perf/instr/perf_instr",
    "quality": "perf/instr/perf_instr",
    "copies": "perf/instr/perf_plan_copies",
    "macro": "perf/macro/perf_plan_cases",
    "micro": "perf/micro/perf_micro",
    "parameters": "perf/parameters/perf_parameters",
}
_BUILDS = ("build/perf", "build/release")


def program(suite: str, build: Path | None = None) -> Path:
    """Returns the program of a suite in `build`, or in the first usual build folder that has it."""
    folders = [build] if build else [ROOT / name for name in _BUILDS]
    for folder in folders:
        path = folder / PROGRAMS[suite]
        if path.is_file():
            return path.resolve()
    looked = ", ".join(str(folder) for folder in folders)
    raise TrackError(
        f"no {PROGRAMS[suite]} in {looked}; build it with `cmake --preset perf && cmake --build build/perf`, "
        "or name a build folder with --build")


def revision() -> str:
    """The commit that is checked out, with `+` where files differ from it; empty outside git."""
    try:
        commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, check=True,
                                capture_output=True, text=True).stdout.strip()
        changed = subprocess.run(["git", "status", "--porcelain", "--untracked-files=no"], cwd=ROOT, check=True,
                                 capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
    return commit + ("+" if changed else "")
