"""Progress functions, a tqdm bar, other processes, and Ctrl-C during a search."""

from __future__ import annotations

import importlib
import signal
import threading
from contextlib import contextmanager
from ctypes import c_void_p, string_at
from dataclasses import dataclass
from types import FrameType
from typing import Any, Callable, Iterator, Protocol, Sequence

from . import _native


@dataclass(frozen=True)
class Progress:
    """The state of a search. Ratings are in ms, or in bytes for the storage model."""

    work_steps: int  # done so far
    work_limit: int | None
    proposals: int  # evaluated so far
    proposals_at_most: int  # limit of all proposers together
    rating: float | None  # of the best plan so far
    lower_bound: float | None  # no plan rates below it
    elapsed: float  # seconds


def _progress_of(found: _native.Progress) -> Progress:
    return Progress(
        work_steps=found.work_steps, work_limit=found.work_limit or None, proposals=found.proposals,
        proposals_at_most=found.proposals_at_most, lower_bound=found.lower_bound or None,
        rating=found.rating if found.has_rating else None, elapsed=found.elapsed_s)


class _Bar:
    """A tqdm bar over work steps if they are limited, and otherwise over proposals."""

    def __init__(self, tqdm: Any) -> None:
        self._tqdm = tqdm
        self._bar: Any = None

    def __call__(self, progress: Progress) -> None:
        if self._bar is None:
            self._bar = self._tqdm(desc="planning", unit=" step", unit_scale=True, leave=False)
        self._bar.total = progress.work_limit or progress.proposals_at_most or None
        if progress.rating is not None:
            self._bar.set_postfix_str(f"{progress.rating:.4g} ms", refresh=False)
        done = progress.work_steps if progress.work_limit else progress.proposals
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


class Exchange(Protocol):
    """Other processes that plan the same problem: an all-gather of bytes. This process has the
    number `process`. All processes call `all_gather` equally often. It sends a message to all
    processes, and returns the messages of all, by process.
    """

    @property
    def process(self) -> int: ...

    @property
    def processes(self) -> int: ...

    def all_gather(self, message: bytes) -> Sequence[bytes]: ...


class Session:
    """An exchange for one planning call.

    A call ends with the first all-gather in which a process sends an empty message, and all
    processes see it. The library sends the empty message, or `leave` if the call failed before.
    """

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._ended = exchange.processes <= 1

    @property
    def process(self) -> int:
        return self._exchange.process

    @property
    def processes(self) -> int:
        return self._exchange.processes

    def all_gather(self, message: bytes) -> Sequence[bytes]:
        self._ended = True  # also if all_gather raises
        found = self._exchange.all_gather(message)
        if len(found) != self.processes:
            raise ValueError(f"all_gather returned {len(found)} messages of {self.processes} "
                             "processes")
        self._ended = not all(found)
        return found

    def leave(self) -> None:
        """Sends nothing, unless the session has ended."""
        if not self._ended:
            self.all_gather(b"")


class Watch:
    """Runs one call. An exception in a progress function, in an exchange or from Ctrl-C ends the
    call and is raised again afterwards.

    The library calls back after every batch of work. Python can handle Ctrl-C only in these
    callbacks, because native code runs the rest of the time.
    """

    def __init__(self, progress: object, exchange: Exchange | None = None) -> None:
        if progress is None or progress is False:
            self._tell: Callable[[Progress], object] | None = None
        elif progress is True:
            try:
                self._tell = _Bar(importlib.import_module("tqdm.auto").tqdm)
            except ImportError:
                self._tell = None
        elif callable(progress):
            self._tell = progress
        else:
            raise TypeError("progress must be True, False or a function of a Progress, "
                            f"not {type(progress).__name__}")
        self._raised: BaseException | None = None
        self._callback = _native.ProgressCallback(self._on_progress)
        self._exchange = exchange
        self._gather = (_native.GatherCallback() if exchange is None
                        else _native.GatherCallback(self._on_gather))

    def _on_progress(self, _: c_void_p, found: Any) -> int:
        try:
            if self._tell is not None and self._raised is None:
                self._tell(_progress_of(found.contents))
        except BaseException as raised:  # noqa: B036 - C code is between; run() raises it again
            self._raised = raised
        return int(self._raised is not None)

    def _on_gather(self, _: c_void_p, data: int | None, size: int, add: Any, sink: int) -> int:
        try:
            assert self._exchange is not None
            for message in self._exchange.all_gather(string_at(data, size) if data and size else b""):
                add(sink, message, len(message))
        except BaseException as raised:  # noqa: B036 - as in _on_progress
            self._raised = self._raised or raised
            return 1
        return 0

    def attach(self, options: _native.AskOptions) -> None:
        """Sets the callbacks of a call."""
        options.progress = self._callback
        if self._exchange is None:
            return
        options.process, options.processes = self._exchange.process, self._exchange.processes
        options.gather = self._gather

    def run(self, kind: str, name: str, *arguments: Any) -> _native.Handle:
        """Calls shardwright_<name> and returns its handle. Raises as `_native.call`."""
        with self._signals():
            try:
                handle = _native.Handle(kind, name, *arguments)
            except Exception:
                if self._raised is not None:
                    raise self._raised from None
                raise
        if self._raised is not None:
            handle.close()
            raise self._raised
        return handle

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Stores the exception of the Ctrl-C handler, which would be lost inside the callback."""
        before = signal.getsignal(signal.SIGINT)
        if not callable(before) or threading.current_thread() is not threading.main_thread():
            yield
            return

        def handle(number: int, frame: FrameType | None) -> None:
            try:
                before(number, frame)
            except BaseException as raised:  # noqa: B036 - run() raises it again
                self._raised = raised

        signal.signal(signal.SIGINT, handle)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        if isinstance(self._tell, _Bar):
            self._tell.close()
        # The callbacks refer to this object, so it would not be freed at once.
        self._callback = _native.ProgressCallback()
        self._gather = _native.GatherCallback()
        self._raised = None
