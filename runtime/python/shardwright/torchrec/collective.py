"""All ranks of a process group search one plan, each with a seed of its own."""

from __future__ import annotations

import json
import logging
import os
import pickle
import socket
from typing import Any, Callable, Mapping, Sequence, TypeVar, cast

import torch.distributed as dist
from torchrec.distributed.types import ShardingPlan

from ..answer import Cancel
from ..arguments import text_of_document
from ..planning import plan

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
        """This rank's part of the cores that it may use, at least 1. All ranks call it."""
        cores = sorted(os.sched_getaffinity(0))
        sharing = self.all_gather(f"{socket.gethostname()} {cores}".encode())
        return max(1, len(cores) // list(sharing).count(sharing[self.process]))


class Leader:
    """Rank 0's view of the other ranks, which it calls for every search. `threads` is rank 0's part
    of the cores while all ranks search.
    """

    def __init__(self, exchange: GroupExchange, threads: int) -> None:
        self.exchange = exchange
        self.threads = threads

    def call(self, problem: Mapping[str, Any], **limits: Any) -> None:
        """Lets the other ranks plan this problem, too. They then take part in the exchange."""
        text = text_of_document(problem, "problem").decode()
        self.exchange.all_gather(json.dumps({"problem": text, **limits}).encode())

    def dismiss(self) -> None:
        """Ends `follow` in the others."""
        self.exchange.all_gather(b"")


def follow(exchange: GroupExchange, threads: int, cancel: Cancel | None) -> BaseException | None:
    """Searches what rank 0 asks for until rank 0 dismisses this rank, whatever happens, so that no
    rank waits. Returns the exception that interrupted the rank, if any.
    """
    interrupted: BaseException | None = None
    while request := exchange.all_gather(b"")[0]:
        if interrupted is not None:
            exchange.all_gather(b"")  # the others answer with their own plans
            continue
        try:
            plan(mode="best", threads=threads, cancel=cancel, exchange=exchange,
                 **json.loads(request))
        except Exception as error:  # noqa: BLE001 - rank 0 has the same error, or plans alone
            logger.warning("this rank does not take part in the search: %s", error)
        except BaseException as reason:  # noqa: B036 - Ctrl-C; raised after the last message
            interrupted = reason
    return interrupted


def _portable(error: BaseException) -> Exception:
    """The error in a form that other processes can unpickle."""
    if isinstance(error, Exception):
        try:
            pickle.loads(pickle.dumps(error))
            return error
        except Exception:  # noqa: BLE001 - whatever the error's own code does
            pass
    return RuntimeError(f"{type(error).__name__}: {error}")


def from_leader(group: dist.ProcessGroup, make: Callable[[], _T]) -> _T:
    """Calls `make()` on rank 0 and returns its answer on all ranks, or raises its error there."""
    answer: list[Any] = [None]
    raised: BaseException | None = None
    if group.rank() == 0:
        try:
            answer = [make()]
        except BaseException as error:  # noqa: B036 - raised below, so that no rank waits for this one
            raised, answer = error, [_portable(error)]
    dist.broadcast_object_list(answer, group_src=0, group=group)
    try:
        if raised is not None:
            raise raised
        if isinstance(answer[0], Exception):
            raise answer[0]
        return cast(_T, answer[0])
    finally:
        # The error refers to this frame. If the frame referred to the error, the group would stay until
        # the next garbage collection, and Gloo's threads abort a process that ends before that.
        del answer, raised


def plan_on_leader(group: dist.ProcessGroup, make_plan: Callable[[Leader], ShardingPlan],
                   threads: int, cancel: Cancel | None) -> ShardingPlan:
    """Calls `make_plan(leader)` on rank 0, helped by the others, and returns its plan on all ranks.
    `threads` 0 divides the cores of a host among its ranks. Rank 0's exception is raised on all
    ranks.
    """
    exchange = GroupExchange(group)
    share = exchange.threads()

    def lead() -> ShardingPlan:
        leader = Leader(exchange, threads or share)
        try:
            return make_plan(leader)
        finally:
            leader.dismiss()

    interrupted = None
    if exchange.process != 0:
        interrupted = follow(exchange, threads or share, cancel)
    try:
        answer = from_leader(group, lead)
        if interrupted is not None:
            raise interrupted
        return answer
    finally:
        del interrupted  # as in from_leader
