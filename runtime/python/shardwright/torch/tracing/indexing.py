"""Operators that look up or write positions of a dimension, for a rank that has a part of these positions.

A lookup gives 0 on the ranks that do not have the position, so the sum over the ranks is right. A
rank leaves out what is written to positions that it does not have.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Callable, Sequence

import torch
from torch import Tensor

from .pieces import Piece

_aten = torch.ops.aten
Pieces = Sequence["Piece | None"]
Function = Callable[..., Tensor]


@dataclass(frozen=True)
class _Part:
    """A rank's part of the dimension in which indices count."""

    dim: int
    start: int
    length: int

    def find(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        """(positions in the part, which of the indices point elsewhere). Their positions are 0."""
        local = indices - self.start
        outside = (local < 0) | (local >= self.length)
        return local.masked_fill(outside, 0), outside

    def find_in_list(self, indices: Tensor, dims: int) -> tuple[Tensor, Tensor]:
        """The same for a list of indices in one of `dims` dimensions; the mask has these
        dimensions.
        """
        local, outside = self.find(indices)
        return local, outside.view([-1, *[1] * (dims - self.dim - 1)])


def _embedding(part: _Part, weight: Tensor, indices: Tensor, *_: Any) -> Tensor:
    if part.length == 0:
        return weight.new_zeros((*indices.shape, weight.shape[1]))
    local, outside = part.find(indices)
    return _aten.embedding.default(weight, local).masked_fill(outside.unsqueeze(-1), 0)


def _embedding_backward(part: _Part, gradient: Tensor, indices: Tensor, rows: int,
                        padding: int, scale_by_frequency: bool) -> Tensor:
    """Rows elsewhere count as the padding's, whose gradient is 0, in an additional row at the end.
    """
    local, outside = part.find(indices)
    local = local.masked_fill(outside | (indices == padding), part.length)
    return _aten.embedding_dense_backward.default(
        gradient, local, part.length + 1, part.length, scale_by_frequency)[:part.length]


def _gather(part: _Part, tensor: Tensor, _: int, indices: Tensor, *rest: Any) -> Tensor:
    if part.length == 0:
        return tensor.new_zeros(indices.shape)
    local, outside = part.find(indices)
    return _aten.gather.default(tensor, part.dim, local).masked_fill(outside, 0)


def _scatter_add(part: _Part, tensor: Tensor, _: int, indices: Tensor, source: Tensor) -> Tensor:
    if part.length == 0:
        return tensor.clone()
    local, outside = part.find(indices)
    return _aten.scatter_add.default(tensor, part.dim, local, source.masked_fill(outside, 0))


def _index_select(part: _Part, tensor: Tensor, dim: int, indices: Tensor) -> Tensor:
    if part.length == 0:
        return tensor.new_zeros((*tensor.shape[:part.dim], indices.shape[0],
                                 *tensor.shape[part.dim + 1:]))
    local, outside = part.find_in_list(indices, tensor.dim())
    return _aten.index_select.default(tensor, part.dim, local).masked_fill(outside, 0)


def _index_add(part: _Part, tensor: Tensor, _: int, indices: Tensor,
               source: Tensor, **scale: Any) -> Tensor:
    if part.length == 0:
        return tensor.clone()
    local, outside = part.find_in_list(indices, tensor.dim())
    return _aten.index_add.default(tensor, part.dim, local, source.masked_fill(outside, 0), **scale)


# By operator: the function, the argument that names the dimension (None: it is dimension 0), and
# whether output 0 has the dimension; otherwise input 0 has it.
_INDEXED: dict[Any, tuple[Function, int | None, bool]] = {
    _aten.embedding.default: (_embedding, None, False),
    _aten.embedding_dense_backward.default: (_embedding_backward, None, True),
    _aten.gather.default: (_gather, 1, False), _aten.scatter_add.default: (_scatter_add, 1, False),
    _aten.index_select.default: (_index_select, 1, False),
    _aten.index_add.default: (_index_add, 1, False),
}


def indexed(op: Any, args: tuple[Any, ...], inputs: Pieces, outputs: Pieces) -> Function | None:
    """The function with the operator's arguments for a rank that has a part of the dimension that the
    indices count in; None if it has all of it, or for other operators.
    """
    if op not in _INDEXED:
        return None
    function, argument, is_output = _INDEXED[op]
    piece = (outputs if is_output else inputs)[0]
    if piece is None or not piece.whole:
        return None
    dim = 0 if argument is None else args[argument] % len(piece.whole)
    if not piece.is_cut(dim):
        return None
    return partial(function, _Part(dim, piece.start[dim], piece.shape[dim]))
