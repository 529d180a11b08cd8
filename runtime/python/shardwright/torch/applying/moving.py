"""Redistribution of what this rank holds, from one layout of a tensor to another."""

from __future__ import annotations

import torch
from torch.distributed.tensor._dtensor_spec import DTensorSpec
from torch.distributed.tensor._redistribute import redistribute_local_tensor
from torch.distributed.tensor.placement_types import Partial

from ... import errors
from .layouts import Layout

_BYTE = torch.uint8


class Move:
    """Calls take the local tensor of the source and return that of the target, both on this rank.

    The collectives are DTensor's. Averages travel as sums of values that are divided before,
    because gloo has no average, and because DTensor refuses to mix averages with sums. Truth
    values travel as bytes, because gloo has no truth values. If the whole tensor is contiguous, so
    is the result: an all-to-all leaves other strides, and some kernels do not look at strides. The
    result is no small part of what was gathered for it: with gloo, an all-to-all gathers and cuts.
    """

    def __init__(self, source: Layout, target: Layout) -> None:
        """Raises UnsupportedError if terms of one kind would become terms of another."""
        self._factor = 1.0
        for axis, (old, new) in enumerate(zip(source.words, target.words)):
            if old == "Pavg" != new:
                self._factor /= source.mesh.shape[axis]
            elif old != new == "Pavg" and old in ("P", "R"):
                self._factor *= source.mesh.shape[axis]
            elif old != new and old[0] == new[0] == "P":
                raise errors.UnsupportedError(f"{old} cannot become {new}", "plan")
        self._is_contiguous = source.is_contiguous
        self._is_truth = source.dtype == torch.bool
        dtype = _BYTE if self._is_truth else source.dtype
        self._source = _as_sums(source, dtype)
        self._target = _as_sums(target, dtype)

    def __call__(self, local: torch.Tensor) -> torch.Tensor:
        if self._factor != 1.0:
            local = local * self._factor
        if self._source.placements == self._target.placements:
            return local
        if self._is_truth:
            local = local.view(_BYTE)
        moved = redistribute_local_tensor(local, self._source, self._target)
        if self._is_contiguous:
            moved = moved.contiguous()
        if _is_small_part(moved) and not _share_storage(moved, local):
            moved = moved.clone()
        return moved.view(torch.bool) if self._is_truth else moved


def _is_small_part(tensor: torch.Tensor) -> bool:
    return bool(tensor.untyped_storage().nbytes() >= 2 * max(tensor.nbytes, 1))


def _share_storage(a: torch.Tensor, b: torch.Tensor) -> bool:
    return bool(a.untyped_storage()._cdata == b.untyped_storage()._cdata)


def _as_sums(layout: Layout, dtype: torch.dtype) -> DTensorSpec:
    placements = [Partial("sum") if word == "Pavg" else placement
                  for word, placement in zip(layout.words, layout.placements)]
    return Layout(layout.mesh, layout.words, layout.shape, layout.stride, dtype).spec_with(placements)


def move_between(source: Layout, target: Layout) -> Move | None:
    """Returns None if nothing is to be done."""
    source, target = source.without_axes_of_one(), target.without_axes_of_one()
    return None if source.words == target.words else Move(source, target)
