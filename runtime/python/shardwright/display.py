"""Shows plans as HTML in notebooks and as plots with matplotlib."""

from __future__ import annotations

import importlib
from html import escape
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Sequence

if TYPE_CHECKING:
    from .result import PlanResult

_MOST_TABLES = 20
_MOST_ROWS = 100
_PART_LABELS = ("forward compute", "forward comms", "backward compute", "backward comms",
                "prefetch")


def gib(size: int) -> str:
    return f"{size / 2**30:.3g} GiB"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = ["<table><thead><tr>", *(f"<th>{escape(name)}</th>" for name in head),
             "</tr></thead><tbody>"]
    for row in rows:
        lines.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>")
    lines.append("</tbody></table>")
    return "".join(lines)


def table(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows with equal keys as HTML, the first `_MOST_ROWS` of them."""
    head = list(rows[0]) if rows else []
    cells = ([f"{row[name]:.6g}" if isinstance(row.get(name), float) else str(row.get(name, ""))
              for name in head] for row in rows[:_MOST_ROWS])
    more = len(rows) - _MOST_ROWS
    return _table(head, cells) + (f"<p>and {more} more</p>" if more > 0 else "")


def html(result: PlanResult) -> str:
    """Rating, ranks and the most expensive tables as HTML, or why there is no plan."""
    if result.failure is not None:
        return f"<p><b>No plan.</b> {escape(result.failure.message)}</p>"
    head = f"<b>{result.rating:.6g}</b> by the slowest rank ({result.mode} mode)"
    if result.lower_bound is not None and result.gap is not None:
        head += (f"; no plan rates below {result.lower_bound:.6g}: "
                 f"at most {result.gap:.3%} from optimal")
    ranks = _table(
        ("rank", "total ms", "HBM used", "HBM available"),
        ((str(load.rank), f"{load.total_ms:.4g}", gib(load.hbm), gib(load.available_hbm))
         for load in result.ranks))
    ordered = sorted(result.tables, key=lambda table: -table.total_ms)
    tables = _table(
        ("table", "sharding", "kernel", "shards", "HBM", "total ms"),
        ((table.table, table.sharding_type, table.compute_kernel, str(len(table.shards)),
          gib(table.hbm), f"{table.total_ms:.4g}") for table in ordered[:_MOST_TABLES]))
    more = len(ordered) - _MOST_TABLES
    rest = f"<p>and {more} more tables</p>" if more > 0 else ""
    return (f"<div><p>{head}</p><details open><summary>Ranks</summary>{ranks}</details>"
            f"<details open><summary>Tables, the most expensive first</summary>{tables}{rest}"
            "</details></div>")


def plot_ranks(result: PlanResult, ax: Any = None) -> Any:
    """Draws the times of every rank in ms as stacked bars, and the used part of its HBM as points.

    Returns the axes. Raises NoPlanError without a plan, and ImportError without matplotlib.
    """
    loads = result.ranks
    if ax is None:
        pyplot = importlib.import_module("matplotlib.pyplot")
        _, ax = pyplot.subplots(figsize=(max(6.0, 0.25 * len(loads)), 4.0))
    ranks = [load.rank for load in loads]
    bottom = [0.0] * len(loads)
    for part, label in enumerate(_PART_LABELS):
        heights = [load.perf[part] for load in loads]
        ax.bar(ranks, heights, bottom=bottom, label=label)
        bottom = [low + height for low, height in zip(bottom, heights)]
    ax.set_xlabel("rank")
    ax.set_ylabel("ms")
    memory = ax.twinx()
    memory.plot(ranks, [load.hbm / load.available_hbm if load.available_hbm else 0.0
                        for load in loads], "k.", label="HBM used")
    memory.set_ylim(0, 1)
    memory.set_ylabel("part of the HBM")
    ax.legend(loc="lower right", fontsize="small")
    if result.lower_bound is not None:
        ax.axhline(result.lower_bound, linestyle="--", linewidth=1)
    ax.set_title(f"rating {result.rating:.6g} ({result.mode} mode)")
    return ax
