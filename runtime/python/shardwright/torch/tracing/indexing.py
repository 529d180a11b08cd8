"""Operators that look up or write positions of a dimension, for a rank that has a part of these positions.

What is looked up is 0 on the ranks that do not have it, so the sum over the ranks is right. What is
written elsewhere is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Sequence

import torch

from .pieces import Piece

_aten = torch.ops.aten
Pieces = Sequence["Piece | None"]
Function = Callable[..., torch.Tensor]


def _own(indices: torch.Tensor, start: int, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(positions in the piece, which of them are in it). Positions elsewhere are 0."""
    local = indices - start
    inside = (local >= 0) & (local < length)
    return torch.where(inside, local, 0), inside


def _embedding(dim: int, piece: Piece) -> Function:
    start, length = piece.start[0], piece.shape[0]

    def function(weight: torch.Tensor, indices: torch.Tensor, *_: Any) -> torch.Tensor:
        if length == 0:
            return weight.new_zeros((*indices.shape, weight.shape[1]))
        local, inside = _own(indices, start, length)
        return _aten.embedding.default(weight, local).masked_fill(~inside.unsqueeze(-1), 0)
    return function


def _embedding_backward(dim: int, piece: Piece) -> Function:
    """Rows elsewhere count as the padding's, whose gradient is 0, in a row of their own at the end."""
    start, length = piece.start[0], piece.shape[0]

    def function(gradient: torch.Tensor, indices: torch.Tensor, rows: int, padding: int,
                 scale_by_frequency: bool) -> torch.Tensor:
        local, inside = _own(indices, start, length)
        local = torch.where(inside & (indices != padding), local, length)
        return _aten.embedding_dense_backward.default(
            gradient, local, length + 1, length, scale_by_frequency)[:length]
    return function


def _gather(dim: int, piece: Piece) -> Function:
    start, length = piece.start[dim], piece.shape[dim]

    def function(tensor: torch.Tensor, _: int, indices: torch.Tensor, *rest: Any) -> torch.Tensor:
        if length == 0:
            return tensor.new_zeros(indices.shape)
        local, inside = _own(indices, start, length)
        return _aten.gather.default(tensor, dim, local).masked_fill(~inside, 0)
    return function


def _scatter_add(dim: int, piece: Piece) -> Function:
    start, length = piece.start[dim], piece.shape[dim]

    def function(tensor: torch.Tensor, _: int, indices: torch.Tensor, source: torch.Tensor
                 ) -> torch.Tensor:
        if length == 0:
            return tensor.clone()
        local, inside = _own(indices, start, length)
        return _aten.scatter_add.default(tensor, dim, local, source.masked_fill(~inside, 0))
    return function


def _outside(inside: torch.Tensor, dims: int, dim: int) -> torch.Tensor:
    """For a tensor of so many dimensions, in one of which a list of indices counts."""
    return (~inside).view([-1, *[1] * (dims - dim - 1)])


def _index_select(dim: int, piece: Piece) -> Function:
    start, length = piece.start[dim], piece.shape[dim]

    def function(tensor: torch.Tensor, _: int, indices: torch.Tensor) -> torch.Tensor:
        if length == 0:
            return tensor.new_zeros((*tensor.shape[:dim], indices.shape[0], *tensor.shape[dim + 1:]))
        local, inside = _own(indices, start, length)
        return _aten.index_select.default(tensor, dim, local).masked_fill(_outside(inside, tensor.dim(), dim), 0)
    return function


def _index_add(dim: int, piece: Piece) -> Function:
    start, length = piece.start[dim], piece.shape[dim]

    def function(tensor: torch.Tensor, _: int, indices: torch.Tensor, source: torch.Tensor,
                 **scale: Any) -> torch.Tensor:
        if length == 0:
            return tensor.clone()
        local, inside = _own(indices, start, length)
        own = source.masked_fill(_outside(inside, tensor.dim(), dim), 0)
        return _aten.index_add.default(tensor, dim, local, own, **scale)
    return function


@dataclass(frozen=True)
class _Indexed:
    function: Callable[[int, Piece], Function]  # of the dimension, for a piece of the tensor that has it
    argument: int | None = None  # that names the dimension; otherwise it is dimension 0
    is_output: bool = False  # output 0 has the dimension; otherwise input 0


_INDEXED = {
    _aten.embedding.default: _Indexed(_embedding),
    _aten.embedding_dense_backward.default: _Indexed(_embedding_backward, is_output=True),
    _aten.gather.default: _Indexed(_gather, 1), _aten.scatter_add.default: _Indexed(_scatter_add, 1),
    _aten.index_select.default: _Indexed(_index_select, 1),
    _aten.index_add.default: _Indexed(_index_add, 1),
}


def indexed(op: Any, args: tuple[Any, ...], inputs: Pieces, outputs: Pieces) -> Function | None:
    """The function with the operator's arguments for a rank that has a part of the dimension that the
    indices count in; None if it has all of it, or for other operators.
    """
    own = _INDEXED.get(op)
    piece = None if own is None else (outputs if own.is_output else inputs)[0]
    if own is None or piece is None or not piece.whole:
        return None
    dim = 0 if own.argument is None else args[own.argument] % len(piece.whole)
    return own.function(dim, piece) if piece.is_cut(dim) else None
