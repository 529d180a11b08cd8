"""A list of sharding options that are made when somebody looks at them."""

from __future__ import annotations

import threading
from typing import Any, Callable

from torchrec.distributed.planner.types import ShardingOption


class OptionsOnDemand(list[ShardingOption]):
    """What `make` returns, as a list. It is asked at the first use, because there are many options
    and few plans need them. A copy, and what is unpickled, is a plain list.

    Thread safety: that of a list.
    """

    def __init__(self, make: Callable[[], list[ShardingOption]]) -> None:
        super().__init__()
        self._make: Callable[[], list[ShardingOption]] | None = make
        self._lock = threading.Lock()

    def _fill(self) -> None:
        with self._lock:
            if self._make is not None:
                list.extend(self, self._make())
                self._make = None

    def __reduce_ex__(self, _: object) -> Any:
        return list, (list(self),)

    def __radd__(self, before: list[ShardingOption]) -> list[ShardingOption]:
        return before + list(self)


def _filled(name: str) -> Callable[..., Any]:
    method = getattr(list, name)

    def call(self: OptionsOnDemand, *arguments: Any, **named: Any) -> Any:
        self._fill()
        return method(self, *arguments, **named)

    return call


for _name in ("__add__", "__contains__", "__delitem__", "__eq__", "__ge__", "__getitem__", "__gt__",
              "__iadd__", "__imul__", "__iter__", "__le__", "__len__", "__lt__", "__mul__",
              "__ne__", "__repr__", "__reversed__", "__rmul__", "__setitem__", "append", "clear",
              "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse", "sort"):
    setattr(OptionsOnDemand, _name, _filled(_name))
