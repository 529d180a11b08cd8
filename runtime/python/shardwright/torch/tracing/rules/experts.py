"""Entries of products of groups of rows, each with the matrix of an expert (see ../grouped.py)."""

from __future__ import annotations

from ..calls import Call
from ..grouped import ALIGNMENT, is_rows_times_groups
from .entries import PARTIAL, REPLICATE as R, Entry


def _divides(extent: int, itemsize: int) -> int | None:
    """Pieces of an extent begin at multiples of the alignment."""
    size = extent * itemsize
    return size // ALIGNMENT if size % ALIGNMENT == 0 and size > ALIGNMENT else None


def grouped_mm(call: Call) -> list[Entry] | None:
    """The experts, columns of the result, and what is summed over; of a gradient of the matrices,
    the experts, rows and columns. None for other arguments than two tensors and offsets.
    """
    if len(call.inputs) != 3 or any(dict(call.kwargs).values()):
        return None
    left, right = (meta.shape for meta in call.inputs[:2])
    itemsize = call.inputs[0].dtype.itemsize
    if is_rows_times_groups((left, right)):
        entries = [Entry((PARTIAL,), (R, "S0", R)), *_aligned(("S1",), (R, "S2", R), right[2], itemsize),
                   *_aligned((PARTIAL,), ("S1", "S1", R), right[1], itemsize)]
    elif (len(left), len(right)) == (2, 2):
        entries = [Entry(("S0",), (R, R, R)), *_aligned(("S1",), ("S0", R, R), left[0], itemsize),
                   *_aligned(("S2",), (R, "S1", R), right[1], itemsize)]
    else:
        return None
    return entries


def _aligned(outputs: tuple[str, ...], inputs: tuple[str, ...], extent: int, itemsize: int
             ) -> list[Entry]:
    divides = _divides(extent, itemsize)
    return [] if divides is None else [Entry(outputs, inputs, divides)]


def fallback(call: Call) -> list[Entry]:
    return [Entry((PARTIAL,), (R, "S0", R)), Entry(("S1",), (R, "S2", R)),
            Entry((PARTIAL,), ("S1", "S1", R))]


def fallback_backward(call: Call) -> list[Entry]:
    """Rows [rows, k], matrices [groups, k, n], offsets and gradient [rows, n]; the gradients of the
    first two.
    """
    return [Entry((PARTIAL, "S0"), (R, "S0", R, R)), Entry((PARTIAL, "S2"), (R, "S2", R, "S1")),
            Entry(("S1", "S1"), ("S1", "S1", R, R))]
