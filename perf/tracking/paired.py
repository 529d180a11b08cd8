"""Decides whether one of two programs is slower, from runs in alternation on a noisy machine.

A single time on a shared machine says little: two runs of one program have differed by a third. So the programs
run as A B A B ..., and each pair gives a ratio. A verdict needs three things: the median ratio exceeds the effect
floor, it exceeds the variation of A against itself in the same run, and chance does not explain it (a bootstrap
interval and a sign test).
"""

from __future__ import annotations

import math
import random
import statistics
from dataclasses import dataclass
from typing import Sequence

# Effects below this are not worth a verdict.
FLOOR = 0.03
SIGNIFICANCE = 0.05
CONFIDENCE = 0.99
RESAMPLES = 2000
# With fewer pairs the sign test cannot be significant: 2 / 2^6 < 0.05 <= 2 / 2^5.
MIN_PAIRS = 6


@dataclass(frozen=True)
class Comparison:
    """B against A. `ratio` > 1 = B takes longer; `spread` = the effect that A shows against itself, as a ratio - 1."""

    verdict: str  # faster, slower, same, unstable
    ratio: float
    low: float
    high: float
    spread: float
    p_value: float
    pairs: int

    def text(self) -> str:
        return (f"{(self.ratio - 1) * 100:+.1f} % [{(self.low - 1) * 100:+.1f}, {(self.high - 1) * 100:+.1f}], "
                f"A/A {self.spread * 100:.1f} %, p {self.p_value:.3f}, {self.pairs} pairs")


def sign_test(logs: Sequence[float]) -> float:
    """Returns the two-sided probability of such an uneven split of signs by chance, without zeros."""
    positive = sum(1 for value in logs if value > 0)
    negative = sum(1 for value in logs if value < 0)
    count, larger = positive + negative, max(positive, negative)
    if count == 0:
        return 1.0
    tail = sum(math.comb(count, k) for k in range(larger, count + 1)) / 2 ** count
    return min(1.0, 2 * tail)


def bootstrap_medians(values: Sequence[float], seed: int = 1) -> list[float]:
    """Medians of resamples, sorted. The same values give the same medians."""
    source = random.Random(seed)
    return sorted(statistics.median(source.choices(values, k=len(values))) for _ in range(RESAMPLES))


def quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, max(0, round(share * (len(ordered) - 1))))]


def self_spread(values: Sequence[float]) -> float:
    """Returns how far from 1 the median ratio of A's successive runs is in 19 of 20 resamples, as a logarithm."""
    logs = [math.log(after / before) for before, after in zip(values, values[1:])]
    if not logs:
        return math.inf
    return quantile(sorted(abs(value) for value in bootstrap_medians(logs, seed=2)), 0.95)


def compare(a: Sequence[float], b: Sequence[float], floor: float = FLOOR) -> Comparison:
    """Judges runs in alternation: a[i] and b[i] are a pair. Precondition: all times are above zero."""
    pairs = min(len(a), len(b))
    logs = [math.log(b[i] / a[i]) for i in range(pairs)]
    middle = statistics.median(logs)
    medians = bootstrap_medians(logs)
    low, high = quantile(medians, (1 - CONFIDENCE) / 2), quantile(medians, (1 + CONFIDENCE) / 2)
    spread, p_value, least = self_spread(a[:pairs]), sign_test(logs), math.log1p(floor)
    effect = abs(middle)
    if spread > max(effect, least):
        verdict = "unstable"
    elif effect < least:
        verdict = "same"
    elif pairs >= MIN_PAIRS and p_value <= SIGNIFICANCE and not low <= 0 <= high:
        verdict = "slower" if middle > 0 else "faster"
    else:
        verdict = "unstable"
    return Comparison(verdict, math.exp(middle), math.exp(low), math.exp(high),
                      math.expm1(spread) if math.isfinite(spread) else math.inf, p_value, pairs)
