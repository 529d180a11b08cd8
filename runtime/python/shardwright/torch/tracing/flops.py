"""Multiplications and additions of products, as factors of local extents.

Source: torch.utils.flop_counter of torch 2.13, except for the gradient of a convolution's weight, where
torch counts all pairs of channels and this the pairs within a group.
"""

from __future__ import annotations

from typing import Any, Callable

import torch

from .calls import Call
from .grouped import FALLBACK, FALLBACK_BACKWARD, is_rows_times_groups

_aten = torch.ops.aten
# A factor, then extents: (tensor argument, dimension); argument -1-k is output k.
Product = list["int | list[int]"]
Formula = Callable[[Call], list[Product]]


def _extents(tensor: int, dims: int, first: int = 0) -> list[list[int]]:
    return [[tensor, dim] for dim in range(first, dims)]


def _matrix(first: int, batch: int) -> Formula:
    """Arguments `first` [.., m, k] and `first + 1` [.., k, n], with `batch` dimensions before."""
    return lambda call: [[2, *_extents(first, batch + 2), [first + 1, batch + 1]]]


def _matmul(call: Call) -> list[Product]:
    """[*lead, m, k] times [*lead, k, n] or [k, n]."""
    rank, last = (len(meta.shape) for meta in call.inputs)
    return [[2, *_extents(0, rank), [1, last - 1]]]


def _tensordot(call: Call) -> list[Product]:
    """[*lead, m] and [*lead, n], summed over `lead`."""
    rank = len(call.inputs[0].shape)
    return [[2, *_extents(0, rank), [1, rank - 1]]]


def _vector(call: Call) -> list[Product]:
    return [[2, *_extents(0, len(call.inputs[0].shape))]]


def _grouped(call: Call) -> list[Product]:
    """Rows [m, k] in groups, each with a matrix of [groups, k, n]; or its gradient, from [k, m] and
    [m, n]. All groups have all rows, which are not cut, so some of the groups have their share of them.
    """
    tensor, weight = call.inputs[:2]
    if is_rows_times_groups((tensor.shape, weight.shape)):
        groups, extents, rows = weight.shape[0], [[1, 0], [0, 1], [1, 2]], tensor.shape[0]
    elif len(tensor.shape) == len(weight.shape) == 2:
        output = call.outputs[0]
        assert output is not None
        groups, extents, rows = output.shape[0], [[-1, 0], [0, 0], [1, 1]], weight.shape[0]
    else:
        return []
    return [[-(-2 * rows // groups), *extents]]  # factors are integers


def _grouped_backward(call: Call) -> list[Product]:
    """Rows [m, k], matrices [groups, k, n], offsets, gradient [m, n]. Two gradients of as many
    flops.
    """
    rows, groups = call.inputs[0].shape[0], call.inputs[1].shape[0]
    return [[-(-4 * rows // groups), [1, 0], [0, 1], [3, 1]]]


def _convolution(call: Call) -> list[Product]:
    """Each element of the output (of the input if transposed) meets the kernel of one channel."""
    tensor, rank = 0 if call.argument("transposed", False) else -1, len(call.inputs[0].shape)
    return [[2, *_extents(tensor, rank), *_extents(1, len(call.inputs[1].shape), 1)]]


def _convolution_backward(call: Call) -> list[Product]:
    """The gradients of input and weight take what the forward took. Arguments: gradient, input, weight."""
    tensor, rank = 1 if call.argument("transposed", False) else 0, len(call.inputs[0].shape)
    computed = sum(output is not None for output in call.outputs[:2])
    return [[2 * computed, *_extents(tensor, rank), *_extents(2, len(call.inputs[2].shape), 1)]]


def _attention(call: Call) -> list[Product]:
    """Scores [batch, heads, queries, keys], and their product with the values."""
    return [[2, *_extents(0, 4), [1, 2]], [2, *_extents(0, 3), [1, 2], [2, 3]]]


def _attention_backward(call: Call) -> list[Product]:
    """Arguments: gradient, queries, keys, values. The scores are computed again."""
    return [[6, *_extents(1, 4), [2, 2]], [4, *_extents(1, 3), [2, 2], [3, 3]]]


_FORMULAS: dict[Any, Formula] = {
    _aten.mm: _matrix(0, 0), _aten.addmm: _matrix(1, 0), _aten.bmm: _matrix(0, 1),
    _aten.baddbmm: _matrix(1, 1), _aten.mv: _vector, _aten.dot: _vector, _aten.matmul: _matmul,
    _aten.tensordot: _tensordot, _aten._grouped_mm: _grouped, _aten.convolution: _convolution,
    _aten._convolution: _convolution, _aten.convolution_backward: _convolution_backward,
    # By name, since the package that has these operators need not be installed.
    FALLBACK: _grouped, FALLBACK_BACKWARD: _grouped_backward}
for _name in ("flash_attention", "efficient_attention", "cudnn_attention", "flash_attention_for_cpu"):
    _FORMULAS[getattr(_aten, f"_scaled_dot_product_{_name}")] = _attention
    _FORMULAS[getattr(_aten, f"_scaled_dot_product_{_name}_backward")] = _attention_backward


def products_of(call: Call) -> list[Product]:
    """A sum of products; empty for an operator that only moves and combines elements."""
    formula = (_FORMULAS.get(getattr(call.op, "overloadpacket", None))
               or _FORMULAS.get(str(call.op)))
    return [] if formula is None else formula(call)
