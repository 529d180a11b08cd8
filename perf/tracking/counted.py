"""Figures that repeat exactly: instructions and allocations by region, ratings at a fixed work budget."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import TrackError
from .repository import ROOT

# The function inside which callgrind collects; perf/instr/main.cc.
_COLLECT = "shardwright_measured_region"
_SCRATCH = "/tmp"


@dataclass(frozen=True)
class Counts:
    """The counts of one region."""

    instructions: int
    allocations: int
    bytes: int


def have_valgrind() -> bool:
    return shutil.which("valgrind") is not None


def _fixed_layout() -> list[str]:
    """Returns the prefix that switches address randomisation off, if that is allowed."""
    setarch = shutil.which("setarch")
    if not setarch:
        return []
    prefix = [setarch, platform.machine(), "-R"]
    tried = subprocess.run([*prefix, "/bin/true"], capture_output=True, check=False)
    return prefix if tried.returncode == 0 else []


def _ask(driver: Path, *arguments: str) -> Any:
    done = subprocess.run([str(driver), *arguments], cwd=ROOT, env={}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise TrackError(f"{driver.name} {' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def list_regions(driver: Path) -> dict[str, str]:
    """Name to description, in the order of a planning run."""
    return {region["name"]: region["what"] for region in _ask(driver, "--list")}


def _measure_region(driver: Path, region: str, prefix: list[str], folder: Path) -> Counts:
    out = folder / f"{region}.callgrind"
    command = [*prefix, shutil.which("valgrind") or "valgrind", "--tool=callgrind", f"--toggle-collect={_COLLECT}",
               f"--callgrind-out-file={out.resolve()}", str(driver), "--region", region]
    # An empty environment: its size moves the stack, and its contents influence libraries.
    done = subprocess.run(command, cwd=ROOT, env={}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or [""]
        raise TrackError(f"region {region}: callgrind ended with {done.returncode}: {last[0]}")
    totals = re.search(r"^(?:totals|summary): (\d+)", out.read_text(encoding="utf-8"), re.MULTILINE)
    if not totals or int(totals.group(1)) == 0:
        raise TrackError(f"region {region}: callgrind collected nothing; is {_COLLECT} in {driver}?")
    told = json.loads(done.stdout)
    return Counts(int(totals.group(1)), told["allocations"], told["bytes"])


def measure_regions(driver: Path, regions: list[str] | None = None, jobs: int = 0,
                    keep: Path | None = None) -> dict[str, Counts]:
    """Runs every region by itself under callgrind, `jobs` at once; keeps the profiles in `keep`."""
    if not have_valgrind():
        raise TrackError("valgrind is not installed (Debian package: valgrind)")
    known = list(list_regions(driver))
    for region in regions or []:
        if region not in known:
            raise TrackError(f"there is no region {region}; there are {', '.join(known)}")
    prefix = _fixed_layout()
    names = regions or known
    with tempfile.TemporaryDirectory(dir=_SCRATCH if os.path.isdir(_SCRATCH) else None) as scratch:
        # A program's path is on its stack. With a path of fixed length, everything below keeps its address.
        copy = Path(shutil.copy2(driver, scratch))
        folder = keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
            counts = pool.map(lambda name: _measure_region(copy, name, prefix, folder), names)
            return dict(zip(names, counts))


def measure_quality(driver: Path) -> dict[str, float | None]:
    """Best rating by case and work budget; None if no plan was found."""
    return dict(_ask(driver, "--quality"))
