"""Times code on a device: the one place that every measurement of this package stands on."""

from __future__ import annotations

import ctypes
import platform
import statistics
import time
from datetime import date
from pathlib import Path
from typing import Any, Callable, NamedTuple, Sequence

import torch

_LEAST_FLUSHED = 32 << 20  # bytes, for processors that do not tell their caches
_MALLOC_TRIM_THRESHOLD, _MALLOC_MMAP_MAX = -1, -4  # M_TRIM_THRESHOLD, M_MMAP_MAX of glibc's malloc.h


class Timed(NamedTuple):
    """The median of several runs, and how far they lie apart: half of the quartiles' distance, relative."""

    us: float
    spread: float


def timed(runs_us: Sequence[float]) -> Timed:
    middle = statistics.median(runs_us)
    if len(runs_us) < 2 or middle <= 0:
        return Timed(middle, 0.0)
    low, _, high = statistics.quantiles(runs_us, n=4, method="inclusive")
    return Timed(middle, (high - low) / 2 / middle)


def default_device(device: str | torch.device | None = None) -> torch.device:
    return torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))


def once_us(run: Callable[[], object], device: torch.device, *, processor: bool = False) -> float:
    """The time of one run. With `processor`, on a CPU, only the time that this thread computes: other programs then
    make it longer by the caches and the bandwidth that they take, and not by the time that they run.
    """
    if device.type == "cuda":
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize(device)
        begin.record()
        run()
        end.record()
        torch.cuda.synchronize(device)
        return float(begin.elapsed_time(end)) * 1e3
    clock = time.thread_time_ns if processor else time.perf_counter_ns
    begin_ns = clock()
    run()
    return (clock() - begin_ns) / 1e3


class Flush:
    """Empties the device's caches, as the rest of a training step does between two calls."""

    def __init__(self, device: torch.device) -> None:
        largest = max(cache_sizes(device).values(), default=0)
        self._bytes = torch.zeros(3 * max(largest, _LEAST_FLUSHED) // 4, dtype=torch.float32, device=device)

    def __call__(self) -> None:
        self._bytes.add_(1)


def cache_sizes(device: torch.device) -> dict[str, int]:
    """Bytes of the caches `l2` and `l3` that the device has."""
    if device.type == "cuda":
        return {"l2": int(torch.cuda.get_device_properties(device).L2_cache_size)}
    found = {}
    for cache in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            level, kind, size = ((cache / name).read_text().strip() for name in ("level", "type", "size"))
        except OSError:
            continue
        if kind != "Instruction" and level in "23":
            found[f"l{level}"] = int(size.rstrip("K")) << 10
    return found


def keep_memory() -> None:
    """From now on, the process keeps memory that is freed, as allocators for training do (jemalloc, CUDA's caching
    allocator). glibc gives blocks above 32 MiB back, and every call then waits for new, zeroed pages.
    """
    if platform.libc_ver()[0] == "glibc":
        library = ctypes.CDLL(None)
        library.mallopt(_MALLOC_MMAP_MAX, 0)
        library.mallopt(_MALLOC_TRIM_THRESHOLD, -1)  # never


def _processor_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def memory_bytes(device: torch.device, *, free: bool = False) -> int:
    """Bytes of the device's memory, or of what is free of it."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0 if free else 1])
    lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
    amounts = dict(line.split(":", 1) for line in lines)
    return int(amounts["MemAvailable" if free else "MemTotal"].split()[0]) << 10


def machine_facts(device: torch.device, name: str, versions: dict[str, str]) -> dict[str, Any]:
    """The member `machine` of a file of measured costs."""
    device_name = torch.cuda.get_device_properties(device).name if device.type == "cuda" else _processor_name()
    return {"format": 1, "name": name or device_name, "device": device.type, "device_name": device_name,
            "memory": memory_bytes(device), "threads": torch.get_num_threads() if device.type == "cpu" else 1,
            "versions": {"torch": torch.__version__, **versions}, "date": date.today().isoformat(),
            "caches": cache_sizes(device)}
