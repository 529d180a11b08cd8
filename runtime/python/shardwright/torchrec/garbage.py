"""Holds off Python's garbage collection while plans are converted."""

from __future__ import annotations

import gc
import threading
from contextlib import contextmanager
from typing import Iterator

_lock = threading.Lock()
_holders = 0
_was_enabled = False  # before the first holder entered


def _hold() -> None:
    global _holders, _was_enabled
    with _lock:
        if _holders == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
        _holders += 1


def _release() -> None:
    global _holders
    with _lock:
        _holders -= 1
        if _holders == 0 and _was_enabled:
            gc.enable()


@contextmanager
def collections_held() -> Iterator[None]:
    """Holds off automatic collections. A full one visits the million objects that importing torch
    and TorchRec leaves, which takes longer than a plan. May be nested. The process's setting is
    restored when the last of all threads leaves. Thread safety: any.
    """
    _hold()
    try:
        yield
    finally:
        _release()


@contextmanager
def collections_allowed() -> Iterator[None]:
    """Inside `collections_held`, around long work, during which other threads leave garbage."""
    _release()
    try:
        yield
    finally:
        _hold()
