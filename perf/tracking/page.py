"""The history as one self-contained HTML page, which is readable without its script."""

from __future__ import annotations

import html
from collections import Counter
from dataclasses import dataclass
from typing import Sequence

from . import judge
from .page_assets import SCRIPT, STYLE
from .results import Key, Measurement, Results

_WIDTH, _HEIGHT, _MARGIN = 220, 44, 4
_CLASSES = {"faster": "good", "better": "good", "slower": "bad", "worse": "bad", "gone": "bad", "unstable": "odd",
            "not comparable": "odd", "new": "odd", "same": "same"}


@dataclass(frozen=True)
class Point:
    """One run of one figure."""

    label: str
    value: float


def number(value: float | None, unit: str) -> str:
    """A rounded figure; the exact one is in its title."""
    if value is None:
        return "none"
    if unit == "s":
        return f"{value:.3g} s" if value >= 1 else f"{value * 1e3:.4g} ms"
    if unit == "ns":
        return f"{value:,.4g} ns"
    if unit == "bytes":
        return f"{value / (1 << 20):,.1f} MiB"
    return f"{value:,.0f}" if value == int(value) and abs(value) < 1e15 else f"{value:.6g}"


def _plot(points: Sequence[Point], unit: str) -> str:
    """An inline SVG trend; every run has a title."""
    if len(points) < 2:
        return '<span class="quiet">one run</span>'
    values = [point.value for point in points]
    low, high = min(values), max(values)
    span = high - low or abs(high) or 1.0
    step = (_WIDTH - 2 * _MARGIN) / (len(points) - 1)
    places = [(_MARGIN + i * step, _HEIGHT - _MARGIN - (value - low) / span * (_HEIGHT - 2 * _MARGIN))
              for i, value in enumerate(values)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5"><title>{html.escape(point.label)}: '
        f"{html.escape(number(point.value, unit))}</title></circle>"
        for (x, y), point in zip(places, points))
    summary = f"{len(points)} runs, from {number(values[0], unit)} to {number(values[-1], unit)}"
    return (f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" role="img" '
            f'aria-label="{html.escape(summary)}"><polyline points="{line}"/>{dots}</svg>')


def _series(runs: Sequence[Results]) -> dict[Key, list[Point]]:
    series: dict[Key, list[Point]] = {}
    for run in runs:
        label = " ".join(part for part in (run.date, run.revision) if part)
        for measurement in run.measurements:
            if measurement.value is not None:
                series.setdefault(measurement.key, []).append(Point(label, measurement.value))
    return series


def _verdicts(runs: Sequence[Results], suites: set[str]) -> dict[Key, judge.Judged]:
    """Compares the latest run of every suite with the previous run of the same suite."""
    verdicts: dict[Key, judge.Judged] = {}
    for suite in suites:
        having = [run for run in runs if any(each.suite == suite for each in run.measurements)]
        if len(having) < 2:
            continue
        for judged in judge.judge(having[-2], having[-1]):
            if judged.key[0] == suite:
                verdicts[judged.key] = judged
    return verdicts


def _cell(text: str, order: float | str | None = None, kind: str = "", title: str = "") -> str:
    attributes = f' class="{kind}"' if kind else ""
    if order is not None:
        attributes += f' data-order="{html.escape(str(order))}"'
    if title:
        attributes += f' title="{html.escape(title)}"'
    return f"<td{attributes}>{text}</td>"


def _row(latest: Measurement, points: Sequence[Point], judged: judge.Judged | None) -> str:
    verdict = judged.verdict if judged else "first run"
    kind = _CLASSES.get(verdict, "same")
    previous = judged.old if judged else None
    note = judged.note if judged else ""
    change = judged.change if judged else ""
    order = 0.0 if not judged or not judged.old or judged.new is None else judged.new / judged.old - 1
    cells = [_cell(html.escape(part)) for part in latest.key]
    cells.append(_cell(html.escape(number(latest.value, latest.unit)), latest.value or 0, "number", repr(latest.value)))
    cells.append(_cell(html.escape(number(previous, latest.unit)) if judged else "", previous or 0, "number"))
    cells.append(_cell(html.escape(change), order, "number"))
    cells.append(_cell(f'<span class="verdict {kind}">{html.escape(verdict)}</span>', verdict, "", note))
    cells.append(_cell(_plot(points, latest.unit)))
    return f"<tr>{''.join(cells)}</tr>"


def _summary(verdicts: dict[Key, judge.Judged]) -> str:
    counts = Counter(judged.verdict for judged in verdicts.values())
    if not counts:
        return "<p>Nothing to compare yet: every suite has run once.</p>"
    parts = "".join(f'<li><span class="verdict {_CLASSES.get(name, "same")}">{html.escape(name)}</span> {count}</li>'
                    for name, count in sorted(counts.items()))
    return f'<ul class="summary">{parts}</ul>'


def render(runs: Sequence[Results], title: str = "Performance") -> str:
    """The page for `runs`, oldest first. Precondition: at least one."""
    newest: dict[Key, Measurement] = {}
    for run in runs:
        newest.update(run.by_key())
    verdicts = _verdicts(runs, {key[0] for key in newest})
    series = _series(runs)
    rows = "\n".join(_row(latest, series.get(key, []), verdicts.get(key)) for key, latest in newest.items())
    heads = "".join(f'<th scope="col"><button type="button">{name}</button></th>'
                    for name in ("Suite", "Case", "Metric", "Latest", "Before", "Change", "Verdict", "Trend"))
    last = runs[-1]
    about = ", ".join(f"{name}: {value}" for name, value in {**last.machine, **last.fingerprint}.items())
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>{html.escape(title)}</h1>
<p>{len(runs)} runs; the latest of {html.escape(last.date)} at {html.escape(last.revision or "an unknown revision")}.
Verdicts compare the latest run of a suite with the one before it; smaller is better everywhere.</p>
<p class="quiet">{html.escape(about)}</p>
{_summary(verdicts)}
<p><label>Show rows with <input type="search" id="filter" placeholder="explore slower"></label></p>
<table>
<thead><tr>{heads}</tr></thead>
<tbody>
{rows}
</tbody>
</table>
<script>{SCRIPT}</script>
</body>
</html>
"""
