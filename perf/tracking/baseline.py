"""The committed baseline of counted figures: reading, judging against it, raising it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .counted import Counts
from .errors import TrackError
from .fingerprint import Fingerprint

FORMAT = "shardwright.perf.instr/1"

# How far a figure may rise before the check fails.
REGION_TOLERANCE = 0.02
TOTAL_TOLERANCE = 0.005
ALLOCATION_TOLERANCE = 0.01


@dataclass
class Baseline:
    """The figures that were last accepted."""

    fingerprint: Fingerprint
    regions: dict[str, Counts]
    quality: dict[str, float | None]
    reason: str = ""

    @property
    def total(self) -> int:
        return sum(counts.instructions for counts in self.regions.values())


@dataclass
class Judgement:
    """One figure beside its baseline. `verdict`: same, better, worse, new, gone."""

    name: str
    unit: str
    old: float | None
    new: float | None
    verdict: str
    note: str = ""

    @property
    def failed(self) -> bool:
        return self.verdict in ("worse", "new", "gone")

    @property
    def change(self) -> str:
        if self.old is None or self.new is None or not self.old:
            return ""
        return f"{(self.new / self.old - 1) * 100:+.2f} %"


@dataclass
class Report:
    """The judgements of one check."""

    judgements: list[Judgement] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        return any(judgement.failed for judgement in self.judgements)

    def text(self, everything: bool = True) -> str:
        shown = [each for each in self.judgements if everything or each.verdict != "same"]
        width = max((len(each.name) for each in shown), default=0)
        lines = []
        for each in shown:
            numbers = " -> ".join("none" if value is None else f"{value:,.17g}" for value in (each.old, each.new))
            tail = " ".join(part for part in (each.unit, each.change, each.note) if part)
            lines.append(f"{each.verdict:<6}  {each.name:<{width}}  {numbers}  {tail}".rstrip())
        return "\n".join(lines)


def _judge(name: str, unit: str, old: float | None, new: float | None, tolerance: float) -> Judgement:
    if old is None and new is not None:
        return Judgement(name, unit, old, new, "new", "(not in the baseline: run update)")
    if new is None and old is not None:
        return Judgement(name, unit, old, new, "gone", "(in the baseline only: run update)")
    assert old is not None and new is not None
    if new - old > tolerance * old:
        return Judgement(name, unit, old, new, "worse", f"(allowed: +{tolerance * 100:g} %)")
    return Judgement(name, unit, old, new, "better" if old - new > tolerance * old else "same")


def judge_regions(old: Baseline, regions: dict[str, Counts], partial: bool = False) -> Report:
    """Every figure of every region, and the total if all regions were measured."""
    report = Report()
    names = [*old.regions, *(name for name in regions if name not in old.regions)]
    for name in names:
        if partial and name not in regions:
            continue
        before, after = old.regions.get(name), regions.get(name)
        for unit, tolerance in (("instructions", REGION_TOLERANCE), ("allocations", ALLOCATION_TOLERANCE),
                                ("bytes", ALLOCATION_TOLERANCE)):
            report.judgements.append(_judge(f"{name}.{unit}", "", getattr(before, unit, None),
                                            getattr(after, unit, None), tolerance))
    if not partial and set(old.regions) == set(regions):
        total = sum(counts.instructions for counts in regions.values())
        report.judgements.append(_judge("total.instructions", "", old.total, total, TOTAL_TOLERANCE))
    return report


def with_regions(old: dict[str, Counts], measured: dict[str, Counts], order: list[str]) -> dict[str, Counts]:
    """Returns the old regions with the measured ones in their place, in the given order; unlisted ones come last."""
    merged = {**old, **measured}
    listed = {name: merged[name] for name in order if name in merged}
    return {**listed, **merged}


def judge_quality(old: dict[str, float | None], new: dict[str, float | None]) -> Report:
    """Any rise of a rating fails, and so does a plan that is no longer found."""
    report = Report()
    for name in [*old, *(name for name in new if name not in old)]:
        before, after = old.get(name), new.get(name)
        verdict, note = "same", ""
        if name not in new:
            verdict, note = "gone", "(in the baseline only: run update)"
        elif name not in old:
            verdict, note = "new", "(not in the baseline: run update)"
        elif before != after:
            worse = after is None or (before is not None and after > before)
            verdict = "worse" if worse else "better"
        report.judgements.append(Judgement(f"rating {name}", "", before, after, verdict, note))
    return report


def load(path: Path) -> Baseline:
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TrackError(f"{path} does not exist; make it with `perf/instr/run.py update --reason ...`") from None
    except json.JSONDecodeError as error:
        raise TrackError(f"{path}: {error}") from None
    if document.get("format") != FORMAT:
        raise TrackError(f"{path}: format is {document.get('format')!r}, expected {FORMAT!r}")
    regions = {name: Counts(**counts) for name, counts in document["regions"].items()}
    return Baseline(document["fingerprint"], regions, document["quality"], document.get("reason", ""))


def save(path: Path, baseline: Baseline) -> None:
    document = {
        "format": FORMAT,
        "reason": baseline.reason,
        "fingerprint": baseline.fingerprint,
        "total": baseline.total,
        "regions": {name: asdict(counts) for name, counts in baseline.regions.items()},
        "quality": baseline.quality,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
