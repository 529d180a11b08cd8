"""What the library needs to know of a DTensorSpec."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Sequence

from torch.distributed.tensor.placement_types import (Partial, Placement, Replicate, Shard,
                                                      _StridedShard)

from .placements import (MOST_AXES, MOST_DIMS, REDUCE_OPS, REPLICATE, code_of_bytes, dim_of_byte,
                         is_partial_byte, partial_byte, shard_byte, split_orders)


@dataclass(frozen=True)
class MeshTensor:
    """A tensor on a mesh, as this rank sees it."""

    mesh: tuple[int, ...]
    coordinate: tuple[int, ...]  # of this rank
    device_type: str
    shape: tuple[int, ...]
    itemsize: int


def mesh_tensor(spec: Any) -> MeshTensor | None:
    """Returns None if sizes are symbolic or too many, or if this rank is not part of the mesh."""
    mesh, meta = spec.device_mesh, spec.tensor_meta
    coordinate = mesh.get_coordinate()
    if meta is None or coordinate is None:
        return None
    sizes, shape = tuple(mesh.shape), tuple(meta.shape)
    if len(sizes) > MOST_AXES or len(shape) > MOST_DIMS:
        return None
    if any(type(number) is not int for number in (*sizes, *coordinate, *shape)):
        return None
    return MeshTensor(sizes, tuple(coordinate), mesh.device_type, shape, meta.dtype.itemsize)


def shard_orders(spec: Any, sizes: Sequence[int]) -> list[tuple[int, list[int]]] | None:
    """(dimension, axes in the order in which they shard it). Returns None if no order gives them.
    """
    if not spec.use_strided_shard_as_shard_order:
        if any(type(placement) is _StridedShard for placement in spec.placements):
            return None
        return [(entry.tensor_dim, list(entry.mesh_dims)) for entry in spec.shard_order]
    found = split_orders(spec.placements, sizes)
    orders = [(dim, order) for dim, order in found.items() if order is not None]
    return orders if len(orders) == len(found) else None


def code_of_spec(spec: Any, sizes: Sequence[int]) -> int | None:
    """Returns None if a placement is of another kind than the library knows. Mesh axes of one device
    replicate, whatever stands there: they neither cut nor have terms.
    """
    axes = [REPLICATE] * len(sizes)
    for axis, placement in enumerate(spec.placements):
        if sizes[axis] == 1 or type(placement) in (Replicate, Shard, _StridedShard):
            continue
        if type(placement) is not Partial or placement.reduce_op not in REDUCE_OPS:
            return None
        axes[axis] = partial_byte(placement.reduce_op)
    orders = shard_orders(spec, sizes)
    if orders is None:
        return None
    for dim, order in orders:
        for index, axis in enumerate(axis for axis in order if sizes[axis] > 1):
            axes[axis] = shard_byte(dim, index)
    return code_of_bytes(axes)


def placement_of_byte(byte: int) -> Placement:
    """Torch's placement. The order of shards follows from the sequence of steps, as in torch's
    plans.
    """
    dim = dim_of_byte(byte)
    if dim is not None:
        return Shard(dim)
    return Partial(REDUCE_OPS[byte - 1]) if is_partial_byte(byte) else Replicate()


def logical_shape(tensor: MeshTensor, axes: Sequence[int], left_out: int) -> list[int]:
    """What this rank would hold if axis `left_out` did not shard: the shape that torch's collectives
    along that axis pad and cut. `axes` has the byte of each axis. Shards are those of torch.chunk.
    Source: torch 2.13, torch/distributed/tensor/_redistribute.py, get_logical_shape.
    """
    shape = list(tensor.shape)
    # The lowest bits of a byte are the axis's place among those of its dimension, outermost first.
    for axis in sorted(range(len(axes)), key=lambda axis: axes[axis] % 16):
        dim = dim_of_byte(axes[axis])
        if dim is None or axis == left_out:
            continue
        piece = -(-shape[dim] // tensor.mesh[axis])
        shape[dim] = max(0, min(piece, shape[dim] - piece * tensor.coordinate[axis]))
    return shape
