"""Entries of operators that torch has no rule of, or none that is good enough, and guesses to be
run.
"""

from __future__ import annotations

from typing import Callable, Iterator

import torch

from ..calls import Call, Meta
from ..grouped import ALIGNMENT, FALLBACK, FALLBACK_BACKWARD, is_rows_times_groups
from .entries import ABSENT, PARTIAL, REPLICATE, Entry, shard

_aten = torch.ops.aten


def _entry(text: str, divides: int | None = None) -> Entry:
    """The entry of a text such as "S0 R -> P": placements of the inputs, then of the outputs."""
    inputs, outputs = text.split("->")
    return Entry(tuple(outputs.split()), tuple(inputs.split()), divides)


def _entries(*texts: str) -> list[Entry]:
    return [_entry(text) for text in texts]


def _matmul(call: Call) -> list[Entry]:
    """[*lead, m, k] times [*lead, k, n] or [k, n]: leading dimensions, rows, columns, sums."""
    left, right = (len(meta.shape) for meta in call.inputs)
    lead = (f"S{dim} {shard(dim) if left == right else 'R'} -> S{dim}" for dim in range(left - 2))
    return _entries(*lead, f"S{left - 2} R -> S{left - 2}", f"R S{right - 1} -> S{left - 1}",
                    f"S{left - 1} S{right - 2} -> P", "P R -> P", "R P -> P")


def _tensordot(call: Call) -> list[Entry]:
    """Sums over the leading dimensions of both: [*lead, m] and [*lead, n] give [m, n]."""
    lead = len(call.inputs[0].shape) - 1
    return _entries(*(f"S{dim} S{dim} -> P" for dim in range(lead)), f"S{lead} R -> S0",
                    f"R S{lead} -> S1", "P R -> P", "R P -> P")


def apart(call: Call, tensor: Meta, weight: Meta) -> Iterator[tuple[int, int, int]]:
    """(dimension, number of windows, stride) of the dimensions of a convolution's input that can be
    cut between windows, so that a rank needs no neighbour's pixels: windows have no element in
    common, and none is left at the end. With stride 1 windows are single elements.
    """
    for position, (extent, kernel) in enumerate(zip(tensor.shape[2:], weight.shape[2:])):
        given = [call.argument(name) for name in ("stride", "padding", "dilation")]
        # One number for each dimension, or one for all.
        stride, padding, dilation = (int(numbers[position if len(numbers) > 1 else 0])
                                     for numbers in given)
        if padding == 0 and dilation * (kernel - 1) < stride and extent % stride == 0:
            yield position + 2, extent // stride, stride


def _convolution(call: Call) -> list[Entry]:
    """Input [batch, in, ...], weight [out, in / groups, ...], and a bias [out] or none."""
    if call.argument("transposed", False):
        return []
    groups, has_bias = call.argument("groups", 1), len(call.inputs) > 2
    whole, cut = (" R", " S0") if has_bias else ("", "")
    entries = [_entry(f"S0 R{whole} -> S0")]
    entries += [_entry(f"S{dim} R{whole} -> S{dim}", None if stride == 1 else count)
                for dim, count, stride in apart(call, *call.inputs[:2])]
    if groups > 1:
        return [*entries, _entry(f"S1 S0{cut} -> S1", groups)]
    return [*entries, _entry(f"R S0{cut} -> S1"), *([] if has_bias else _entries("S1 S1 -> P"))]


def _convolution_backward(call: Call) -> list[Entry]:
    """Gradient, input and weight; the gradients of input, weight and bias, as far as computed."""
    if call.argument("transposed", False):
        return []
    groups = call.argument("groups", 1)
    entries = [_entry("S0 S0 R -> S0 P P")]
    entries += [_entry(f"S{dim} S{dim} R -> S{dim} P P", None if stride == 1 else count)
                for dim, count, stride in apart(call, *call.inputs[1:3])]
    if groups == 1:
        entries += _entries("S1 R S0 -> P S0 S0", "R S1 S1 -> S1 S1 R")
    else:
        entries.append(_entry("S1 S1 S0 -> S1 S0 S0", groups))
    return [Entry(tuple(ABSENT if meta is None else word
                        for word, meta in zip(entry.outputs, call.outputs)),
                  entry.inputs, entry.divides) for entry in entries]


def _stack(call: Call) -> list[Entry]:
    """Tensors of equal shapes, with a new dimension between theirs."""
    count, rank = len(call.inputs), len(call.inputs[0].shape)
    new = call.argument("dim", 0) % (rank + 1)
    return _entries(*(f"{f'S{dim} ' * count}-> S{dim + (dim >= new)}" for dim in range(rank)))


def _embedding(call: Call) -> list[Entry]:
    """Table [rows, width], indices [*lead]: the table's rows, its width, or the indices."""
    lead = len(call.inputs[1].shape)
    return _entries("S0 R -> P", f"S1 R -> S{lead}",
                    *(f"R S{dim} -> S{dim}" for dim in range(lead)))


def _embedding_backward(call: Call) -> list[Entry]:
    """Gradient [*lead, width], indices [*lead]: the table's rows, its width, or the indices."""
    lead = len(call.inputs[1].shape)
    is_scaled = call.argument("scale_grad_by_freq", False)
    return _entries("R R -> S0", f"S{lead} R -> S1",
                    *(f"S{dim} S{dim} -> P" for dim in range(0 if is_scaled else lead)))


def _counted(call: Call) -> list[Entry]:
    """Operators whose indices are positions in dimension `own` of tensor 0 (see ../indexing.py)."""
    tensor, indices = (meta.shape for meta in call.inputs[:2])
    if not tensor or not indices:
        return []
    own = call.args[1] % len(tensor)
    others = [dim for dim in range(len(tensor)) if dim != own]
    if call.op is _aten.index_select.default:
        return _entries(f"S{own} R -> P", f"R S0 -> S{own}", *(f"S{dim} R -> S{dim}" for dim in others))
    if call.op is _aten.index_add.default:
        return _entries(f"S{own} R R -> S{own}", f"P S0 S{own} -> P",
                        *(f"S{dim} R S{dim} -> S{dim}" for dim in others))
    # Gather and scatter_add: in other dimensions, all tensors are cut alike.
    alike = [dim for dim in others if all(meta.shape[dim] == tensor[dim] for meta in call.inputs)]
    if call.op is _aten.gather.default:
        return _entries(f"S{own} R -> P", f"R S{own} -> S{own}",
                        *(f"S{dim} S{dim} -> S{dim}" for dim in alike))
    return _entries(f"S{own} R R -> S{own}", f"P S{own} S{own} -> P",
                    *(f"S{dim} S{dim} S{dim} -> S{dim}" for dim in alike))


def _index_put(call: Call) -> list[Entry] | None:
    """Sums into the positions of one tensor of indices, as in the gradient of a lookup; torch does not cut
    the indices. Returns None for other forms, which torch's entries cover.
    """
    if len(call.inputs) != 3 or not call.argument("accumulate", False):
        return None
    tensor, indices, values = call.inputs
    own, count = len(call.args[1]) - 1, len(indices.shape)
    if count == 0 or indices.dtype is torch.bool or len(values.shape) != len(tensor.shape) + count - 1:
        return None
    return _entries(*(f"P S{dim} S{own + dim} -> P" for dim in range(count)),
                    *(f"S{dim} R S{dim + (count - 1) * (dim > own)} -> S{dim}"
                      for dim in range(len(tensor.shape)) if dim != own))


def _grouped_mm(call: Call) -> list[Entry] | None:
    """The experts, columns of the result, and what is summed over; of a gradient of the matrices,
    the experts, rows and columns. None for other arguments than two tensors and offsets.
    """
    if len(call.inputs) != 3 or any(dict(call.kwargs).values()):
        return None
    left, right = (meta.shape for meta in call.inputs[:2])

    def aligned(text: str, extent: int) -> list[Entry]:
        """Pieces of the extent begin at multiples of the alignment."""
        size = extent * call.inputs[0].dtype.itemsize
        is_cut = size % ALIGNMENT == 0 and size > ALIGNMENT
        return [_entry(text, size // ALIGNMENT)] if is_cut else []

    if is_rows_times_groups((left, right)):
        return [_entry("R S0 R -> P"), *aligned("R S2 R -> S1", right[2]),
                *aligned("S1 S1 R -> P", right[1])]
    if (len(left), len(right)) == (2, 2):
        return [_entry("R R R -> S0"), *aligned("S0 R R -> S1", left[0]),
                *aligned("R S1 R -> S2", right[1])]
    return None


def _fallback(call: Call) -> list[Entry]:
    return _entries("R S0 R -> P", "R S2 R -> S1", "S1 S1 R -> P")


def _fallback_backward(call: Call) -> list[Entry]:
    """Rows [rows, k], matrices [groups, k, n], offsets and gradient [rows, n]; the gradients of the
    first two.
    """
    return _entries("R S0 R R -> P S0", "R S2 R S1 -> P S2", "S1 S1 R R -> S1 S1")


def _fused_attention(call: Call) -> list[Entry]:
    """Queries, keys and values [batch, heads, length, width], and a mask or none; the result, and the
    logarithms of sums [batch, heads, length].
    """
    return [_entry(f"S{dim} {others} {others} {mask} -> S{dim} S{dim}")
            for dim, others, mask in _cuts_of_attention(call, call.inputs[0], call.inputs[3:])]


def _fused_attention_backward(call: Call) -> list[Entry]:
    """Gradient, queries, keys, values, result, logarithms, and a mask or none."""
    return [_entry(f"S{dim} S{dim} {others} {others} S{dim} S{dim} {mask} -> S{dim} "
                   f"{'P P' if others == 'R' else f'{others} {others}'}")
            for dim, others, mask in _cuts_of_attention(call, call.inputs[1], call.inputs[6:])]


def _cuts_of_attention(call: Call, queries: Meta, mask: tuple[Meta, ...]) -> Iterator[tuple[int, str, str]]:
    """A dimension of the queries, and the words of keys and values, and of the mask."""
    for dim in range(2 if call.argument("is_causal", False) else 3):
        words = []
        for meta in mask:
            own = dim - 4 + len(meta.shape)
            words.append(shard(own) if own >= 0 and meta.shape[own] == queries.shape[dim] else REPLICATE)
        yield dim, REPLICATE if dim == 2 else shard(dim), " ".join(words)


def _factory(call: Call) -> list[Entry]:
    """A new tensor whose elements are equal, arbitrary or random: each rank makes its piece.

    A tensor that lends its dtype, or its shape as well, may be whole or cut like the new one.
    """
    entries = []
    output = call.outputs[0]
    for dim in range(len(output.shape) if output is not None else 0):
        if not call.inputs or call.op in _SIZED:
            entries.append(_entry(f"{'R ' * len(call.inputs)}-> S{dim}"))
        if call.inputs and output is not None and call.inputs[0].shape == output.shape:
            entries.append(_entry(f"S{dim} -> S{dim}"))
    return entries


# Operators with a size among their arguments.
_SIZED = (_aten.new_zeros.default, _aten.new_ones.default, _aten.new_full.default,
          _aten.new_empty.default, _aten.new_empty_strided.default)
# Operators that draw random numbers in the shape of their argument, whose values do not matter.
_DRAWN = (_aten.uniform.default, _aten.exponential.default, _aten.bernoulli.p, _aten.geometric.default,
          _aten.log_normal.default, _aten.cauchy.default, _aten.normal_functional.default)
_OWN: dict[object, Callable[[Call], "list[Entry] | None"]] = {
    _aten.matmul.default: _matmul, _aten.tensordot.default: _tensordot,
    _aten.convolution.default: _convolution,
    _aten.convolution_backward.default: _convolution_backward, _aten.stack.default: _stack,
    _aten.embedding.default: _embedding, _aten.embedding_dense_backward.default: _embedding_backward,
    _aten.gather.default: _counted, _aten.scatter_add.default: _counted,
    _aten.index_select.default: _counted, _aten.index_add.default: _counted,
    _aten.index_put.default: _index_put, _aten._grouped_mm.default: _grouped_mm,
    **{op: _factory for op in (*_SIZED, *_DRAWN, _aten.zeros.default, _aten.ones.default,
                               _aten.full.default, _aten.empty.memory_format, _aten.empty_like.default)},
    _aten._scaled_dot_product_flash_attention_for_cpu.default: _fused_attention,
    _aten._scaled_dot_product_flash_attention_for_cpu_backward.default: _fused_attention_backward,
    # By name, since the package that has these operators need not be installed.
    FALLBACK: _fallback, FALLBACK_BACKWARD: _fallback_backward,
}

# Rows of a part of the batch, with what is counted of them in full on every rank. New tensors take a dtype.
_BY_PART: dict[object, tuple[str, ...]] = {
    _aten.sort.default: ("S0 -> S0 S0",), _aten.sort.stable: ("S0 -> S0 S0",), _aten.histc.default: ("S0 -> R",),
    _aten._grouped_mm.default: ("S0 R R -> S0",), FALLBACK: ("S0 R R -> S0",),
    FALLBACK_BACKWARD: ("S0 R R S0 -> S0 P",), _aten.new_zeros.default: ("S0 -> R", "S0 -> S0", "S0 -> P"),
    **{op: ("S0 -> R", "S0 -> S0") for op in _SIZED if op is not _aten.new_zeros.default},
}


def own_entries(call: Call) -> list[Entry] | None:
    """The entries of an operator that torch has no rule of, or none that is good enough."""
    function = _OWN.get(call.op) or _OWN.get(str(call.op))
    return None if function is None else function(call)


def entries_by_part(call: Call) -> list[Entry]:
    """How a rank runs operators that mix rows on its part of the batch: rows sorted by expert are its own,
    and indices count in its own rows.
    """
    texts = _BY_PART.get(call.op) or _BY_PART.get(str(call.op)) or ()
    output = call.outputs[0]
    if call.op in (_aten.index.Tensor, _aten.index_put.default) and output is not None:
        rows = (call.inputs[0].shape[:1], output.shape[:1])
        indices = " ".join("S0" if meta.shape[:1] in rows else "R" for meta in call.inputs[1:])
        texts = (f"S0 {indices} -> S0",)
    elif call.op is _aten._grouped_mm.default and not is_rows_times_groups([meta.shape for meta in call.inputs]):
        texts = ("S1 S0 R -> P",)
    made = [_entry(text) for text in texts]
    return [Entry(entry.outputs, entry.inputs, by_part=True) for entry in made
            if len(entry.inputs) == len(call.inputs)]


def linear_guesses(call: Call) -> list[Entry]:
    """Partial sums pass through an operator that is linear in one tensor, or in all at once."""
    floating = [position for position, meta in enumerate(call.inputs)
                if meta.dtype.is_floating_point or meta.dtype.is_complex]
    chosen = [{position} for position in floating]
    if len(floating) > 1:
        chosen.append(set(floating))
    outputs = tuple(ABSENT if meta is None else PARTIAL for meta in call.outputs)
    return [Entry(outputs, tuple(PARTIAL if position in group else REPLICATE
                                 for position in range(len(call.inputs)))) for group in chosen]


def shard_guesses(call: Call) -> list[Entry]:
    """All tensors of the output's extents are cut alike; smaller ones are aligned at the end."""
    first = next((meta.shape for meta in call.outputs if meta is not None), ())

    def word(meta: Meta | None, dim: int) -> str:
        if meta is None:
            return ABSENT
        own = dim - (len(first) - len(meta.shape))
        return shard(own) if own >= 0 and meta.shape[own] == first[dim] else REPLICATE

    guesses = [Entry(tuple(word(meta, dim) for meta in call.outputs),
                     tuple(word(meta, dim) for meta in call.inputs)) for dim in range(len(first))]
    return [guess for guess in guesses if any(each != REPLICATE for each in guess.inputs)]
