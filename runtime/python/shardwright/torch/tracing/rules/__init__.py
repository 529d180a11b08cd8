"""On which dimensions an operator's tensors may be sharded, and what comes out (../README.md, A
rule).
"""

from __future__ import annotations

import threading
from typing import Iterable

import torch

from ..calls import Call
from .entries import ABSENT, EXTREMES, Entry, Rule, dim_of, replicated
from .own import entries_by_part, linear_guesses, own_entries, shard_guesses
from .registry import torch_entries
from .validation import validated
from .views import view_entries

_cache: dict[Call, Rule] = {}
_lock = threading.Lock()


def rule_of(call: Call) -> Rule:
    """The rule of a call. Equal calls get the same object, for the life of the process.

    Thread safety: any.
    """
    with _lock:
        found = _cache.get(call)
    if found is None:
        found = _made(call)
        with _lock:
            found = _cache.setdefault(call, found)
    return found


def _made(call: Call) -> Rule:
    """Our own entries take the place of torch's. Guessed entries count only if they were run."""
    basis = replicated(len(call.inputs), call.outputs)
    for source, entries_of in (("view", view_entries), ("own", own_entries), ("torch", torch_entries)):
        entries = entries_of(call)
        if entries is not None:
            known = _possible(call, entries, (basis,))
            guesses = _possible(call, linear_guesses(call), (basis, *known))
            return _with_parts(call, (basis, *validated(call, known, trusted=True),
                                      *validated(call, guesses, trusted=False)), source)
    if not call.inputs:
        return Rule((basis,), "own")  # a new tensor, which every rank makes whole
    return _discovered(call, basis)


def _discovered(call: Call, basis: Entry) -> Rule:
    """The rule of an operator that nothing is known of: the guesses that hold when they are run. A
    call without a dimension to cut needs no warning.
    """
    guesses = _possible(call, [*shard_guesses(call), *linear_guesses(call)], (basis,))
    found = (basis, *validated(call, guesses, trusted=False))
    is_small = all(extent < 2 for meta in (*call.outputs, *call.inputs) if meta is not None
                   for extent in meta.shape)
    return _with_parts(call, found, "own" if len(found) > 1 or is_small else "fallback")


def _with_parts(call: Call, entries: tuple[Entry, ...], source: str) -> Rule:
    by_part = _possible(call, entries_by_part(call), entries)
    return Rule((*entries, *by_part), "own" if by_part and source == "fallback" else source)


def _possible(call: Call, entries: Iterable[Entry], known: Iterable[Entry]) -> list[Entry]:
    """Each possible entry once, without the known ones."""
    seen = {entry.placements for entry in known}
    found = []
    for entry in entries:
        if entry.placements not in seen and _is_possible(call, entry):
            seen.add(entry.placements)
            found.append(entry)
    return found


def _is_possible(call: Call, entry: Entry) -> bool:
    """Returns false if an entry shards what cannot be cut, has partial booleans, or has extremes of
    complex numbers, which have no order.
    """
    for meta, word in zip([*call.outputs, *call.inputs], entry.placements):
        if meta is None or word == ABSENT:
            continue
        dim = dim_of(word)
        if dim is not None and (dim >= len(meta.shape) or dim < 0 or meta.shape[dim] < 2):
            return False
        if word[0] == "P" and meta.dtype is torch.bool:
            return False
        if word in EXTREMES and meta.dtype.is_complex:
            return False
    return True
