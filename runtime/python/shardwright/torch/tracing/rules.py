"""The rule of a call: entries from views, from torch, or of our own, each one run before it counts."""

from __future__ import annotations

import threading
from typing import Iterable

import torch

from .calls import Call
from .entries import ABSENT, Entry, Rule, dim_of, replicated
from .own import linear_guesses, own_entries, shard_guesses
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
    basis = replicated(len(call.inputs), call.outputs)
    if not call.inputs:
        return Rule((basis,), "own")  # a new tensor, which every rank makes whole
    source = "view"
    entries = view_entries(call)
    if entries is None:
        source, entries = "torch", torch_entries(call)
    own = own_entries(call)
    if entries is None and own is None:
        return _discovered(call, basis)
    ours = _possible(call, own or [], (basis,))
    found = validated(call, ours, trusted=own is not None)
    more = _possible(call, entries or [], (basis, *ours))
    found += validated(call, more, trusted=True)
    guesses = _possible(call, linear_guesses(call), (basis, *ours, *more))
    found += validated(call, guesses, trusted=False)
    return Rule((basis, *found), source if entries is not None else "own")


def _discovered(call: Call, basis: Entry) -> Rule:
    """For an operator without a rule: what holds whenever it is run. Replicated if nothing does."""
    guesses = _possible(call, [*shard_guesses(call), *linear_guesses(call)], (basis,))
    found = validated(call, guesses, trusted=False)
    return Rule((basis, *found), "own" if found else "fallback")


def _possible(call: Call, entries: Iterable[Entry], known: Iterable[Entry]) -> list[Entry]:
    """Each entry once, without those known and those that cannot be."""
    seen = {entry.placements for entry in known}
    found = []
    for entry in entries:
        if entry.placements not in seen and _is_possible(call, entry):
            seen.add(entry.placements)
            found.append(entry)
    return found


def _is_possible(call: Call, entry: Entry) -> bool:
    """Returns false if an entry shards what cannot be cut, or has parts of truth values."""
    for meta, word in zip([*call.outputs, *call.inputs], entry.placements):
        if meta is None or word == ABSENT:
            continue
        dim = dim_of(word)
        if dim is not None and (dim >= len(meta.shape) or dim < 0 or meta.shape[dim] < 2):
            return False
        if word[0] == "P" and meta.dtype is torch.bool:
            return False
    return True
