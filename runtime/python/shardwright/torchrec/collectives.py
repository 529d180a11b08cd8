"""Times of collectives between the ranks of a job: inside of a host, and between hosts."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from dataclasses import dataclass
from typing import Any, Callable, Iterator

import torch
import torch.distributed as dist

from ..torch.timing import once_us, timed

COLUMNS = ("operation", "scope", "ranks", "bytes", "us", "spread")
_SIZES = tuple(1 << power for power in range(10, 27, 2))  # 1 KiB to 64 MiB in the larger buffer of a rank
_ELEMENT = 4
_WARMUP, _RUNS = 2, 11
# torch 2.13 renames them.
_reduce_scatter = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
_all_gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor


@dataclass(frozen=True)
class Group:
    """This process in the job."""

    rank: int
    size: int


@contextlib.contextmanager
def process_group(device: torch.device) -> Iterator[Group]:
    """The job that torchrun has started; one process alone without it."""
    if "RANK" not in os.environ or dist.is_initialized():
        yield Group(dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else Group(0, 1)
        return
    if device.type == "cuda":
        torch.cuda.set_device(device.index if device.index is not None else int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield Group(dist.get_rank(), dist.get_world_size())
    finally:
        dist.destroy_process_group()


def measure_collectives(group: Group, device: torch.device) -> dict[str, Any]:
    """Measures with all ranks; all of them must call. A time is that of the slowest rank."""
    hosts: list[Any] = [None] * group.size
    dist.all_gather_object(hosts, (socket.gethostname(), int(os.environ.get("LOCAL_RANK", group.rank))))
    rows = []
    for scope, members in _scopes(hosts):
        groups = [dist.new_group(ranks) for ranks in members]
        own = next(handle for handle, ranks in zip(groups, members) if group.rank in ranks)
        for operation, make in _OPERATIONS.items():
            for size in _SIZES:
                row = _time(make, size, own, len(members[0]), device)
                if row is None:
                    if group.rank == 0:
                        print(f"{operation} was left out: {dist.get_backend()} lacks it", file=sys.stderr)
                    break
                rows.append([operation, scope, len(members[0]), size, *row])
    return {"columns": list(COLUMNS), "rows": rows}


def _scopes(hosts: list[tuple[str, int]]) -> Iterator[tuple[str, list[list[int]]]]:
    """Groups of equal size that talk at once: the ranks of every host, those with equal places in their hosts, all."""
    names = list(dict.fromkeys(name for name, _ in hosts))
    of_host = [[rank for rank, (name, _) in enumerate(hosts) if name == own] for own in names]
    if len({len(ranks) for ranks in of_host}) > 1:
        of_host = [list(range(len(hosts)))]  # hosts differ, so only the whole is measured
    if len(of_host[0]) > 1:
        yield "intra_host", of_host
    if len(of_host) > 1:
        yield "inter_host", [list(ranks) for ranks in zip(*of_host)]
        if len(of_host[0]) > 1:
            yield "inter_host", [list(range(len(hosts)))]


def _all_to_all(whole: torch.Tensor, part: torch.Tensor, group: Any) -> Callable[[], object]:
    received = torch.empty_like(whole)
    return lambda: dist.all_to_all_single(received, whole, group=group)


_OPERATIONS: dict[str, Callable[[torch.Tensor, torch.Tensor, Any], Callable[[], object]]] = {
    "all_to_all": _all_to_all,
    "reduce_scatter": lambda whole, part, group: lambda: _reduce_scatter(part, whole, group=group),
    "all_gather": lambda whole, part, group: lambda: _all_gather(whole, part, group=group),
    "all_reduce": lambda whole, part, group: lambda: dist.all_reduce(whole, group=group),
}


def _time(make: Callable[..., Callable[[], object]], size: int, group: Any, ranks: int, device: torch.device
          ) -> tuple[float, float] | None:
    """Median and spread; None if the backend lacks the operation, which all ranks find alike."""
    part = torch.ones(max(1, size // _ELEMENT // ranks), dtype=torch.float32, device=device)
    run = make(part.repeat(ranks), part, group)
    times = []
    try:
        for _ in range(_WARMUP + _RUNS):
            dist.barrier()
            taken = torch.tensor([once_us(run, device)], dtype=torch.float64, device=device)
            dist.all_reduce(taken, dist.ReduceOp.MAX)
            times.append(float(taken))
    except (RuntimeError, NotImplementedError, ValueError):
        return None
    found = timed(times[_WARMUP:])
    return found.us, found.spread
