"""Products of groups of rows, each group with the matrix of an expert, for a rank that has some of the experts.

Rows are sorted by group, and offsets [groups] are where groups end. A rank brings the rows of its groups
to the front, since the kernels skip rows behind the last offset. Where its rows end is not read.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

import torch

from .pieces import Piece

_aten = torch.ops.aten
Pieces = Sequence["Piece | None"]
Function = Callable[..., Any]
# Operators of the package transformers, which need not be there, for dtypes that torch's has no kernel of.
FALLBACK = "transformers.grouped_mm_fallback.default"
FALLBACK_BACKWARD = "transformers.grouped_mm_fallback_backward.default"
# Torch's kernel takes rows that begin at a multiple of so many bytes.
ALIGNMENT = 16


def is_rows_times_groups(shapes: Sequence[Sequence[int]]) -> bool:
    """[rows, k] times [groups, k, n]; otherwise [k, rows] times [rows, n], which gives [groups, k, n]."""
    return [len(shape) for shape in shapes[:2]] == [2, 3]


class _Rows:
    """The rows of the groups of a piece. `rows` are those of all groups."""

    def __init__(self, offsets: torch.Tensor, groups: Piece, rows: int) -> None:
        start, stop = groups.start[0], groups.start[0] + groups.shape[0]
        first = offsets[start - 1] if start else offsets.new_zeros(())
        positions = torch.arange(rows, device=offsets.device)
        self.offsets = offsets[start:stop] - first
        self._order = (positions + first) % rows
        self._back = (positions - first) % rows
        self._is_other = ((positions < first) | (positions >= offsets[stop - 1])).unsqueeze(1)

    def first(self, tensor: torch.Tensor) -> torch.Tensor:
        """The tensor with these rows at the front."""
        return tensor[self._order]

    def back(self, tensor: torch.Tensor) -> torch.Tensor:
        """The tensor with its rows at their places again, and 0 in others."""
        return tensor[self._back].masked_fill(self._is_other, 0)


def _product(op: Any, groups: Piece) -> Function:
    def function(tensor: torch.Tensor, weight: torch.Tensor, offsets: torch.Tensor, *rest: Any
                 ) -> torch.Tensor:
        if weight.shape[0] == 0:
            return tensor.new_zeros((tensor.shape[0], weight.shape[2]))
        own = _Rows(offsets, groups, tensor.shape[0])
        return own.back(op(own.first(tensor), weight, own.offsets, *rest))
    return function


def _weights_gradient(op: Any, groups: Piece) -> Function:
    """A transposed tensor keeps its strides, which the kernel has demands on."""
    def function(left: torch.Tensor, right: torch.Tensor, offsets: torch.Tensor, *rest: Any
                 ) -> torch.Tensor:
        if groups.shape[0] == 0:
            return left.new_zeros((0, left.shape[0], right.shape[1]))
        own = _Rows(offsets, groups, right.shape[0])
        return op(own.first(left.t()).t(), own.first(right), own.offsets, *rest)
    return function


def _fallback_backward(op: Any, groups: Piece) -> Function:
    def function(tensor: torch.Tensor, weight: torch.Tensor, offsets: torch.Tensor,
                 gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if weight.shape[0] == 0:
            return torch.zeros_like(tensor), torch.zeros_like(weight)
        own = _Rows(offsets, groups, tensor.shape[0])
        of_tensor, of_weight = op(own.first(tensor), weight, own.offsets, own.first(gradient))
        return own.back(of_tensor), of_weight
    return function


def is_grouped(op: Any) -> bool:
    return op is _aten._grouped_mm.default or str(op) in (FALLBACK, FALLBACK_BACKWARD)


def grouped(op: Any, inputs: Pieces, outputs: Pieces) -> Function | None:
    """The function with the operator's arguments for a rank that has some of the groups; None if it has
    all of them, or for other operators.
    """
    if not is_grouped(op):
        return None
    shapes = [piece.shape for piece in inputs if piece is not None]
    if str(op) == FALLBACK_BACKWARD:
        function_of, groups = _fallback_backward, inputs[1]
    elif is_rows_times_groups(shapes):
        function_of, groups = _product, inputs[1]
    else:
        function_of, groups = _weights_gradient, outputs[0]
    return function_of(op, groups) if groups is not None and groups.is_cut(0) else None
