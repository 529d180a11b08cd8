"""Small real arguments for a call, and what the call makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Iterator

import torch
from torch import Tensor

from ..calls import Call, Meta, draws, leaves, replace
from ..grouped import is_grouped, is_rows_times_groups
from .own import apart

_aten = torch.ops.aten
# Extents that two ranks cut evenly, and extents that three ranks cut into pieces of two lengths.
# Distinct extents of a call map to these in order.
POOLS = {2: (4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24), 3: (5, 7, 8, 10, 11, 13, 14, 16, 17, 19, 20)}
# Integers below this may be dimensions, strides or paddings rather than extents.
_SMALLEST_EXTENT = 9
# Torch's products of groups need extents that are multiples of this, and take no 64-bit numbers.
_ALIGNED = 8
# Elements of a call that is run with its own shapes: some milliseconds for most operators.
_MOST_ELEMENTS = 1 << 18
_UNSPECIFIED = (_aten.empty.memory_format, _aten.empty_like.default, _aten.new_empty.default,
                _aten.new_empty_strided.default)
# Position of the input among the tensor arguments; the weight follows it.
_CONVOLUTIONS = {_aten.convolution.default: 0, _aten.convolution_backward.default: 1}
# Operators whose indices count in a dimension of tensor argument 0, and the argument that names it.
_COUNT_IN = {_aten.gather.default: 1, _aten.scatter_add.default: 1, _aten.index_select.default: 1,
             _aten.index_add.default: 1}


@dataclass(frozen=True)
class Sample:
    """A call that was run: arguments with tensors in place of Metas, and its outputs."""

    op: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    tensors: tuple[Tensor, ...]  # of the arguments, flattened in order
    outputs: tuple[Tensor | None, ...]


def call_op(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Tensor | None, ...]:
    """Runs an operator on real tensors and returns its outputs, None for those that it leaves out."""
    with torch.no_grad():
        result = op(*args, **kwargs)
    parts = result if isinstance(result, (tuple, list)) else (result,)
    return tuple(part if isinstance(part, Tensor) else None for part in parts)


def _extents(call: Call) -> list[int]:
    metas = [*call.inputs, *(output for output in call.outputs if output is not None)]
    return sorted({extent for meta in metas for extent in meta.shape if extent > 1})


def _mappings(call: Call, pool: tuple[int, ...]) -> Iterator[dict[int, int]]:
    """Ways to make a call small: with all extents changed, then with the large ones only."""
    extents = _extents(call)
    if call.op is _aten._grouped_mm.default:
        pool = tuple(extent * _ALIGNED for extent in pool)
    kept, windows = _windows(call)
    for smallest in (2, _SMALLEST_EXTENT):
        changed = [extent for extent in extents
                   if extent >= smallest and extent not in kept and extent not in windows]
        if changed and len(changed) <= len(pool):
            mapping = dict(zip(changed, pool))
            yield {**mapping, **{extent: stride * mapping.get(count, count)
                                 for extent, (count, stride) in windows.items()}}


def _windows(call: Call) -> tuple[set[int], dict[int, tuple[int, int]]]:
    """For a convolution whose windows have no element in common: the extents that stay (kernels and
    strides); and by extent of the input, the number of windows and the stride, of which the small
    extent must be a multiple.
    """
    first = _CONVOLUTIONS.get(call.op)
    kept: set[int] = set()
    windows: dict[int, tuple[int, int]] = {}
    if first is not None:
        for dim, count, stride in apart(call, *call.inputs[first:first + 2]):
            if stride > 1:
                tensor, weight = call.inputs[first:first + 2]
                kept |= {weight.shape[dim], stride}
                windows[tensor.shape[dim]] = (count, stride)
    return kept, windows


def _offsets(call: Call, groups: int, map_extent: Callable[[int], int], generator: torch.Generator
             ) -> Tensor:
    """Where groups of rows end; the last group ends with the last row."""
    tensor, other = call.inputs[:2]
    rows = map_extent((tensor if is_rows_times_groups((tensor.shape, other.shape)) else other).shape[0])
    ends = torch.randint(0, rows + 1, (groups,), generator=generator, dtype=torch.int32).sort().values
    ends[-1] = rows
    return ends


def _bound(call: Call, map_extent: Callable[[int], int]) -> int:
    """A bound below which indices are in range of every dimension that they may index."""
    if call.op is _aten.embedding.default:
        return map_extent(call.inputs[0].shape[0])
    if call.op is _aten.embedding_dense_backward.default:
        rows = call.args[2]
        return map_extent(rows) if rows >= _SMALLEST_EXTENT else rows
    if call.op in _COUNT_IN and call.inputs[0].shape:
        return map_extent(call.inputs[0].shape[call.args[_COUNT_IN[call.op]]])
    extents = [map_extent(extent) for extent in _extents(call)]
    numbers = [map_extent(leaf) for leaf in leaves(call.args)
               if type(leaf) is int and leaf >= _SMALLEST_EXTENT]
    return min([*extents, *numbers], default=2)


def _run(call: Call, mapping: dict[int, int]) -> Sample | None:
    generator = torch.Generator().manual_seed(0)

    def map_extent(extent: int) -> int:
        return mapping.get(extent, extent)

    bound = _bound(call, map_extent)
    floating = torch.float32 if call.op is _aten._grouped_mm.default else torch.float64
    tensors: list[Tensor] = []

    def values(meta: Meta) -> Tensor:
        shape = tuple(map(map_extent, meta.shape))
        if meta.dtype is torch.bool:
            return torch.rand(shape, generator=generator) < 0.5
        if meta.dtype.is_floating_point:
            return (torch.rand(shape, generator=generator, dtype=torch.float64) + 0.25).to(floating)
        if is_grouped(call.op):
            return _offsets(call, shape[0], map_extent, generator)
        if meta.dtype.is_complex:
            return torch.randn(shape, generator=generator, dtype=torch.complex128)
        return torch.randint(0, max(bound, 1), shape, generator=generator, dtype=meta.dtype)

    def real(leaf: Any) -> Any:
        if isinstance(leaf, Meta):
            tensors.append(values(leaf))
            return tensors[-1]
        if type(leaf) is int and leaf >= _SMALLEST_EXTENT:
            return map_extent(leaf)
        if isinstance(leaf, torch.dtype) and leaf.is_floating_point:
            return floating
        return leaf

    args = replace(call.args, real)
    kwargs = {name: replace(value, real) for name, value in call.kwargs}
    if "device" in kwargs:
        kwargs["device"] = torch.device("cpu")
    try:
        outputs = call_op(call.op, args, kwargs)
    except (RuntimeError, IndexError, TypeError, ValueError, NotImplementedError):
        return None
    if len(outputs) != len(call.outputs):
        return None
    for output, meta in zip(outputs, call.outputs):
        if (output is None) != (meta is None) or (
                meta is not None and output is not None and output.dim() != len(meta.shape)):
            return None
    return Sample(call.op, args, kwargs, tuple(tensors), outputs)


def samples_of(call: Call) -> list[tuple[Sample, int]]:
    """Runs of the call, each with the number of ranks to cut it for: 2 into even, 3 into uneven
    pieces. Empty if results are random or arbitrary, or if the call does not run small.

    Extents are small ones from POOLS, or the call's own if these are small and others do not run.
    Floating-point numbers are positive and of 64 bits, integers in the range of all dimensions.
    """
    if has_no_answer(call.op):
        return []
    found: list[tuple[Sample, int]] = []
    for ranks, pool in POOLS.items():
        sample = next(filter(None, (_run(call, mapping) for mapping in _mappings(call, pool))), None)
        if sample is not None:
            found.append((sample, ranks))
    elements = sum(torch.Size(meta.shape).numel() for meta in
                   [*call.inputs, *(output for output in call.outputs if output is not None)])
    if len(found) < len(POOLS) and elements <= _MOST_ELEMENTS:
        sample = _run(call, {})
        if sample is not None:
            found += [(sample, ranks) for ranks in POOLS]
    return found


def has_no_answer(op: Any) -> bool:
    """Returns true for operators whose results are random or uninitialised memory."""
    return op in _UNSPECIFIED or draws(op)


def with_tensors(sample: Sample, tensors: list[Tensor]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments with other tensors in their places."""
    remaining = iter(tensors)

    def other(leaf: Any) -> Any:
        return next(remaining) if isinstance(leaf, Tensor) else leaf

    return replace(sample.args, other), {name: replace(value, other)
                                         for name, value in sample.kwargs.items()}
