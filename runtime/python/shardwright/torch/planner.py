"""Plans the transformations of a DTensor's redistribution as torch's planner does."""

from __future__ import annotations

import functools
import math
from typing import Any, Callable, Iterable, Iterator, Sequence

from torch.distributed.tensor import _collective_utils, _redistribute
from torch.distributed.tensor._dtensor_spec import DTensorSpec
from torch.distributed.tensor.placement_types import Shard

from .. import _native, errors
from .placements import REPLICATE, bytes_of, dim_of_byte, is_partial_byte
from .planning import Link, options_of, solved
from .specs import (MeshTensor, code_of_spec, logical_shape, mesh_tensor, placement_of_byte,
                    shard_orders)
from .traffic import Traffic, traffic_of

Plan = list[Any]  # of torch's _TransformInfo
# With this link, the time of a collective in a ring is proportional to the bytes that a device sends.
_BYTES = Link(latency_us=0, bandwidth_gb_per_s=1)
_TORCHS = _redistribute._optimize_transform_infos


def merged(infos: Sequence[Any], mesh: Any, sources: Sequence[Any], targets: Sequence[Any]) -> list[Any]:
    """Stands in for torch's `_optimize_transform_infos`: joins collectives of axes that the user
    flattened.

    Axes cut a dimension one after the other, a flattened mesh cuts it at once. 9 rows on 2x2 are 3,
    2, 2 and 2 rows, and 3, 3, 3 and 0 on the flattened mesh, so torch's merged collective loses
    rows (pytorch issue 194457). Collectives of shards are therefore joined only where all shards
    have one size.
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


class _Request:
    """One redistribution."""

    def __init__(self, tensor: MeshTensor, source: Any, target: Any, codes: tuple[int, int],
                 devices_per_host: int) -> None:
        self._tensor, self._source, self._target = tensor, source, target
        self._codes, self._devices_per_host = codes, devices_per_host

    def plan(self, torchs: Plan | None) -> Plan | None:
        """`torchs` is torch's own plan, None if torch would ask its graph planner. Returns None
        where torch's own plan is to be kept.
        """
        most = None if torchs is None else self._traffic(torchs)
        for plan in self._candidates(most):
            if most is None:
                return plan
            traffic = self._traffic(plan)
            if traffic is not None and traffic.is_no_more_than(most):
                return plan
        return None

    def _candidates(self, most: Traffic | None) -> Iterator[Plan]:
        """The cheapest plan, the cheapest with at most torch's collectives, and the one of fewest
        bytes.
        """
        limit = None if most is None else most.collectives
        axes = len(self._tensor.mesh)
        for options in (
                options_of(axes, devices_per_host=self._devices_per_host),
                options_of(axes, devices_per_host=self._devices_per_host, collective_limit=limit),
                options_of(axes, links=[_BYTES] * axes, collective_limit=limit)):
            codes = self._path(options)
            if codes is not None and not self._makes_partials_again(codes):
                yield self._infos(codes)

    def _path(self, options: _native.RedistributionOptions) -> list[int] | None:
        """The placements from source to target, both included; None if there is no way."""
        tensor = self._tensor
        try:
            summary, steps = solved(tensor.mesh, tensor.shape, tensor.itemsize, self._codes, options)
        except (errors.InvalidInputError, errors.InfeasibleError):
            return None
        return [self._codes[0], *steps.after[:summary.num_steps]]

    def _makes_partials_again(self, codes: Sequence[int]) -> bool:
        """Returns true if an axis with partial values changes, though its source and target are
        equal. Such a plan gives other terms of the same sum.
        """
        ends = zip(*(bytes_of(code, len(self._tensor.mesh)) for code in self._codes))
        kept = [axis for axis, (source, target) in enumerate(ends)
                if source == target and is_partial_byte(source)]
        return any(code >> 8 * axis & 0xff != codes[0] >> 8 * axis & 0xff
                   for code in codes for axis in kept)

    def _infos(self, codes: Sequence[int]) -> Plan:
        axes = range(len(self._tensor.mesh))
        infos = []
        cuts = [order for _, order in shard_orders(self._source, self._tensor.mesh) or ()]
        for before, after in zip(codes, codes[1:]):
            old, new = bytes_of(before, len(axes)), bytes_of(after, len(axes))
            axis = next(axis for axis in axes if old[axis] != new[axis])
            shape = logical_shape(self._tensor, old, axis)
            for freed in _freed(axis, cuts):
                ends = (placement_of_byte(old[axis]),
                        placement_of_byte(new[axis] if freed == axis else REPLICATE))
                infos.append(_redistribute._TransformInfo(freed, ends, shape))
        return infos

    def _traffic(self, infos: Plan) -> Traffic | None:
        mesh = self._source.device_mesh
        if mesh._get_root_mesh()._flatten_mapping:
            infos = merged(infos, mesh, self._source.placements, self._target.placements)
        return traffic_of(self._tensor, self._source.placements, infos)


class Planner:
    """Stands in for torch's `_gen_transform_infos`, whose `cache_clear` and `cache_info` it has.

    Thread safety: any.
    """

    def __init__(self, torchs: Callable[..., Plan], devices_per_host: int | None) -> None:
        self._torchs = torchs
        self._devices_per_host = devices_per_host
        # The same cache as torch's planner has, so that hits cost the same.
        self.infos = functools.cache(self._plan)

    def _plan(self, source: Any, target: Any, use_graph_based_transform: bool | None = None) -> Plan:
        request = self._request(source, target)
        if request is None:
            return self._torchs(source, target, use_graph_based_transform)
        if _asks_graph(source, target, use_graph_based_transform):
            # Torch would search the same placements at the same costs, for a second on 16 devices.
            plan = request.plan(None)
            return self._torchs(source, target, use_graph_based_transform) if plan is None else plan
        torchs = self._torchs(source, target, use_graph_based_transform)
        plan = request.plan(torchs)
        return torchs if plan is None else plan

    def _request(self, source: Any, target: Any) -> _Request | None:
        tensor = mesh_tensor(source)
        if tensor is None:
            return None
        old, new = code_of_spec(source, tensor.mesh), code_of_spec(target, tensor.mesh)
        if old is None or new is None or _makes_terms_of_shards((old, new), len(tensor.mesh)):
            return None
        devices = self._devices_per_host
        if devices is None:
            devices = _collective_utils._mesh_resources.num_devices_per_host(tensor.device_type)
        return _Request(tensor, source, target, (old, new), max(1, devices))


def _makes_terms_of_shards(codes: Sequence[int], axes: int) -> bool:
    """Returns true if shards become terms of a sum. Torch does this without a collective since
    2.14, by putting zeros around the shards. The library has no such step.
    """
    return hasattr(Shard, "_to_partial_tensor") and any(
        dim_of_byte(old) is not None and is_partial_byte(new)
        for old, new in zip(*(bytes_of(code, axes) for code in codes)))


def _freed(axis: int, cuts: Iterable[list[int]]) -> list[int]:
    """The axis, preceded by the axes of one device that cut its dimension after it. The library
    ignores such axes, and torch wants them freed in the reverse order. `cuts` has the axes that cut
    each dimension; the freed axes are removed from it.
    """
    for order in cuts:
        if axis in order:
            freed = order[order.index(axis):]
            del order[order.index(axis):]
            return freed[::-1]
    return [axis]


def _asks_graph(source: Any, target: Any, asked: bool | None) -> bool:
    """Returns true if torch would plan by its graph.
    Source: torch 2.13, torch/distributed/tensor/_redistribute.py, _gen_transform_infos_non_cached.
    """
    if not all(DTensorSpec.is_default_device_order(spec.shard_order) for spec in (source, target)):
        return True
    forced = _redistribute._FORCE_MIN_COST_REDISTRIBUTION_PLAN
    return bool(asked if forced is None else forced)
