"""Puts a planner in the place of torch's, and back."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager

try:
    from torch.distributed.tensor import _redistribute
    _TORCHS = _redistribute._gen_transform_infos
    _redistribute._TransformInfo  # noqa: B018 - raises if this release has none
    from .planner import Planner, merged
except (ImportError, AttributeError) as _error:
    raise ImportError("shardwright.torch.redistribution needs torch 2.13 or 2.14, or a release that plans "
                      f"redistributions as they do: {_error}") from _error

_lock = threading.Lock()
_active: list[Planner | None] = []  # in the order of entering
_replaced = _TORCHS, _redistribute._optimize_transform_infos  # the functions before the first one was entered
_planners: dict[int | None, Planner] = {}  # kept with their cached plans for the next entering


def _install() -> None:
    """Installs the planner that was entered last; without any, the one that was there before."""
    planning, merging = _replaced
    for planner in _active:
        planning = planning if planner is None else planner.infos
    _redistribute._gen_transform_infos = planning
    _redistribute._optimize_transform_infos = merged if _active else merging


class Merging(AbstractContextManager[None]):
    """Between entering and leaving, collectives are joined where that is right, and a planner may
    stand for torch's. May be entered again, also while it is active. Thread safety: any.
    """

    def __init__(self, planner: Planner | None = None) -> None:
        self._planner = planner

    def __enter__(self) -> None:
        global _replaced
        with _lock:
            if not _active:
                _replaced = (_redistribute._gen_transform_infos,
                             _redistribute._optimize_transform_infos)
            _active.append(self._planner)
            _install()

    def __exit__(self, *_: object) -> None:
        with _lock:
            # Of several equal ones the last, as nested `with` statements leave in reverse order.
            del _active[len(_active) - 1 - _active[::-1].index(self._planner)]
            _install()


class Replacement(Merging):
    """Replaces the planner, too."""

    def __init__(self, devices_per_host: int | None) -> None:
        if devices_per_host is not None and devices_per_host < 1:
            raise ValueError(f"devices_per_host must be at least 1, not {devices_per_host}")
        with _lock:
            super().__init__(_planners.setdefault(devices_per_host, Planner(_TORCHS, devices_per_host)))
