"""Entries of operators whose indices are positions in a dimension of a tensor (see ../indexing.py)."""

from __future__ import annotations

from typing import Callable

import torch

from ..calls import Call
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


POSITIONS: dict[object, Callable[[Call], list[Entry]]] = {
    _aten.embedding.default: _embedding,
    _aten.embedding_dense_backward.default: _embedding_backward,
    _aten.gather.default: _gather, _aten.scatter_add.default: _scatter_add,
}
