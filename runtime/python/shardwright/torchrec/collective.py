"""All ranks of a process group search one plan together."""

from __future__ import annotations

import json
import logging
import os
import pickle
import socket
from dataclasses import asdict, dataclass
from typing import Any, Callable, Sequence, TypeVar, cast

import torch.distributed as dist
from torchrec.distributed.types import ShardingPlan

from ..errors import ShardwrightError
from ..planning import Cancel, plan

logger = logging.getLogger(__name__)

_T = TypeVar("_T")


class GroupExchange:
    """The all-gather of a process group, for any backend."""

    def __init__(self, group: dist.ProcessGroup) -> None:
        self._group = group

    @property
    def process(self) -> int:
        """This rank in the group."""
        return int(self._group.rank())

    @property
    def processes(self) -> int:
        """Ranks in the group."""
        return int(self._group.size())

    def all_gather(self, message: bytes) -> Sequence[bytes]:
        found: list[bytes] = [b""] * self.processes
        dist.all_gather_object(found, message, group=self._group)
        return found

    def threads(self) -> int:
        """This rank's part of its host's cores, at least 1. All ranks call it."""
        hosts = self.all_gather(socket.gethostname().encode())
        return max(1, len(os.sched_getaffinity(0)) // list(hosts).count(hosts[self.process]))


@dataclass(frozen=True)
class Request:
    """A planning call in which all ranks take part."""

    problem: dict[str, Any]
    time_limit: float | None
    work_limit: int | None
    seed: int


class Leader:
    """What rank 0 has of the other ranks: it calls them for every search."""

    def __init__(self, exchange: GroupExchange) -> None:
        self.exchange = exchange

    def call(self, request: Request) -> None:
        """Makes the others plan this, too. They then take part in the exchange."""
        self.exchange.all_gather(json.dumps(asdict(request)).encode())

    def dismiss(self) -> None:
        """Ends `follow` in the others."""
        self.exchange.all_gather(b"")


def follow(exchange: GroupExchange, threads: int, cancel: Cancel | None) -> None:
    """What the ranks other than 0 do: they search what rank 0 asks for until it dismisses them."""
    while request := exchange.all_gather(b"")[0]:
        asked = Request(**json.loads(request))
        try:
            plan(asked.problem, mode="best", threads=threads, time_limit=asked.time_limit,
                 work_limit=asked.work_limit, seed=asked.seed, cancel=cancel, exchange=exchange)
        except ShardwrightError as error:  # rank 0 has the same error, or plans alone
            logger.info("this rank does not take part in the search: %s", error)


def _portable(error: Exception) -> Exception:
    """The error as other processes can read it."""
    try:
        pickle.loads(pickle.dumps(error))
        return error
    except Exception:  # noqa: BLE001 - whatever the error's own code does
        return RuntimeError(f"{type(error).__name__}: {error}")


def from_leader(group: dist.ProcessGroup, make: Callable[[], _T]) -> _T:
    """Calls `make()` on rank 0 and returns its answer on all ranks, or raises its error there."""
    answer: list[Any] = [None]
    if group.rank() == 0:
        try:
            answer = [make()]
        except Exception as error:  # noqa: BLE001 - raised below, so that no rank waits for this one
            answer = [_portable(error)]
    dist.broadcast_object_list(answer, group_src=0, group=group)
    if isinstance(answer[0], Exception):
        raise answer[0]
    return cast(_T, answer[0])


def plan_on_leader(group: dist.ProcessGroup,
                   make_plan: Callable[[Leader, int], ShardingPlan], threads: int,
                   cancel: Cancel | None) -> ShardingPlan:
    """Calls `make_plan(leader, threads)` on rank 0, helped by the others, and returns its plan on all
    ranks. `threads` 0 divides the cores of a host among its ranks. An exception is raised on all ranks.
    """
    exchange = GroupExchange(group)
    share = exchange.threads()
    threads = threads or share

    def lead() -> ShardingPlan:
        leader = Leader(exchange)
        try:
            return make_plan(leader, threads)
        finally:
            leader.dismiss()

    if exchange.process != 0:
        follow(exchange, threads, cancel)
    return from_leader(group, lead)
