"""Placements as the library's 64-bit codes, from words and from torch's objects."""

from __future__ import annotations

from ctypes import byref, c_size_t, c_uint64
from typing import Any, Final, Iterable, Sequence, Union

from .. import _native, errors

# One per mesh axis: words ("R", "S(0)", "S(0)[1]", "P(sum)"), or torch's placements.
PlacementsLike = Union[str, Sequence[Any]]

REDUCE_OPS: Final = ("sum", "avg", "min", "max", "product")
REPLICATE: Final = 0
MOST_AXES: Final = 8
MOST_DIMS: Final = 9
_SHARD: Final = 16


def shard_byte(dim: int, index: int) -> int:
    """The byte of an axis that shards `dim` after `index` other axes do."""
    return _SHARD * (1 + dim) + index


def partial_byte(reduce_op: str) -> int:
    """The byte of an axis with values to be reduced. Raises ValueError for other operators."""
    return 1 + REDUCE_OPS.index(reduce_op)


def bytes_of(code: int, num_axes: int) -> list[int]:
    """The byte of every axis."""
    return list(code.to_bytes(MOST_AXES, "little")[:num_axes])


def is_partial_byte(byte: int) -> bool:
    return 0 < byte < _SHARD


def dim_of_byte(byte: int) -> int | None:
    """The dimension that the axis shards."""
    return byte // _SHARD - 1 if byte >= _SHARD else None


def code_of_bytes(axes: Iterable[int]) -> int:
    return int.from_bytes(bytes(axes), "little")


def words_of(code: int, num_axes: int) -> tuple[str, ...]:
    """One word per mesh axis: "R", "S(0)", "P(sum)"; with an index where axes do not shard a
    dimension in ascending order: "S(0)[1]" cuts after "S(0)[0]". Raises InvalidInputError.
    """
    return tuple(_native.text_of("placement_to_text", code, num_axes).split())


def split_orders(placements: Iterable[Any], mesh: Sequence[int]) -> dict[int, list[int] | None]:
    """The order in which axes shard each dimension, from the split factors of torch's
    `_StridedShard`; None where no order gives these factors.
    Source: torch 2.13, torch/distributed/tensor/_dtensor_spec.py.
    """
    axes: dict[int, list[tuple[int, int]]] = {}
    for axis, placement in enumerate(placements):
        if (dim := getattr(placement, "dim", None)) is not None:
            axes.setdefault(dim, []).append((axis, getattr(placement, "split_factor", 1)))
    return {dim: _split_order(factors, mesh) for dim, factors in axes.items()}


def _split_order(factors: Sequence[tuple[int, int]], mesh: Sequence[int]) -> list[int] | None:
    """`factors` has (axis, split factor) by ascending axis."""
    order: list[int] = []
    for axis, factor in reversed(factors):
        product, place = 1, 0
        while product != factor and place < len(order):
            product *= mesh[order[place]]
            place += 1
        if product != factor:
            return None
        order.insert(place, axis)
    return order


def _words_of_objects(placements: Sequence[Any], mesh: Sequence[int]) -> list[str]:
    words = [str(placement) for placement in placements]
    for dim, order in split_orders(placements, mesh).items():
        if order is None:
            raise errors.InvalidInputError(
                f"no order of the mesh axes gives the split factors of {placements}; write words that say the order: "
                f'"S({dim})[0]" for the axis that cuts first, "S({dim})[1]" for the next one')
        for index, axis in enumerate(order):
            words[axis] = f"S({dim})[{index}]"
    return words


def code_of(placements: PlacementsLike, mesh: Sequence[int], num_dims: int) -> int:
    """The code of words, of one text of words, or of torch's placements. Raises InvalidInputError
    with the axis in its place, and for split factors of no shard order.
    """
    words = [placements] if isinstance(placements, str) else placements
    if not all(isinstance(word, str) for word in words):
        words = _words_of_objects(words, mesh)
    text = " ".join(words).encode()
    code = c_uint64()
    _native.call("placement_from_text", text, c_size_t(len(text)), num_dims, byref(code))
    return code.value
