"""Runs two planners in alternation and judges every figure that both report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

from . import paired
from .judge import BAD, judge_rating
from .planners import Figures, Planner, unit_of
from .results import MEMORY, RATING


@dataclass(frozen=True)
class Outcome:
    """The verdict on one figure."""

    case: str
    metric: str
    verdict: str
    text: str

    @property
    def failed(self) -> bool:
        return self.verdict in BAD


def _judge(case: str, metric: str, a: list[float], b: list[float], floor: float) -> Outcome:
    unit = unit_of(metric)
    if unit == RATING:
        return Outcome(case, metric, judge_rating(a[-1], b[-1]), f"{a[-1]:.17g} -> {b[-1]:.17g}")
    if min(*a, *b) <= 0:
        return Outcome(case, metric, "same" if a == b else "unstable", "zero in some runs")
    comparison = paired.compare(a, b, max(floor, 0.05) if unit in MEMORY else floor)
    return Outcome(case, metric, comparison.verdict, comparison.text())


def alternate(a: Planner, b: Planner, cases: list[str], pairs: int, floor: float = paired.FLOOR,
              progress: Callable[[str], None] = lambda text: None) -> list[Outcome]:
    """A B A B ..., `pairs` times, after one run of each that does not count."""
    samples: tuple[dict[tuple[str, str], list[float]], ...] = ({}, {})
    for turn in range(-1, pairs):
        for side, planner in enumerate((a, b)):
            progress(f"pair {turn + 1} of {pairs}, {'AB'[side]}")
            figures: Figures = planner.run(cases)
            if turn < 0:
                continue
            for key, value in figures.items():
                samples[side].setdefault(key, []).append(value)
    return [_judge(*key, samples[0][key], samples[1][key], floor) for key in samples[0] if key in samples[1]]
