"""Entries of operators whose indices are positions in a dimension of a tensor (see ../indexing.py)."""

from __future__ import annotations

from typing import Callable

import torch

from ..calls import Call, Meta
from .entries import PARTIAL, REPLICATE, Entry, shard

_aten = torch.ops.aten


def _embedding(call: Call) -> list[Entry]:
    """Table [rows, width], indices [*lead]: the table's rows, its width, or the indices."""
    lead = len(call.inputs[1].shape)
    return [Entry((PARTIAL,), (shard(0), REPLICATE)), Entry((shard(lead),), (shard(1), REPLICATE)),
            *(Entry((shard(dim),), (REPLICATE, shard(dim))) for dim in range(lead))]


def _embedding_backward(call: Call) -> list[Entry]:
    """Gradient [*lead, width], indices [*lead]: the table's rows, its width, or the indices."""
    lead = len(call.inputs[1].shape)
    entries = [Entry((shard(0),), (REPLICATE, REPLICATE)), Entry((shard(1),), (shard(lead), REPLICATE))]
    if call.argument("scale_grad_by_freq", False):
        return entries
    return [*entries, *(Entry((PARTIAL,), (shard(dim), shard(dim))) for dim in range(lead))]


def _gather(call: Call) -> list[Entry]:
    """Tensor and indices are cut alike, except in the dimension that the indices count in."""
    tensor, indices = call.inputs
    if not tensor.shape or not indices.shape:
        return []
    own = call.args[1] % len(tensor.shape)
    return [Entry((PARTIAL,), (shard(own), REPLICATE)), Entry((shard(own),), (REPLICATE, shard(own))),
            *(Entry((shard(dim),), (shard(dim), shard(dim))) for dim, extent in enumerate(tensor.shape)
              if dim != own and extent == indices.shape[dim])]


def _scatter_add(call: Call) -> list[Entry]:
    """Tensor, indices and source are cut alike, except in the dimension that the indices count in."""
    tensor, indices, source = call.inputs
    if not tensor.shape or not indices.shape:
        return []
    own = call.args[1] % len(tensor.shape)
    return [Entry((shard(own),), (shard(own), REPLICATE, REPLICATE)),
            Entry((PARTIAL,), (PARTIAL, shard(own), shard(own))),
            *(Entry((shard(dim),), (shard(dim),) * 3) for dim, extent in enumerate(tensor.shape)
              if dim != own and extent == indices.shape[dim] == source.shape[dim])]


def _index_select(call: Call) -> list[Entry]:
    """Tensor and a list of indices in one dimension: the list, the dimension, or another one."""
    tensor, indices = call.inputs
    if not tensor.shape or not indices.shape:
        return []
    own = call.args[1] % len(tensor.shape)
    return [Entry((PARTIAL,), (shard(own), REPLICATE)), Entry((shard(own),), (REPLICATE, shard(0))),
            *(Entry((shard(dim),), (shard(dim), REPLICATE)) for dim in range(len(tensor.shape))
              if dim != own)]


def _elsewhere(tensor: Meta, own: int) -> list[Entry]:
    """Tensor and what is added to it are cut in another dimension than the one that a list of indices counts in."""
    return [Entry((shard(dim),), (shard(dim), REPLICATE, shard(dim)))
            for dim in range(len(tensor.shape)) if dim != own]


def _index_add(call: Call) -> list[Entry]:
    """Tensor, a list of indices in one dimension, and source: as above."""
    tensor, indices, _ = call.inputs
    if not tensor.shape or not indices.shape:
        return []
    own = call.args[1] % len(tensor.shape)
    return [Entry((shard(own),), (shard(own), REPLICATE, REPLICATE)),
            Entry((PARTIAL,), (PARTIAL, shard(0), shard(own))), *_elsewhere(tensor, own)]


def _index_put(call: Call) -> list[Entry] | None:
    """Sums into the positions of one list of indices, as the gradient of a lookup by such a list; torch
    does not cut the list. None for other forms, which torch's entries cover.
    """
    if len(call.inputs) != 3 or not call.argument("accumulate", False):
        return None
    tensor, indices, values = call.inputs
    own = len(call.args[1]) - 1
    if len(indices.shape) != 1 or indices.dtype is torch.bool or len(values.shape) != len(tensor.shape):
        return None
    return [Entry((PARTIAL,), (PARTIAL, shard(0), shard(own))), *_elsewhere(tensor, own)]


POSITIONS: dict[object, Callable[[Call], "list[Entry] | None"]] = {
    _aten.embedding.default: _embedding,
    _aten.embedding_dense_backward.default: _embedding_backward,
    _aten.gather.default: _gather, _aten.scatter_add.default: _scatter_add,
    _aten.index_select.default: _index_select, _aten.index_add.default: _index_add,
    _aten.index_put.default: _index_put,
}
