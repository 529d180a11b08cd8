"""Entries beside torch's: products of tensors that keep their dimensions, and guesses to be run."""

from __future__ import annotations

from typing import Callable

import torch

from ..calls import Call, Meta
from ..grouped import FALLBACK, FALLBACK_BACKWARD
from . import experts
from .entries import ABSENT, PARTIAL, REPLICATE, Entry, shard
from .positions import POSITIONS
from .windows import apart

_aten = torch.ops.aten


def _matmul(call: Call) -> list[Entry]:
    """[*lead, m, k] times [*lead, k, n] or [k, n]: leading dimensions, rows, columns, sums."""
    left, right = call.inputs
    lead = len(left.shape) - 2
    shared = len(right.shape) == len(left.shape)
    last = len(right.shape) - 1
    entries = [Entry((shard(dim),), (shard(dim), shard(dim) if shared else REPLICATE))
               for dim in range(lead)]
    return [*entries, Entry((shard(lead),), (shard(lead), REPLICATE)),
            Entry((shard(lead + 1),), (REPLICATE, shard(last))),
            Entry((PARTIAL,), (shard(lead + 1), shard(last - 1))),
            Entry((PARTIAL,), (PARTIAL, REPLICATE)), Entry((PARTIAL,), (REPLICATE, PARTIAL))]


def _tensordot(call: Call) -> list[Entry]:
    """Sums over the leading dimensions of both: [*lead, m] and [*lead, n] give [m, n]."""
    lead = len(call.inputs[0].shape) - 1
    return [*(Entry((PARTIAL,), (shard(dim), shard(dim))) for dim in range(lead)),
            Entry((shard(0),), (shard(lead), REPLICATE)),
            Entry((shard(1),), (REPLICATE, shard(lead))),
            Entry((PARTIAL,), (PARTIAL, REPLICATE)), Entry((PARTIAL,), (REPLICATE, PARTIAL))]


def _convolution(call: Call) -> list[Entry]:
    """Input [batch, in, ...], weight [out, in / groups, ...], and a bias [out] or none."""
    groups, bias = call.argument("groups", 1), [""] * (len(call.inputs) - 2)
    if call.argument("transposed", False):
        return []
    entries = [_with_bias("S0", "S0", "R", "R", bias)]
    for dim, count, stride in apart(call, *call.inputs[:2]):
        found = _with_bias(shard(dim), shard(dim), "R", "R", bias)
        entries.append(Entry(found.outputs, found.inputs, None if stride == 1 else count))
    if groups == 1:
        entries.append(_with_bias("S1", "R", "S0", "S0", bias))
        if not bias:
            entries.append(Entry((PARTIAL,), ("S1", "S1")))
        return entries
    whole = _with_bias("S1", "S1", "S0", "S0", bias)
    return [*entries, Entry(whole.outputs, whole.inputs, groups)]


def _with_bias(output: str, tensor: str, weight: str, of_bias: str, bias: list[str]) -> Entry:
    return Entry((output,), (tensor, weight, *(of_bias for _ in bias)))


def _convolution_backward(call: Call) -> list[Entry]:
    """Gradient, input and weight; the gradients of input, weight and bias, as far as computed."""
    if call.argument("transposed", False):
        return []
    groups = call.argument("groups", 1)
    rows: list[tuple[tuple[str, ...], tuple[str, ...], int | None]] = [
        (("S0", PARTIAL, PARTIAL), ("S0", "S0", "R"), None)]
    rows += [((shard(dim), PARTIAL, PARTIAL), (shard(dim), shard(dim), "R"), None if stride == 1 else count)
             for dim, count, stride in apart(call, *call.inputs[1:3])]
    if groups == 1:
        rows += [((PARTIAL, "S0", "S0"), ("S1", "R", "S0"), None),
                 (("S1", "S1", "R"), ("R", "S1", "S1"), None)]
    else:
        rows.append((("S1", "S0", "S0"), ("S1", "S1", "S0"), groups))
    return [Entry(tuple(ABSENT if meta is None else word for word, meta in zip(outputs, call.outputs)),
                  inputs, divides) for outputs, inputs, divides in rows]


def _stack(call: Call) -> list[Entry]:
    """Tensors of equal shapes, with a new dimension between theirs."""
    count, rank = len(call.inputs), len(call.inputs[0].shape)
    new = call.argument("dim", 0) % (rank + 1)
    return [Entry((shard(dim + (dim >= new)),), (shard(dim),) * count) for dim in range(rank)]


def _factory(call: Call) -> list[Entry]:
    """A new tensor whose elements are equal, arbitrary or random: each rank makes its piece.

    A tensor that lends its dtype, or its shape as well, may be whole or cut like the new one.
    """
    entries = []
    output = call.outputs[0]
    for dim in range(len(output.shape) if output is not None else 0):
        if not call.inputs or call.op in _SIZED:
            entries.append(Entry((shard(dim),), (REPLICATE,) * len(call.inputs)))
        if call.inputs and output is not None and call.inputs[0].shape == output.shape:
            entries.append(Entry((shard(dim),), (shard(dim),)))
    return entries


# With a size among their arguments.
_SIZED = (_aten.new_zeros.default, _aten.new_ones.default, _aten.new_full.default,
          _aten.new_empty.default, _aten.new_empty_strided.default)
# Random numbers in the shape of their argument, whose values do not count.
_DRAWN = (_aten.uniform.default, _aten.exponential.default, _aten.bernoulli.p, _aten.geometric.default,
          _aten.log_normal.default, _aten.cauchy.default, _aten.normal_functional.default)
_OWN: dict[object, Callable[[Call], "list[Entry] | None"]] = {
    _aten.matmul.default: _matmul, _aten.tensordot.default: _tensordot,
    _aten.convolution.default: _convolution,
    _aten.convolution_backward.default: _convolution_backward, _aten.stack.default: _stack,
    **POSITIONS, _aten._grouped_mm.default: experts.grouped_mm,
    **{op: _factory for op in (
        *_SIZED, *_DRAWN, _aten.zeros.default, _aten.ones.default, _aten.full.default, _aten.empty.memory_format,
        _aten.empty_like.default)},
}


# By name, since the package that has them need not be there.
_OWN_BY_NAME: dict[str, Callable[[Call], list[Entry]]] = {
    FALLBACK: experts.fallback, FALLBACK_BACKWARD: experts.fallback_backward,
}


def own_entries(call: Call) -> list[Entry] | None:
    """The entries of an operator that torch has no rule of, or none that is good enough."""
    function = _OWN.get(call.op) or _OWN_BY_NAME.get(str(call.op))
    return None if function is None else function(call)


def _outputs(call: Call, word: str) -> tuple[str, ...]:
    return tuple(ABSENT if meta is None else word for meta in call.outputs)


def linear_guesses(call: Call) -> list[Entry]:
    """Partial sums pass through an operator that is linear in one tensor, or in all at once."""
    floating = [position for position, meta in enumerate(call.inputs)
                if meta.dtype.is_floating_point or meta.dtype.is_complex]
    chosen = [{position} for position in floating]
    if len(floating) > 1:
        chosen.append(set(floating))
    return [Entry(_outputs(call, PARTIAL), tuple(PARTIAL if position in group else REPLICATE
                                                 for position in range(len(call.inputs))))
            for group in chosen]


def shard_guesses(call: Call) -> list[Entry]:
    """All tensors of the output's extents are cut alike; smaller ones are aligned at the end."""
    first = next((meta for meta in call.outputs if meta is not None), None)
    if first is None:
        return []
    guesses = []
    for dim in range(len(first.shape)):
        outputs = [ABSENT if meta is None else _aligned(meta, first, dim) for meta in call.outputs]
        inputs = [_aligned(meta, first, dim) for meta in call.inputs]
        if any(word != REPLICATE for word in inputs):
            guesses.append(Entry(tuple(outputs), tuple(inputs)))
    return guesses


def _aligned(meta: Meta, like: Meta, dim: int) -> str:
    own = dim - (len(like.shape) - len(meta.shape))
    return shard(own) if own >= 0 and meta.shape[own] == like.shape[dim] else REPLICATE
