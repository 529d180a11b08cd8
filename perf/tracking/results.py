"""Result files: what was measured, where, when and on what."""

from __future__ import annotations

import datetime
import json
import statistics
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Iterable

from . import fingerprint, repository
from .errors import TrackError

FORMAT = "shardwright.perf.results/1"

# Units say how a figure is judged.
TIMES = ("s", "ns")
COUNTS = ("instructions", "allocations", "allocated_bytes")
MEMORY = ("bytes",)
RATING = "rating"

Key = tuple[str, str, str]


@dataclass
class Measurement:
    """One figure of one case; smaller is better. A rating is None if no plan was found."""

    suite: str
    case: str
    metric: str
    unit: str
    samples: list[float | None]

    @property
    def key(self) -> Key:
        return (self.suite, self.case, self.metric)

    @property
    def value(self) -> float | None:
        numbers = self.numbers()
        return statistics.median(numbers) if numbers else None

    def numbers(self) -> list[float]:
        return [sample for sample in self.samples if sample is not None]


@dataclass
class Results:
    """A run of one or more suites."""

    measurements: list[Measurement] = field(default_factory=list)
    date: str = ""
    revision: str = ""
    machine: dict[str, str] = field(default_factory=dict)
    fingerprint: dict[str, str] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)

    def by_key(self) -> dict[Key, Measurement]:
        return {measurement.key: measurement for measurement in self.measurements}

    def document(self) -> dict[str, Any]:
        return {"format": FORMAT, **asdict(self)}


def stamped(measurements: Iterable[Measurement], driver: Path | None, notes: dict[str, Any]) -> Results:
    """Results with the date, revision and machine of now."""
    return Results(list(measurements),
                   datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
                   repository.revision(), fingerprint.machine(),
                   fingerprint.take(driver) if driver else {}, notes)


def parse(text: str, origin: str) -> Results:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise TrackError(f"{origin}: {error}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise TrackError(f"{origin}: not a result file (format must be {FORMAT!r}); make one with `perf/track run`")
    try:
        measurements = [Measurement(**each) for each in document["measurements"]]
        return Results(measurements, document["date"], document["revision"], document["machine"],
                       document["fingerprint"], document.get("notes", {}))
    except (KeyError, TypeError) as error:
        raise TrackError(f"{origin}: incomplete result file: {error}") from None


def load(path: Path) -> Results:
    try:
        return parse(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise TrackError(f"{path}: {error.strerror}") from None


def save(results: Results, path: Path) -> None:
    path.write_text(json.dumps(results.document(), indent=1) + "\n", encoding="utf-8")
