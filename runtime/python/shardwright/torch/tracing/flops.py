"""Multiplications and additions of products, as factors of local extents.

Source: torch.utils.flop_counter of torch 2.13, except for the gradient of a convolution's weight, where
torch counts all pairs of channels and this the pairs within a group.
"""

from __future__ import annotations

from typing import Callable

import torch

from .calls import Call
from .grouped import FALLBACK, FALLBACK_BACKWARD, is_rows_times_groups

_aten = torch.ops.aten
# A factor, then extents: (tensor argument, dimension); argument -1-k is output k.
Product = list["int | list[int]"]


def _matrix(first: int, batch: int) -> Callable[[Call], list[Product]]:
    """Arguments `first` [.., m, k] and `first + 1` [.., k, n], with `batch` dimensions before."""
    def products(call: Call) -> list[Product]:
        second = first + 1
        return [[2, *([first, dim] for dim in range(batch + 2)), [second, batch + 1]]]
    return products


def _matmul(call: Call) -> list[Product]:
    """[*lead, m, k] times [*lead, k, n] or [k, n]."""
    rank, last = (len(meta.shape) for meta in call.inputs)
    return [[2, *([0, dim] for dim in range(rank)), [1, last - 1]]]


def _tensordot(call: Call) -> list[Product]:
    """[*lead, m] and [*lead, n], summed over `lead`."""
    rank = len(call.inputs[0].shape)
    return [[2, *([0, dim] for dim in range(rank)), [1, rank - 1]]]


def _vector(call: Call) -> list[Product]:
    return [[2, *([0, dim] for dim in range(len(call.inputs[0].shape)))]]


def _per_group(rows: int, groups: int) -> int:
    """Factors are integers."""
    return -(-rows // groups)


def _grouped(call: Call) -> list[Product]:
    """Rows [m, k] in groups, each with a matrix of [groups, k, n]; or its gradient, from [k, m] and
    [m, n]. All groups have all rows, which are not cut, so some of the groups have their share of them.
    """
    tensor, weight = call.inputs[:2]
    if is_rows_times_groups((tensor.shape, weight.shape)):
        groups, extents = weight.shape[0], [[1, 0], [0, 1], [1, 2]]
        rows = tensor.shape[0]
    elif len(tensor.shape) == len(weight.shape) == 2:
        output = call.outputs[0]
        assert output is not None
        groups, extents = output.shape[0], [[-1, 0], [0, 0], [1, 1]]
        rows = weight.shape[0]
    else:
        return []
    return [[_per_group(2 * rows, groups), *extents]]


def _kernel(call: Call, weight: int) -> list["int | list[int]"]:
    return [[weight, dim] for dim in range(1, len(call.inputs[weight].shape))]


def _convolution(call: Call) -> list[Product]:
    """Each element of the output (of the input if transposed) meets the kernel of one channel."""
    tensor = 0 if call.argument("transposed", False) else -1
    rank = len(call.inputs[0].shape)
    return [[2, *([tensor, dim] for dim in range(rank)), *_kernel(call, 1)]]


def _convolution_backward(call: Call) -> list[Product]:
    """The gradients of input and weight take what the forward took. Arguments: gradient, input, weight."""
    tensor = 1 if call.argument("transposed", False) else 0
    rank = len(call.inputs[0].shape)
    computed = sum(output is not None for output in call.outputs[:2])
    return [[2 * computed, *([tensor, dim] for dim in range(rank)), *_kernel(call, 2)]]


def _attention(call: Call) -> list[Product]:
    """Scores [batch, heads, queries, keys], and their product with the values."""
    return [[2, [0, 0], [0, 1], [0, 2], [0, 3], [1, 2]],
            [2, [0, 0], [0, 1], [0, 2], [1, 2], [2, 3]]]


def _attention_backward(call: Call) -> list[Product]:
    """Arguments: gradient, queries, keys, values. The scores are computed again."""
    return [[6, [1, 0], [1, 1], [1, 2], [1, 3], [2, 2]],
            [4, [1, 0], [1, 1], [1, 2], [2, 2], [3, 3]]]


def _formulas() -> dict[object, Callable[[Call], list[Product]]]:
    formulas: dict[object, Callable[[Call], list[Product]]] = {
        _aten.mm: _matrix(0, 0), _aten.addmm: _matrix(1, 0), _aten.bmm: _matrix(0, 1),
        _aten.baddbmm: _matrix(1, 1), _aten.mv: _vector, _aten.dot: _vector,
        _aten.matmul: _matmul, _aten.tensordot: _tensordot, _aten._grouped_mm: _grouped,
        _aten.convolution: _convolution,
        _aten._convolution: _convolution, _aten.convolution_backward: _convolution_backward}
    for kind in ("flash", "efficient", "cudnn", "flash_for_cpu"):
        name = (f"_scaled_dot_product_{kind.removesuffix('_for_cpu')}_attention"
                + ("_for_cpu" if kind.endswith("_for_cpu") else ""))
        formulas[getattr(_aten, name)] = _attention
        formulas[getattr(_aten, f"{name}_backward")] = _attention_backward
    return formulas


def _grouped_backward(call: Call) -> list[Product]:
    """Rows [m, k], matrices [groups, k, n], offsets, gradient [m, n]. Two gradients of as many flops."""
    rows, groups = call.inputs[0].shape[0], call.inputs[1].shape[0]
    return [[_per_group(4 * rows, groups), [1, 0], [0, 1], [3, 1]]]


_FORMULAS = _formulas()
_FORMULAS_BY_NAME = {FALLBACK: _grouped, FALLBACK_BACKWARD: _grouped_backward}


def products_of(call: Call) -> list[Product]:
    """A sum of products; empty for an operator that only moves and combines elements."""
    formula = (_FORMULAS.get(getattr(call.op, "overloadpacket", None))
               or _FORMULAS_BY_NAME.get(str(call.op)))
    return [] if formula is None else formula(call)
