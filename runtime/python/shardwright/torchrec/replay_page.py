"""The page of a replay: one HTML file that loads nothing else."""

from __future__ import annotations

import math
from html import escape
from typing import Any, Mapping, Sequence

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 60em; padding: 0 1em; color: #222; background: #fff }
table { border-collapse: collapse } th, td { padding: .2em .8em; text-align: right; border-bottom: 1px solid #ddd }
th:first-child, td:first-child { text-align: left } svg { max-width: 100%; height: auto }
figure { margin: 1.5em 0 } text { font: 12px system-ui, sans-serif; fill: currentColor }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #181818 } th, td { border-color: #444 } }
"""
_WIDTH, _HEIGHT, _MARGIN = 560, 400, 56
_BINS = tuple(edge / 100 for edge in range(-100, 101, 10))
_MOST_ROWS = 200


def page(answer: Mapping[str, Any]) -> str:
    about, names = answer["replay"], [name for name in ("ranks", "tables") if answer[name]]
    source = "measured costs" if about["predicted_by"] == "machine" else "TorchRec's constants"
    parts = [f"<h1>Replay of {escape(about['name'] or 'a plan')}</h1>",
             f"<p>{len(answer['ranks'])} of {about['ranks']} ranks on {escape(about['device'])}, {about['date']}. "
             f"Predictions are those of {source}; communication is in neither. Tables run with {about['scale_rows']:g} "
             "of their rows, alone; ranks run all of their tables.</p>", _errors(answer, names)]
    for name in names:
        parts += [f"<h2>{name.capitalize()}</h2>", _scatter(answer[name]), _histogram(answer[name]),
                  _list(answer[name], name)]
    return (f"<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Replay</title><style>{_STYLE}</style>"
            f"<body>{''.join(parts)}</body></html>\n")


def _errors(answer: Mapping[str, Any], names: Sequence[str]) -> str:
    rows = []
    for name in names:
        own = answer["errors"][name]
        order = "" if own["rank_correlation"] is None else f"{own['rank_correlation']:.3f}"
        rows.append([name, str(own["count"]), f"{own['median']:.1%}", f"{own['p90']:.1%}", order])
    return _table(["", "count", "median error", "p90", "correlation of order"], rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return ("<table><thead><tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in head)
            + f"</tr></thead><tbody>{body}</tbody></table>")


def _list(rows: Sequence[Mapping[str, Any]], name: str) -> str:
    slowest = sorted(rows, key=lambda row: -row["measured_ms"])[:_MOST_ROWS]
    left_out = f"<p>{len(rows) - len(slowest)} faster ones are left out.</p>" if len(slowest) < len(rows) else ""
    return _table([name[:-1], "kind", "predicted ms", "measured ms", "forward", "backward", "spread"],
                  [[_label(row), _what(row), f"{row['predicted_ms']:.3f}", f"{row['measured_ms']:.3f}",
                    *(" / ".join(f"{time:.3f}" for time in row[name]) for name in ("forward_ms", "backward_ms")),
                    f"{row['spread']:.0%}"] for row in slowest]) + left_out


def _label(row: Mapping[str, Any]) -> str:
    return f"{row['table']} on {row['rank']}" if "table" in row else f"rank {row['rank']}"


def _what(row: Mapping[str, Any]) -> str:
    if "table" not in row:
        return f"{row['calls']} calls"
    return f"{row['sharding_type']} {row['compute_kernel']} {row['size'][0]} x {row['size'][1]}"


def _scatter(rows: Sequence[Mapping[str, Any]]) -> str:
    """Predicted over measured, both axes logarithmic; the line is where they are equal."""
    shown = [row for row in rows if row["measured_ms"] > 0 and row["predicted_ms"] > 0]
    times = [row[key] for row in shown for key in ("measured_ms", "predicted_ms")] or [1.0]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    high = max(high, low + 1)
    scale = (_WIDTH - 2 * _MARGIN) / (high - low), (_HEIGHT - 2 * _MARGIN) / (high - low)

    def at(x_ms: float, y_ms: float) -> tuple[float, float]:
        return (_MARGIN + (math.log10(x_ms) - low) * scale[0], _HEIGHT - _MARGIN - (math.log10(y_ms) - low) * scale[1])

    marks = []
    for power in range(low, high + 1):
        x, y = at(10 ** power, 10 ** power)
        marks.append(f'<text x="{x:.0f}" y="{_HEIGHT - _MARGIN + 18}" text-anchor="middle">{10 ** power:g}</text>'
                     f'<text x="{_MARGIN - 6}" y="{y + 4:.0f}" text-anchor="end">{10 ** power:g}</text>')
    begin, end = at(10 ** low, 10 ** low), at(10 ** high, 10 ** high)
    marks.append(f'<line x1="{begin[0]:.0f}" y1="{begin[1]:.0f}" x2="{end[0]:.0f}" y2="{end[1]:.0f}" stroke="gray"/>')
    for row in shown:
        x, y = at(row["measured_ms"], row["predicted_ms"])
        marks.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="#06c" fill-opacity=".5"><title>'
                     f'{escape(_label(row))}: {row["predicted_ms"]:.3f} ms predicted, {row["measured_ms"]:.3f} ms measured'
                     '</title></circle>')
    return _figure(_HEIGHT, marks, "Measured ms (across) and predicted ms (up).")


def _histogram(rows: Sequence[Mapping[str, Any]]) -> str:
    off = [row["predicted_ms"] / row["measured_ms"] - 1 for row in rows if row["measured_ms"] > 0]
    counts = [0] * (len(_BINS) + 1)
    for error in off:
        counts[sum(error >= edge for edge in _BINS)] += 1
    width, height = (_WIDTH - 2 * _MARGIN) / len(counts), 150
    marks = []
    for number, count in enumerate(counts):
        tall = (height - 30) * count / max(counts)
        said = f"below {_BINS[0]:+.0%}" if number == 0 else f"from {_BINS[number - 1]:+.0%}"
        marks.append(f'<rect x="{_MARGIN + number * width + 1:.1f}" y="{height - tall:.1f}" width="{width - 2:.1f}" '
                     f'height="{tall:.1f}" fill="#06c"><title>{said}: {count}</title></rect>')
    for number, edge in enumerate(_BINS):
        if number % 5 == 0:
            marks.append(f'<text x="{_MARGIN + (number + 1) * width:.0f}" y="{height + 16}" '
                         f'text-anchor="middle">{edge:+.0%}</text>')
    return _figure(height + 24, marks, "Errors of predictions: how many, by size.")


def _figure(height: int, marks: Sequence[str], caption: str) -> str:
    return (f'<figure><svg viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" role="img">{"".join(marks)}</svg>'
            f"<figcaption>{caption}</figcaption></figure>")
