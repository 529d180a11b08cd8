"""What torch's collectives send when they run a plan."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Iterable

from .specs import MeshTensor


@dataclass(frozen=True)
class Traffic:
    """What the device that sends most sends, and how many collectives run."""

    bytes: int
    collectives: int

    def is_no_more_than(self, other: Traffic) -> bool:
        return self.bytes <= other.bytes and self.collectives <= other.collectives


def _dim_of(placement: Any) -> int | None:
    return getattr(placement, "dim", None)


class _Device:
    """What the first device holds, which no other device exceeds, in the course of a plan."""

    def __init__(self, tensor: MeshTensor, placements: Iterable[Any]) -> None:
        self._tensor = tensor
        self._dims = [_dim_of(placement) for placement in placements]

    def change(self, axes: Iterable[int], dim: int | None) -> None:
        for axis in axes:
            self._dims[axis] = dim

    def shape(self) -> list[int]:
        parts = [1] * len(self._tensor.shape)
        for axis, dim in enumerate(self._dims):
            if dim is not None:
                parts[dim] *= self._tensor.mesh[axis]
        return [-(-size // part) for size, part in zip(self._tensor.shape, parts)]


def _elements(tensor: MeshTensor, source: Any, target: Any, before: list[int], after: list[int],
              devices: int) -> int | None:
    """Of a collective in a ring of so many devices; shards are padded to equal sizes. Returns None
    if there is no such collective.
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
        # On CPUs, torch gathers instead, and every device keeps its part.
        return hops * math.prod(message) * (devices if tensor.device_type == "cpu" else 1)
    return None


def traffic_of(tensor: MeshTensor, placements: Iterable[Any], infos: Iterable[Any]) -> Traffic | None:
    """Of torch's transformations, from these placements on. Returns None if torch cannot run them."""
    device = _Device(tensor, placements)
    total = collectives = 0
    for info in infos:
        source, target = info.src_dst_placements
        axes = getattr(info, "original_mesh_dims", (info.mesh_dim,))
        devices = math.prod(tensor.mesh[axis] for axis in axes)
        before = device.shape()
        device.change(axes, _dim_of(target))
        if source.is_replicate() or devices == 1:
            continue
        sent = _elements(tensor, source, target, before, device.shape(), devices)
        if sent is None:
            return None
        total += sent * tensor.itemsize
        collectives += 1
    return Traffic(total, collectives)
