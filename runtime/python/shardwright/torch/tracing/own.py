"""Entries beside torch's: products of tensors that keep their dimensions, and guesses to be run."""

from __future__ import annotations

from typing import Callable

import torch

from .calls import Call, Meta
from .entries import ABSENT, PARTIAL, REPLICATE, Entry, shard

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


_OWN: dict[object, Callable[[Call], list[Entry]]] = {
    _aten.matmul.default: _matmul, _aten.tensordot.default: _tensordot,
}


def own_entries(call: Call) -> list[Entry] | None:
    """The entries of an operator that torch has no rule of, or none that is good enough."""
    function = _OWN.get(call.op)
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
