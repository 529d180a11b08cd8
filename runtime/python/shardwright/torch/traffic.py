"""What torch's collectives send when they run a plan."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Iterable, Sequence

from .specs import MeshTensor


@dataclass(frozen=True)
class Traffic:
    """What the device that sends most sends, and how many collectives run."""

    bytes: int
    collectives: int

    def is_no_more_than(self, other: Traffic) -> bool:
        return self.bytes <= other.bytes and self.collectives <= other.collectives


def _shape(tensor: MeshTensor, dims: Sequence[int | None]) -> list[int]:
    """What the first device holds, which no other device exceeds, if axis i shards `dims[i]`."""
    parts = [1] * len(tensor.shape)
    for size, dim in zip(tensor.mesh, dims):
        if dim is not None:
            parts[dim] *= size
    return [-(-size // part) for size, part in zip(tensor.shape, parts)]


def _elements(tensor: MeshTensor, source: Any, target: Any, before: list[int], after: list[int],
              devices: int) -> int | None:
    """The elements that a device sends in a collective over a ring of `devices`, which pads shards
    to equal sizes. Returns None if there is no such collective.
    """
    hops = devices - 1
    if source.is_partial() and target.is_replicate():
        return -(-2 * hops * math.prod(before) // devices)
    if source.is_partial() and target.is_shard():
        return hops * math.prod(after)
    if source.is_shard() and target.is_replicate():
        return hops * math.prod(before)
    if source.is_shard() and target.is_shard():
        message = list(before)
        message[target.dim] = -(-message[target.dim] // devices)
        # On CPUs, torch gathers instead of an all-to-all, and every device keeps its part.
        return hops * math.prod(message) * (devices if tensor.device_type == "cpu" else 1)
    return None


def traffic_of(tensor: MeshTensor, placements: Iterable[Any], infos: Iterable[Any]) -> Traffic | None:
    """The traffic of torch's transformations of a tensor; None if torch cannot run them."""
    dims = [getattr(placement, "dim", None) for placement in placements]
    total = collectives = 0
    for info in infos:
        source, target = info.src_dst_placements
        axes = getattr(info, "original_mesh_dims", (info.mesh_dim,))
        devices = math.prod(tensor.mesh[axis] for axis in axes)
        before = _shape(tensor, dims)
        for axis in axes:
            dims[axis] = getattr(target, "dim", None)
        if source.is_replicate() or devices == 1:
            continue
        sent = _elements(tensor, source, target, before, _shape(tensor, dims), devices)
        if sent is None:
            return None
        total += sent * tensor.itemsize
        collectives += 1
    return Traffic(total, collectives)
