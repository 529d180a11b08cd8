"""Placements of tensors on a mesh, what this rank holds of them, and moves from one to another."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Sequence

import torch
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
from torch.distributed.tensor._redistribute import redistribute_local_tensor
from torch.distributed.tensor.placement_types import (Partial, Placement, Replicate, Shard,
                                                      _StridedShard)

from ... import errors
from ..tracing.pieces import Piece, piece_of
from ..tracing.rules.entries import REPLICATE, dim_of

_REDUCE_OPS = {"P": "sum", "Pavg": "avg", "Pmax": "max", "Pmin": "min"}


def placement_of_word(word: str) -> Placement:
    """Torch's object of "R", "S0", "P", "Pavg", "Pmax" or "Pmin". Raises InvalidInputError."""
    if word == REPLICATE:
        return Replicate()
    if word[:1] == "S" and word[1:].isdigit():
        return Shard(int(word[1:]))
    if word in _REDUCE_OPS:
        return Partial(_REDUCE_OPS[word])
    raise errors.InvalidInputError(f"{word!r} is no placement", "plan")


def _known_word(placement: Placement) -> str | None:
    if type(placement) is Shard:
        return f"S{placement.dim}"
    if type(placement) is Replicate:
        return REPLICATE
    for word, reduce_op in _REDUCE_OPS.items():
        if type(placement) is Partial and placement.reduce_op == reduce_op:
            return word
    return None


def word_of_placement(placement: Placement) -> str:
    """Raises UnsupportedError for other kinds than a plan has."""
    word = _known_word(placement)
    if word is not None:
        return word
    if type(placement) is _StridedShard:
        dim = placement.dim
        raise errors.UnsupportedError(
            f"{placement} is \"S({dim})[1]\" or later: another mesh axis cuts dimension {dim} before, and plans cut "
            f"in the order of the axes; redistribute the tensor to Shard({dim}) on these axes", "inputs")
    raise errors.UnsupportedError(
        f"{placement} is no placement of a plan; redistribute the tensor to Replicate(), Shard(dim), or Partial "
        f"of {', '.join(_REDUCE_OPS.values())}", "inputs")


@dataclass(frozen=True)
class Layout:
    """One tensor on the mesh: `words` has one placement per mesh axis; outer axes cut first."""

    mesh: DeviceMesh
    words: tuple[str, ...]
    shape: tuple[int, ...]  # global
    stride: tuple[int, ...]  # global
    dtype: torch.dtype

    @cached_property
    def placements(self) -> tuple[Placement, ...]:
        return tuple(placement_of_word(word) for word in self.words)

    @cached_property
    def spec(self) -> DTensorSpec:
        return self.spec_with(self.placements)

    def spec_with(self, placements: Sequence[Placement]) -> DTensorSpec:
        meta = TensorMeta(torch.Size(self.shape), self.stride, self.dtype)
        return DTensorSpec(self.mesh, tuple(placements), tensor_meta=meta)

    @cached_property
    def piece(self) -> Piece:
        """The part of the tensor that this rank holds."""
        return piece_of(self.shape, self.words, tuple(self.mesh.shape),
                        [self.coordinate(axis) for axis in range(len(self.words))])

    @property
    def local_shape(self) -> tuple[int, ...]:
        """The shape of this rank's part. Like torch.chunk's, the last parts may be smaller or
        empty.
        """
        return self.piece.shape

    @cached_property
    def is_contiguous(self) -> bool:
        """Returns true if the whole tensor's elements are in the order of its dimensions, without gaps."""
        step = 1
        for extent, stride in reversed(list(zip(self.shape, self.stride))):
            if extent != 1 and stride != step:
                return False
            step *= extent
        return True

    @property
    def is_cut_unevenly_by_several_axes(self) -> bool:
        """Returns true if several mesh axes cut one dimension into parts that differ in size."""
        sizes: dict[int, list[int]] = {}
        for word, size in zip(self.words, self.mesh.shape):
            dim = dim_of(word)
            if dim is not None and size > 1:
                sizes.setdefault(dim, []).append(size)
        return any(len(own) > 1 and self.shape[dim] % math.prod(own) for dim, own in sizes.items())

    def coordinate(self, axis: int) -> int:
        """This rank's coordinate on a mesh axis."""
        found = self.mesh.get_coordinate()
        assert found is not None  # parallelize checks it
        return int(found[axis])

    @property
    def shard_index(self) -> int:
        """A number that is equal on two ranks if and only if they hold the same part."""
        index = 0
        for axis, word in enumerate(self.words):
            if word[0] == "S":
                index = index * int(self.mesh.shape[axis]) + self.coordinate(axis)
        return index

    def with_words(self, words: Sequence[str]) -> Layout:
        return Layout(self.mesh, tuple(words), self.shape, self.stride, self.dtype)

    def replicated(self) -> Layout:
        return self.with_words([REPLICATE] * len(self.words))

    def wrap(self, local: Tensor) -> DTensor:
        return DTensor.from_local(local, self.mesh, self.placements, run_check=False,
                                  shape=torch.Size(self.shape), stride=self.stride)


def layout_of(mesh: DeviceMesh, words: Sequence[str], tensor: Any) -> Layout:
    """The layout of a tensor or a Meta. Raises InvalidInputError for another number of words than
    axes, and for dimensions that the tensor does not have.
    """
    shape = tuple(int(size) for size in tensor.shape)
    if len(words) != mesh.ndim:
        raise errors.InvalidInputError(f"{list(words)} on a mesh of {mesh.ndim} axes", "plan")
    if any((dim_of(word) or 0) >= max(1, len(shape)) for word in words):
        raise errors.InvalidInputError(f"{list(words)} of a tensor of shape {shape}", "plan")
    stride = tensor.stride() if callable(tensor.stride) else tensor.stride
    return Layout(mesh, tuple(words), shape, tuple(int(step) for step in stride), tensor.dtype)


def layout_of_dtensor(tensor: DTensor) -> Layout:
    """On a mesh axis of one device, any placement becomes "R". Raises UnsupportedError for other
    placements that no plan has.
    """
    words = [_known_word(placement) or (REPLICATE if size == 1 else word_of_placement(placement))
             for placement, size in zip(tensor.placements, tensor.device_mesh.shape)]
    return layout_of(tensor.device_mesh, words, tensor)


class Move:
    """Calls take this rank's tensor in the source layout and return the one in the target layout.

    The collectives are DTensor's. Averages travel as sums of values that are divided before,
    because gloo has no average and DTensor refuses to mix averages with sums. Booleans travel as
    bytes, because gloo has no booleans. If the whole tensor is contiguous, so is the result: an
    all-to-all leaves other strides, which some kernels ignore. The result does not keep much larger
    storage alive: with gloo, an all-to-all gathers and cuts.
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
        self._is_bool = source.dtype == torch.bool
        dtype = torch.uint8 if self._is_bool else source.dtype
        self._source = _as_sums(source, dtype)
        self._target = _as_sums(target, dtype)

    def __call__(self, local: Tensor) -> Tensor:
        if self._factor != 1.0:
            local = local * self._factor
        if self._source.placements == self._target.placements:
            return local
        if self._is_bool:
            local = local.view(torch.uint8)
        moved = redistribute_local_tensor(local, self._source, self._target)
        if self._is_contiguous:
            moved = moved.contiguous()
        storage = moved.untyped_storage()
        is_small_part = storage.nbytes() >= 2 * max(moved.nbytes, 1)
        if is_small_part and storage._cdata != local.untyped_storage()._cdata:
            moved = moved.clone()
        return moved.view(torch.bool) if self._is_bool else moved


def _as_sums(layout: Layout, dtype: torch.dtype) -> DTensorSpec:
    placements = [Partial("sum") if word == "Pavg" else placement
                  for word, placement in zip(layout.words, layout.placements)]
    return Layout(layout.mesh, layout.words, layout.shape, layout.stride, dtype).spec_with(placements)


def move_between(source: Layout, target: Layout) -> Move | None:
    """Returns None if nothing is to be done. Mesh axes of one device do not count."""
    source, target = (layout.with_words([
        REPLICATE if size == 1 else word for word, size in zip(layout.words, layout.mesh.shape)])
        for layout in (source, target))
    return None if source.words == target.words else Move(source, target)


def moved(local: Tensor, source: Layout, target: Layout) -> Tensor:
    """Moves this rank's part of a tensor from the source layout to the target layout."""
    move = move_between(source, target)
    return local if move is None else move(local)
