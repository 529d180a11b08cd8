"""Products of groups of rows, each group with the matrix of an expert, for a rank that has some of the experts.

Rows are sorted by group, and offsets [groups] are where groups end. A rank brings the rows of its groups
to the front, since the kernels skip rows behind the last offset. Where its rows end is not read.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Sequence

import torch
from torch import Tensor

from .pieces import Piece

_aten = torch.ops.aten
Pieces = Sequence["Piece | None"]
Function = Callable[..., Any]
# Operators of the package transformers, if installed, for dtypes that torch's kernel does not take.
FALLBACK = "transformers.grouped_mm_fallback.default"
FALLBACK_BACKWARD = "transformers.grouped_mm_fallback_backward.default"
# In bytes. Torch's kernel takes matrices whose rows begin at multiples of this.
ALIGNMENT = 16


def is_rows_times_groups(shapes: Sequence[Sequence[int]]) -> bool:
    """[rows, k] times [groups, k, n]; otherwise [k, rows] times [rows, n], which gives [groups, k, n]."""
    return [len(shape) for shape in shapes[:2]] == [2, 3]


def _aligned(matrix: Tensor) -> Tensor:
    """The same numbers, with rows or columns that begin where torch's kernel takes them."""
    def fits(tensor: Tensor) -> bool:
        return any(tensor.stride(near) == 1 and tensor.stride(far) * tensor.itemsize % ALIGNMENT == 0
                   for near, far in ((-1, -2), (-2, -1)))

    if fits(matrix):
        return matrix
    by_rows = matrix.contiguous()
    return by_rows if fits(by_rows) else matrix.mT.contiguous().mT


def _torchs(left: Tensor, right: Tensor, *rest: Any, **keywords: Any) -> Tensor:
    """Torch's operator. A piece that was moved may lack the strides that the operator needs."""
    return _aten._grouped_mm.default(_aligned(left), _aligned(right), *rest, **keywords)


class _Rows:
    """The rows of the groups of a piece. `rows` are those of all groups."""

    def __init__(self, offsets: Tensor, groups: Piece, rows: int) -> None:
        start, stop = groups.start[0], groups.start[0] + groups.shape[0]
        first = offsets[start - 1] if start else offsets.new_zeros(())
        positions = torch.arange(rows, device=offsets.device)
        self.offsets = offsets[start:stop] - first
        self._order = (positions + first) % rows
        self._back = (positions - first) % rows
        self._is_other = ((positions < first) | (positions >= offsets[stop - 1])).unsqueeze(1)

    def first(self, tensor: Tensor) -> Tensor:
        """The tensor with these rows at the front."""
        return tensor[self._order]

    def back(self, tensor: Tensor) -> Tensor:
        """The tensor with its rows at their places again, and 0 in others."""
        return tensor[self._back].masked_fill(self._is_other, 0)


def _product(op: Function, groups: Piece, tensor: Tensor, weight: Tensor,
             offsets: Tensor, *rest: Any) -> Tensor:
    if weight.shape[0] == 0:
        return tensor.new_zeros((tensor.shape[0], weight.shape[2]))
    own = _Rows(offsets, groups, tensor.shape[0])
    return own.back(op(own.first(tensor), weight, own.offsets, *rest))


def _weights_gradient(op: Function, groups: Piece, left: Tensor, right: Tensor,
                      offsets: Tensor, *rest: Any) -> Tensor:
    if groups.shape[0] == 0:
        return left.new_zeros((0, left.shape[0], right.shape[1]))
    own = _Rows(offsets, groups, right.shape[0])
    return op(own.first(left.mT).mT, own.first(right), own.offsets, *rest)


def _fallback_backward(op: Function, groups: Piece, tensor: Tensor, weight: Tensor, offsets: Tensor,
                       gradient: Tensor) -> tuple[Tensor, Tensor]:
    if weight.shape[0] == 0:
        return torch.zeros_like(tensor), torch.zeros_like(weight)
    own = _Rows(offsets, groups, tensor.shape[0])
    of_tensor, of_weight = op(own.first(tensor), weight, own.offsets, own.first(gradient))
    return own.back(of_tensor), of_weight


def is_grouped(op: Any) -> bool:
    return op is _aten._grouped_mm.default or str(op) in (FALLBACK, FALLBACK_BACKWARD)


def grouped(op: Any, inputs: Pieces, outputs: Pieces) -> Function | None:
    """The function with the operator's arguments for a rank that may have some of the groups only; None
    where it is the operator itself, and for other operators.
    """
    if not is_grouped(op):
        return None
    call = _torchs if op is _aten._grouped_mm.default else op
    function: Function = _weights_gradient
    groups = outputs[0]
    if str(op) == FALLBACK_BACKWARD:
        function, groups = _fallback_backward, inputs[1]
    elif is_rows_times_groups([piece.shape for piece in inputs if piece is not None]):
        function, groups = _product, inputs[1]
    if groups is not None and groups.is_cut(0):
        return partial(function, call, groups)
    return None if call is op else call
