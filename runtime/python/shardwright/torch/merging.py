"""Collectives of several mesh axes that run as one over a flattened mesh, where that is right."""

from __future__ import annotations

import math
from typing import Any, Sequence

from torch.distributed.tensor import _redistribute

_TORCHS = _redistribute._optimize_transform_infos


def merged(infos: Sequence[Any], mesh: Any, sources: Sequence[Any], targets: Sequence[Any]) -> list[Any]:
    """Stands in for torch's `_optimize_transform_infos`: joins collectives of axes that the user flattened.

    Axes cut a dimension one after the other, a flattened mesh cuts it at once. 9 rows on 2x2 are 3, 2, 2
    and 2 rows, and 3, 3, 3 and 0 on the flattened mesh, so torch's merged collective loses rows (pytorch
    issue 194457). Collectives of shards are therefore joined only where all shards have one size.
    """
    kept: list[Any] = []
    first = 0
    for info in _TORCHS(infos, mesh, sources, targets):
        axes = getattr(info, "original_mesh_dims", None)
        last = first + (1 if axes is None else len(axes))
        kept += [info] if axes is None or _has_even_shards(info, axes, mesh) else infos[first:last]
        first = last
    return kept


def _has_even_shards(info: Any, axes: Sequence[int], mesh: Any) -> bool:
    """Whether a merged collective has shards of one size. Symbolic sizes may be uneven."""
    parts = math.prod(mesh.size(axis) for axis in axes)
    sizes = [info.logical_shape[placement.dim] for placement in info.src_dst_placements
             if hasattr(placement, "dim")]
    return all(type(size) is int and size % parts == 0 for size in sizes)
