"""Plans the redistribution of one tensor. Needs no torch."""

from __future__ import annotations

import functools
from ctypes import byref, c_double, c_int64
from dataclasses import dataclass
from typing import Any, Final, Sequence

from .. import _native, errors
from .placements import MOST_AXES, REDUCE_OPS, PlacementsLike, code_of, words_of

KINDS: Final = ("all_gather", "all_to_all", "split", "all_reduce", "reduce_scatter", "to_partial",
                "permute")
LOCAL_KINDS: Final = ("split", "to_partial")
_TAKES_SHARDS: Final = ("all_gather", "all_to_all")
_MAKES_SHARDS: Final = ("all_to_all", "split", "reduce_scatter")
_STEP: Final = ("kind", "axes", "source_dim", "target_dim", "reduce_op", "after", "cost_us")
# Ways have fewer steps; the library reports an error for a longer one.
_MOST_STEPS: Final = 64
# Answers that are kept, of about 2 KB each. A model needs hundreds of answers.
_MOST_ANSWERS: Final = 4096


@dataclass(frozen=True)
class Link:
    """The link from a device to its neighbour along a mesh axis, in one direction."""

    latency_us: float
    bandwidth_gb_per_s: float  # GB = 10**9 bytes


@dataclass(frozen=True)
class Step:
    """What all devices do at once."""

    kind: str  # of KINDS
    axes: tuple[int, ...]  # act as one axis of all their devices; the first one varies slowest
    from_dim: int | None  # the dimension that these axes sharded before
    to_dim: int | None  # the dimension that these axes shard afterwards
    reduce_op: str | None
    placement: tuple[str, ...]  # after the step, a word per mesh axis
    cost_us: float
    code: int  # of the placement

    @property
    def communicates(self) -> bool:
        return self.kind not in LOCAL_KINDS


@dataclass(frozen=True)
class RedistributionPlan:
    """The cheapest steps from one placement to another."""

    steps: tuple[Step, ...]
    cost_us: float
    peak_bytes: int  # of the largest device in a step, input and output together
    collectives: int  # steps that communicate
    is_optimal: bool  # False: the search was cut short, and cheaper steps may exist


def options_of(num_axes: int, *, devices_per_host: int = 8, links: Sequence[Link] | None = None,
               copy_gb_per_s: float | None = None, groups: bool = False,
               memory_limit: int | None = None,
               collective_limit: int | None = None) -> _native.RedistributionOptions:
    options = _native.RedistributionOptions()
    if links is None:
        if devices_per_host < 1:
            raise errors.InvalidInputError("must be at least 1", "/devices_per_host")
        options.devices_per_host = devices_per_host
    else:
        if len(links) != num_axes:
            raise errors.InvalidInputError(f"needs one link for each of {num_axes} axes", "/links")
        options.model = 1
        options.latency_us = (c_double * num_axes)(*[link.latency_us for link in links])
        options.bandwidth_gb_per_s = (c_double * num_axes)(
            *[link.bandwidth_gb_per_s for link in links])
        options.copy_gb_per_s = copy_gb_per_s or 0
        options.groups = groups
    if memory_limit is not None:
        if memory_limit < 1:
            raise errors.InvalidInputError("must be at least 1 byte", "/memory_bytes")
        options.memory_limit = memory_limit
    if collective_limit is not None:
        options.has_collective_limit, options.collective_limit = 1, collective_limit
    return options


def solved(mesh: Sequence[int], shape: Sequence[int], itemsize: int, ends: Sequence[int],
           options: _native.RedistributionOptions) -> tuple[Any, Any]:
    """The library's summary and steps of the way from one placement to another, by their codes.
    Raises InvalidInputError and InfeasibleError.
    """
    request = _native.Redistribution(
        num_axes=len(mesh), num_dims=len(shape), itemsize=itemsize, mesh=(c_int64 * len(mesh))(*mesh),
        shape=(c_int64 * len(shape))(*shape), source=ends[0], target=ends[1])
    steps = _native.buffers(_native.RedistributionBuffers, dict.fromkeys(_STEP, _MOST_STEPS),
                            num_steps=_MOST_STEPS)
    summary = _native.RedistributionSummary()
    _native.call("plan_redistribution", byref(request), byref(options), byref(summary), byref(steps))
    return summary, steps


def _step(steps: Any, index: int, num_axes: int) -> Step:
    kind = KINDS[steps.kind[index]]
    return Step(
        kind, tuple(byte - 1 for byte in steps.axes[index].to_bytes(MOST_AXES, "little") if byte),
        steps.source_dim[index] if kind in _TAKES_SHARDS else None,
        steps.target_dim[index] if kind in _MAKES_SHARDS else None,
        (None, *REDUCE_OPS)[steps.reduce_op[index]], words_of(steps.after[index], num_axes),
        steps.cost_us[index], steps.after[index])


@functools.lru_cache(_MOST_ANSWERS)
def _answer(mesh: tuple[int, ...], shape: tuple[int, ...], itemsize: int, source: PlacementsLike,
            target: PlacementsLike, devices_per_host: int, links: tuple[Link, ...] | None,
            copy_gb_per_s: float | None, groups: bool, memory_limit: int | None,
            collective_limit: int | None) -> RedistributionPlan:
    codes = []
    for name, placements in (("/source", source), ("/target", target)):
        try:
            codes.append(code_of(placements, mesh, len(shape)))
        except errors.InvalidInputError as error:
            raise errors.InvalidInputError(error.message, name + error.place) from None
        given = len(placements.split() if isinstance(placements, str) else placements)
        if given != len(mesh):
            raise errors.InvalidInputError(f"has {given} entries, the mesh {len(mesh)} axes", name)
    options = options_of(len(mesh), devices_per_host=devices_per_host, links=links,
                         copy_gb_per_s=copy_gb_per_s, groups=groups, memory_limit=memory_limit,
                         collective_limit=collective_limit)
    summary, found = solved(mesh, shape, itemsize, codes, options)
    steps = tuple(_step(found, index, len(mesh)) for index in range(summary.num_steps))
    return RedistributionPlan(steps, summary.cost_us, summary.peak_bytes, summary.num_collectives,
                              bool(summary.is_optimal))


def plan_redistribution(mesh_shape: Sequence[int], shape: Sequence[int], dtype: Any,
                        source: PlacementsLike, target: PlacementsLike, *,
                        devices_per_host: int = 8, links: Sequence[Link] | None = None,
                        copy_gb_per_s: float | None = None, groups: bool = False,
                        memory_limit: int | None = None,
                        collective_limit: int | None = None) -> RedistributionPlan:
    """Finds the cheapest steps of one tensor from one placement to another.

    `mesh_shape` has the devices along each axis, the last axis the innermost; `shape` is that of
    the whole tensor; `dtype` is one of torch's or NumPy's, or the bytes of an element. Placements
    have one entry per mesh axis: words ("R", "S(0)", "P(sum)"; "S(0)[1]" cuts after "S(0)[0]"),
    one text of such words with spaces between them, or torch's placements.

    Costs are DTensor's for hosts of `devices_per_host`, or those of rings on `links`, one per mesh
    axis; local copies then cost what `copy_gb_per_s` says, nothing by default, and with `groups`
    collectives may run over several axes at once. `memory_limit` bounds the bytes that a device
    holds in a step, `collective_limit` the steps that communicate.

    Raises InvalidInputError with the place, such as /mesh or /target/1, and InfeasibleError if no
    steps within the limits lead to the target. Thread safety: any. Releases the GIL. A question that
    was asked before takes microseconds: the last 4,096 answers are kept.
    """
    return _answer(
        tuple(map(int, mesh_shape)), tuple(map(int, shape)), int(getattr(dtype, "itemsize", dtype)),
        source if isinstance(source, str) else tuple(source),
        target if isinstance(target, str) else tuple(target), devices_per_host,
        None if links is None else tuple(links), copy_gb_per_s, groups, memory_limit,
        collective_limit)
