"""Makes perf/ importable and gives the tests their inputs."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path
from types import ModuleType

PERF = Path(__file__).resolve().parents[2] / "perf"
for folder in (PERF, PERF / "macro"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from tracking.results import Measurement, Results  # noqa: E402


def load_script(path: Path) -> ModuleType:
    """A script as a module, under a name of its own."""
    spec = importlib.util.spec_from_file_location(f"script_{path.stem}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def noisy(seed: int, count: int, center: float, noise: float, disturbed: float = 0.1) -> list[float]:
    """Run times with lognormal noise; a share of them is disturbed by other work on the machine."""
    source = random.Random(seed)
    return [center * source.lognormvariate(0, noise) * (1.5 if source.random() < disturbed else 1) for _ in range(count)]


def results(date: str = "2026-01-01", **values: list[float | None]) -> Results:
    """Results of the macro suite; a figure's name is case__metric."""
    measurements = []
    for name, samples in values.items():
        case, _, metric = name.partition("__")
        unit = {"instructions": "instructions", "best_rating": "rating", "peak_bytes": "bytes"}.get(metric, "s")
        measurements.append(Measurement("macro", case, metric, unit, samples))
    return Results(measurements, date, "abc", {"processor": "p"}, {"compiler": "c"})
