"""Checks entries by running them: cut the inputs, run each rank, join the outputs, compare."""

from __future__ import annotations

import logging
from math import gcd
from typing import Sequence

import torch
from torch import Tensor

from ..calls import Call
from ..localise import localised
from ..pieces import Piece, piece_of
from .entries import Entry, dim_of
from .samples import Sample, call_op, samples_of, with_tensors

_LOG = logging.getLogger(__name__)
# Relative and absolute, for sums of a few hundred products of numbers near 1, in 64 and in 32 bits.
_TOLERANCE, _TOLERANCE_32 = 1e-9, 1e-4


def _piece(whole: Tensor, placement: str, ranks: int, rank: int) -> Piece:
    return piece_of(whole.shape, (placement,), (ranks,), (rank,))


def _fits(tensors: Sequence[Tensor | None], placements: Sequence[str], ranks: int) -> bool:
    """Returns true if no rank has an empty piece."""
    return all(tensor is None or (dim := dim_of(word)) is None or dim >= tensor.dim()
               or _piece(tensor, word, ranks, ranks - 1).shape[dim] > 0
               for tensor, word in zip(tensors, placements))


def _is_even(tensors: Sequence[Tensor | None], placements: Sequence[str], ranks: int) -> bool:
    return all(tensor is None or (dim := dim_of(word)) is None or tensor.shape[dim] % ranks == 0
               for tensor, word in zip(tensors, placements))


def _cut(tensor: Tensor, placement: str, ranks: int, generator: torch.Generator) -> list[Tensor]:
    """The piece of each rank. Raises ValueError if the placement is impossible for the tensor."""
    if placement == "R":
        return [tensor] * ranks
    dim = dim_of(placement)
    if dim is not None:
        return [piece.contiguous() for piece in tensor.split(-(-tensor.shape[dim] // ranks), dim)]
    if tensor.dtype is torch.bool:
        raise ValueError("no part of a truth value is a truth value")
    noise = (torch.rand((ranks, *tensor.shape), generator=generator, dtype=torch.float64)
             if tensor.dtype.is_floating_point or tensor.dtype.is_complex else
             torch.randint(-9, 10, (ranks, *tensor.shape), generator=generator))
    noise = noise.to(tensor.dtype)
    if placement in ("Pmax", "Pmin"):
        owner = torch.randint(0, ranks, tensor.shape, generator=generator)
        sign = 1 if placement == "Pmax" else -1
        return [torch.where(owner == rank, tensor, tensor - sign * noise[rank].abs())
                for rank in range(ranks)]
    noise = noise - torch.roll(noise, 1, 0)  # whose sum over the ranks is zero
    whole = tensor if placement == "Pavg" else tensor / ranks
    if not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
        whole = torch.zeros_like(tensor)
        noise[0] += tensor * (ranks if placement == "Pavg" else 1)
    return [(whole + noise[rank]).to(tensor.dtype) for rank in range(ranks)]


def _close(found: Tensor, wanted: Tensor) -> bool:
    if found.shape != wanted.shape:
        return False
    if wanted.dtype.is_floating_point or wanted.dtype.is_complex:
        tolerance = _TOLERANCE_32 if wanted.dtype is torch.float32 else _TOLERANCE
        return bool(torch.allclose(found.to(wanted.dtype), wanted, rtol=tolerance, atol=tolerance,
                                   equal_nan=True))
    return bool(torch.equal(found.to(wanted.dtype), wanted))


def _joins(pieces: list[Tensor], placement: str, whole: Tensor) -> bool:
    dim = dim_of(placement)
    if dim is not None:
        wanted = whole.split(-(-whole.shape[dim] // len(pieces)), dim)
        return len(wanted) == len(pieces) and all(map(_close, pieces, wanted))
    if placement == "R":
        return all(_close(piece, whole) for piece in pieces)
    if any(piece.shape != whole.shape for piece in pieces) or whole.dtype is torch.bool:
        return False
    stack = torch.stack(pieces)
    joined = {"P": lambda: stack.sum(0), "Pavg": lambda: stack.sum(0) / len(pieces),
              "Pmax": lambda: stack.amax(0), "Pmin": lambda: stack.amin(0)}[placement]()
    return _close(joined, whole)


def _holds(sample: Sample, entry: Entry, ranks: int) -> bool:
    """Returns true if the entry gives what the call gives, on that many ranks."""
    generator = torch.Generator().manual_seed(0)
    try:
        cut = [_cut(tensor, word, ranks, generator)
               for tensor, word in zip(sample.tensors, entry.inputs)]
        results = []
        for rank in range(ranks):
            args, kwargs = with_tensors(sample, [pieces[rank] for pieces in cut])
            function, args = localised(
                sample.op, args,
                [_piece(whole, word, ranks, rank) for whole, word in zip(sample.tensors, entry.inputs)],
                [None if whole is None else _piece(whole, word, ranks, rank)
                 for whole, word in zip(sample.outputs, entry.outputs)])
            results.append(call_op(function, args, kwargs))
    except (RuntimeError, IndexError, TypeError, ValueError, NotImplementedError):
        return False
    for output, (whole, word) in enumerate(zip(sample.outputs, entry.outputs)):
        pieces = [result[output] for result in results]
        if whole is None or word == "-":
            continue
        if any(piece is None for piece in pieces) or not _joins(pieces, word, whole):
            return False
    return True


def _verdict(samples: Sequence[tuple[Sample, int]], entry: Entry) -> tuple[bool | None, bool | None]:
    """(holds for even pieces, holds for uneven pieces), None where not tried."""
    verdict: dict[bool, bool] = {}
    for sample, ranks in samples:
        tensors = [*sample.outputs, *sample.tensors]
        if not _fits(tensors, entry.placements, ranks):
            continue
        if entry.divides is not None and entry.divides % ranks:
            continue
        even = _is_even(tensors, entry.placements, ranks)
        if verdict.get(even) is not False:
            verdict[even] = _holds(sample, entry, ranks)
        if verdict.get(True) is False:
            break
    return verdict.get(True), verdict.get(False)


def validated(call: Call, entries: Sequence[Entry], trusted: bool) -> list[Entry]:
    """The entries that hold when they are run, in their order.

    An entry that holds only for equal pieces gets `divides`: the largest number that divides all
    extents that the entry shards. If a call cannot be run small, or no entry can be cut, entries
    stay if they are `trusted`.
    """
    samples = samples_of(call)
    kept = []
    for entry in entries:
        even, uneven = _verdict(samples, entry)
        if even is False or (even is None and uneven is None and not trusted):
            _LOG.debug("dropped for %s: %s", call.op, entry)
            continue
        if uneven is False and entry.divides is None:
            divisor = gcd(*(meta.shape[dim] for meta, word in
                            zip((*call.outputs, *call.inputs), entry.placements)
                            if meta is not None and (dim := dim_of(word)) is not None))
            if divisor < 2:
                _LOG.debug("dropped for %s, uneven: %s", call.op, entry)
                continue
            entry = Entry(entry.outputs, entry.inputs, divisor)
        kept.append(entry)
    return kept
