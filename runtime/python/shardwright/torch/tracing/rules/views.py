"""Rules of views: which dimension of the output is which dimension of the input."""

from __future__ import annotations

from math import gcd
from typing import Callable, Sequence

import torch

from ..calls import Call, Meta
from .entries import PARTIALS, REPLICATE, Entry, replicated, shard

_aten = torch.ops.aten
# (dimension of the input, or None where the output's dimension repeats the input; dimension of the
# output; a number that the count of pieces must divide, or None)
_Pair = tuple["int | None", int, "int | None"]


def reshape_pairs(source: Sequence[int], target: Sequence[int]) -> list[_Pair]:
    """The dimensions whose pieces are the same pieces of memory when elements keep their order.

    Dimensions are grouped from the left into the smallest groups of equal products. In a group with
    one dimension on either side, all pieces correspond, also uneven ones. In other groups only the
    first dimension of either side may be cut, and into equal pieces, each of which is a contiguous
    run of elements. Pieces of later dimensions are no such runs.
    """
    left = [(dim, extent) for dim, extent in enumerate(source) if extent != 1]
    right = [(dim, extent) for dim, extent in enumerate(target) if extent != 1]
    if any(extent == 0 for _, extent in left + right):
        return []
    pairs: list[_Pair] = []
    while left and right:
        first_left, first_right = left[0], right[0]
        product_left, product_right = left.pop(0)[1], right.pop(0)[1]
        whole = product_left == product_right
        while product_left != product_right:
            if product_left < product_right:
                product_left *= left.pop(0)[1]
            else:
                product_right *= right.pop(0)[1]
        if whole:
            pairs.append((first_left[0], first_right[0], None))
        elif (common := gcd(first_left[1], first_right[1])) > 1:
            pairs.append((first_left[0], first_right[0], common))
    return pairs


def _reshape(call: Call) -> list[_Pair]:
    return reshape_pairs(call.inputs[0].shape, _first(call).shape)


def _squeeze(call: Call) -> list[_Pair]:
    """A squeezed dimension must not be cut, because a rank's piece might have one element."""
    rank = len(call.inputs[0].shape)
    named = call.args[1] if len(call.args) > 1 else range(rank)
    gone = {dim % rank for dim in ((named,) if isinstance(named, int) else named)} if rank else set()
    return [pair for pair in _reshape(call) if pair[0] not in gone]


def _first(call: Call) -> Meta:
    output = call.outputs[0]
    assert output is not None
    return output


def _permute(call: Call) -> list[_Pair]:
    rank = len(call.inputs[0].shape)
    return [(dim % rank, position, None) for position, dim in enumerate(call.args[1])]


def _swap(call: Call) -> list[_Pair]:
    """Two dimensions are swapped: those that the arguments name, or both of a matrix."""
    rank = len(call.inputs[0].shape)
    order = list(range(rank))
    if rank:
        first, second = (dim % rank for dim in (call.args[1:] or (0, rank - 1)))
        order[first], order[second] = order[second], order[first]
    return [(dim, position, None) for position, dim in enumerate(order)]


def _expand(call: Call) -> list[_Pair]:
    source, target = call.inputs[0].shape, _first(call).shape
    shift = len(target) - len(source)
    return [(dim - shift if dim >= shift and source[dim - shift] == extent else None, dim, None)
            for dim, extent in enumerate(target)]


def _kept(call: Call) -> list[_Pair]:
    """Dimensions other than the argument `dim` stay. So does `dim` if the outputs have all of it.
    """
    shape = call.inputs[0].shape
    dim = call.argument("dim", 0) % len(shape)
    return [(other, other, None) for other in range(len(shape))
            if other != dim or all(output is not None and output.shape == shape
                                   for output in call.outputs)]


def _removed(call: Call) -> list[_Pair]:
    rank = len(call.inputs[0].shape)
    gone = call.argument("dim", 0) % rank
    return [(dim, dim - (dim > gone), None) for dim in range(rank) if dim != gone]


_MAPS: dict[object, Callable[[Call], list[_Pair]]] = {
    _aten.view.default: _reshape, _aten._unsafe_view.default: _reshape,
    _aten.reshape.default: _reshape, _aten.alias.default: _reshape, _aten.unsqueeze.default: _reshape,
    _aten.squeeze.default: _squeeze, _aten.squeeze.dim: _squeeze, _aten.squeeze.dims: _squeeze,
    _aten.permute.default: _permute, _aten.transpose.int: _swap, _aten.t.default: _swap,
    _aten.expand.default: _expand, _aten.slice.Tensor: _kept, _aten.select.int: _removed,
    _aten.unbind.int: _removed, _aten.split.Tensor: _kept, _aten.split_with_sizes.default: _kept,
    _aten.split_with_sizes_copy.default: _kept,
}


def view_entries(call: Call) -> list[Entry] | None:
    """The entries of a view of one tensor, or of its split into several; None for another operator."""
    pairs_of = _MAPS.get(call.op)
    if pairs_of is None:
        return None
    count, output = len(call.outputs), _first(call).shape
    entries = [replicated(1, call.outputs)]
    for source, target, divides in pairs_of(call):
        if output[target] > 1:
            word = REPLICATE if source is None else shard(source)
            entries.append(Entry((shard(target),) * count, (word,), divides))
    entries += [Entry((partial,) * count, (partial,)) for partial in PARTIALS]
    return entries


def is_view(call: Call) -> bool:
    """Returns true if output 0 shares the storage of input 0."""
    if call.op is _aten._unsafe_view.default:
        return True
    schema = getattr(call.op, "_schema", None)
    if schema is None or not schema.returns or not call.inputs:
        return False
    alias = schema.returns[0].alias_info
    return alias is not None and not alias.is_write
