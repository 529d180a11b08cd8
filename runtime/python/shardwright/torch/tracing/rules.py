"""The rule of a call: entries from views, from torch, or of our own, each one run before it counts."""

from __future__ import annotations

import threading
import warnings
from typing import Any, Iterable

import torch

from .calls import Call
from .entries import ABSENT, Entry, Rule, dim_of, replicated
from .registry import torch_entries
from .validation import validated
from .views import view_entries

_cache: dict[Call, Rule] = {}
_lock = threading.Lock()


class UnknownOperatorWarning(UserWarning):
    """An operator that no rule is known of is planned replicated."""


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
    if entries is None:
        return Rule((basis,), "fallback")
    possible = [entry for entry in _distinct(entries) if entry.placements != basis.placements
                and _is_possible(call, entry)]
    return Rule((basis, *validated(call, possible, trusted=True)), source)


def _distinct(entries: Iterable[Entry]) -> list[Entry]:
    return list(dict.fromkeys(entries))


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


def warn_unknown(op: Any, module: str, line: str) -> None:
    """Says once per operator and place in a trace that all ranks compute the whole."""
    where = " in ".join(part for part in (line, module) if part)
    warnings.warn(f"no rule is known for {op}{f' ({where})' if where else ''}: every rank computes "
                  "all of it", UnknownOperatorWarning, stacklevel=3)
