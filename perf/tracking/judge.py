"""Verdicts on two result files, figure by figure."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

from . import baseline
from .fingerprint import differences
from .results import COUNTS, RATING, TIMES, Key, Measurement, Results

# The noise of separate runs differs, so only a large change is a hint.
TIME_FLOOR = 0.10
MEMORY_FLOOR = 0.05

BAD = ("slower", "worse", "gone")


@dataclass(frozen=True)
class Judged:
    """One figure in A and B. `verdict`: faster, slower, same, unstable, better, worse, new, gone, not comparable."""

    key: Key
    unit: str
    old: float | None
    new: float | None
    verdict: str
    note: str = ""

    @property
    def change(self) -> str:
        if not self.old or self.new is None:
            return ""
        return f"{(self.new / self.old - 1) * 100:+.2f} %"


def _spread(measurement: Measurement) -> float:
    """Returns the spread of the samples relative to their median; 0 for a single one."""
    numbers = measurement.numbers()
    if len(numbers) < 2 or not statistics.median(numbers):
        return 0.0
    return (max(numbers) - min(numbers)) / statistics.median(numbers) / math.sqrt(len(numbers))


def _by_floor(old: float, new: float, floor: float) -> str:
    if new > old * (1 + floor):
        return "slower"
    return "faster" if new * (1 + floor) < old else "same"


def _judge_time(a: Measurement, b: Measurement, old: float, new: float) -> tuple[str, str]:
    verdict = _by_floor(old, new, TIME_FLOOR)
    spread = max(_spread(a), _spread(b))
    if old and spread > max(TIME_FLOOR, abs(new / old - 1)):
        return "unstable", f"samples are {spread * 100:.0f} % apart"
    return verdict, "two runs: a hint" if verdict != "same" else ""


def judge_rating(old: float | None, new: float | None) -> str:
    """Any rise of a rating is worse, and so is a plan that is no longer found."""
    if old == new:
        return "same"
    if new is None or (old is not None and new > old):
        return "worse"
    return "better"


def _judge_pair(a: Measurement, b: Measurement, same_build: bool, same_machine: bool) -> tuple[str, str]:
    old, new = a.value, b.value
    if a.unit == RATING:
        return judge_rating(old, new), ""
    if old is None or new is None:
        return "not comparable", "no value"
    if a.unit in COUNTS:
        if not same_build:
            return "not comparable", "fingerprints differ"
        floor = baseline.REGION_TOLERANCE if a.unit == "instructions" else baseline.ALLOCATION_TOLERANCE
        if a.case == "total":
            floor = baseline.TOTAL_TOLERANCE
        return _by_floor(old, new, floor), ""
    if not same_machine:
        return "not comparable", "machines differ"
    if a.unit in TIMES:
        return _judge_time(a, b, old, new)
    return _by_floor(old, new, MEMORY_FLOOR), ""


def judge(a: Results, b: Results) -> list[Judged]:
    """Judges every figure of A, then those that only B has."""
    old, new = a.by_key(), b.by_key()
    same_build = not differences(a.fingerprint, b.fingerprint)
    same_machine = a.machine == b.machine
    judged = []
    for key, before in old.items():
        after = new.get(key)
        if after is None:
            judged.append(Judged(key, before.unit, before.value, None, "gone"))
            continue
        verdict, note = _judge_pair(before, after, same_build, same_machine)
        judged.append(Judged(key, before.unit, before.value, after.value, verdict, note))
    judged += [Judged(key, after.unit, None, after.value, "new") for key, after in new.items() if key not in old]
    return judged
