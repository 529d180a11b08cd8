"""Plans, plans again from a plan in use, and verifies plans."""

from __future__ import annotations

import sys
from ctypes import byref, c_size_t, c_uint64
from dataclasses import dataclass
from typing import Callable, Mapping, Union, Any

from . import _native
from .problem import ProblemLike, SearchSpace, _Closable, _json_text, as_problem
from .progress import Exchange, Progress, Session, Watch
from .result import PlanResult

ProgressLike = Union[bool, Callable[[Progress], object], None]


class Cancel(_Closable):
    """Stops planning calls from any thread. They end with the best plan so far.

    Thread safety: any.
    """

    def __init__(self) -> None:
        self._handle = _native.Handle("cancel", "cancel_create")

    def request(self) -> None:
        """Stops all planning calls that were given this object, now and later."""
        _native.call("cancel_request", self._handle.value)


_MOST_THREADS = 2**31 - 1
_MOST_WORK = 2**64 - 1
_LEAST_LANES, _MOST_LANES = 3, 4096


def _number(value: object, name: str, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number, not {type(value).__name__}")
    if not least <= value <= most:
        raise ValueError(f"{name} must be between {least} and {most}, not {value}")
    return value


def _integer(value: object, name: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}")
    if not least <= value <= most:
        raise ValueError(f"{name} must be between {least} and {most}, not {value}")
    return value


def _options(mode: str, threads: int, time_limit: float | None, work_limit: int | None, seed: int,
             lanes: int | None, cancel: Cancel | None) -> _native.PlanOptions:
    if mode not in _native.MODES:
        raise ValueError(f"mode must be 'best' or 'compat', not {mode!r}")
    if cancel is not None and not isinstance(cancel, Cancel):
        raise TypeError(f"cancel must be a shardwright.Cancel, not {type(cancel).__name__}")
    options = _native.PlanOptions(mode=_native.MODES[mode])
    options.threads = _integer(threads, "threads", 0, _MOST_THREADS)
    options.seed = _integer(seed, "seed", 0, _MOST_WORK)
    if lanes is not None:
        options.lanes = _integer(lanes, "lanes", _LEAST_LANES, _MOST_LANES)
    if time_limit is not None:
        # The library takes 0 as "no limit"; here it means "stop at once".
        options.time_limit_s = _number(time_limit, "time_limit", 0, sys.float_info.max) or 1e-9
    if work_limit is not None:
        options.work_limit = _integer(work_limit, "work_limit", 1, _MOST_WORK)
    if cancel is not None:
        options.cancel = cancel._handle.value
    return options


def _space_value(search_space: SearchSpace | None) -> int | None:
    if search_space is None:
        return None
    if not isinstance(search_space, SearchSpace):
        raise TypeError("search_space must be a shardwright.SearchSpace, "
                        f"not {type(search_space).__name__}")
    return search_space._handle.value


def plan(problem: ProblemLike, *, mode: str = "best", search_space: SearchSpace | None = None,
         threads: int = 0, time_limit: float | None = None, work_limit: int | None = None,
         seed: int = 0, lanes: int | None = None, progress: ProgressLike = None,
         cancel: Cancel | None = None, exchange: Exchange | None = None) -> PlanResult:
    """Chooses sharding, kernel and ranks of every table.

    `problem` is a Problem, a dict, JSON text or the path of a file. `mode` is "best" (search for
    the best plan, with a lower bound on every plan) or "compat" (make TorchRec's decisions).
    `search_space` replaces the enumerated options and their estimated costs. `threads` 0 means all
    cores. `time_limit` is in seconds, `work_limit` in work steps, which do not depend on the
    machine. Best mode without any limit stops after about two seconds of work. `lanes` is the number
    of searches of best mode that run side by side (32 by default), on any number of threads and
    processes; it decides what is found.
    `progress` is True for a tqdm bar, if tqdm is installed, or a function that takes a Progress. If
    it raises, planning stops and the exception is raised again; the same holds for Ctrl-C. `cancel`
    stops the search with the best plan so far. With an `exchange`, several processes search
    together, which call this with equal arguments other than `threads`; all find the same plan, and
    the proof of its bound is in the result of process 0.

    If no plan is found, `has_plan` is False and `failure` says why. Raises InvalidInputError with
    the place in the problem, and TypeError or ValueError for other arguments. Releases the GIL.
    """
    session = None if exchange is None else Session(exchange)
    try:
        read = as_problem(problem)
        space = _space_value(search_space)
        options = _options(mode, threads, time_limit, work_limit, seed, lanes, cancel)
        with Watch(progress, session) as watch:
            watch.attach(options)
            handle = watch.run("result", "plan", read._handle.value, space, byref(options))
    finally:
        if session is not None:
            session.leave()
    return PlanResult(read, handle)


def replan(problem: ProblemLike, old_plan: PlanResult | Mapping[str, Any] | str | bytes, *,
           migration_weight: float = 0.0, mode: str = "best",
           search_space: SearchSpace | None = None, threads: int = 0,
           time_limit: float | None = None, work_limit: int | None = None, seed: int = 0,
           lanes: int | None = None, progress: ProgressLike = None,
           cancel: Cancel | None = None) -> PlanResult:
    """Plans again from a plan in use.

    `old_plan` is a result, or the dict or JSON text of a plan file. Moving one GiB must lower the
    rating by at least `migration_weight` ms. Other arguments and errors are those of `plan`.
    """
    read = as_problem(problem)
    old = _plan_text(old_plan)
    space = _space_value(search_space)
    options = _options(mode, threads, time_limit, work_limit, seed, lanes, cancel)
    weight = _number(migration_weight, "migration_weight", 0, sys.float_info.max)
    with Watch(progress) as watch:
        watch.attach(options)
        handle = watch.run("result", "replan", read._handle.value, space, old, len(old), weight,
                           byref(options))
    return PlanResult(read, handle)


def _plan_text(plan: object) -> bytes:
    if isinstance(plan, PlanResult):
        return plan.to_json().encode()
    return _json_text(plan, "plan")


@dataclass(frozen=True)
class Verification:
    """The result of `verify`. True if every claim of the plan that matters was checked and holds."""

    claims: int  # number of claims compared
    violations: tuple[str, ...]  # "place: sentence" each

    def __bool__(self) -> bool:
        return not self.violations


def verify(problem: ProblemLike, plan: PlanResult | Mapping[str, Any] | str | bytes, *,
           old_plan: PlanResult | Mapping[str, Any] | str | bytes | None = None,
           search_space: SearchSpace | None = None) -> Verification:
    """Recomputes what a plan claims, including the proof of its bound.

    `plan` is a result, or the dict or JSON text of a plan file. An answer of `replan` also needs the
    `old_plan` that it began with. A claim that is false, or that matters and cannot be checked, is a
    violation of the result, not an exception. Raises InvalidInputError if the problem or a plan
    cannot be read.
    """
    read = as_problem(problem)
    text = _plan_text(plan)
    given = [read._handle.value, _space_value(search_space), text, c_size_t(len(text))]
    if old_plan is None:
        handle = _native.Handle("verification", "verify", *given)
    else:
        old = _plan_text(old_plan)
        handle = _native.Handle("verification", "verify_replan", *given, old, c_size_t(len(old)))
    try:
        claims, count = c_uint64(), c_uint64()
        _native.call("verification_counts", handle.value, byref(claims), byref(count))
        violations = tuple(_native.text_of("verification_violation", handle.value, index)
                           for index in range(count.value))
    finally:
        handle.close()
    return Verification(claims.value, violations)


def enumerate_options(problem: ProblemLike) -> SearchSpace:
    """Returns all sharding options of a problem with their estimated costs.

    Raises InvalidInputError with the place in the problem.
    """
    return SearchSpace(as_problem(problem))
