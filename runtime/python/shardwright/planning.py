"""Plans, and plans again from a plan in use."""

from __future__ import annotations

import sys
import warnings
from ctypes import byref, c_size_t
from typing import TYPE_CHECKING, SupportsIndex

from . import _native
from .answer import Cancel, ProgressLike, cancel_value
from .arguments import (LANES, MODES, MOST_THREADS, MOST_WORK, Document, Machine, Mode, choice, integer,
                        number)
from .errors import VerificationError
from .problem import Problem, ProblemLike, SearchSpace, as_problem
from .progress import Exchange, Session, Watch
from .result import PlanResult, plan_text

if TYPE_CHECKING:
    from typing_extensions import Unpack


def _options(mode: Mode, threads: SupportsIndex, time_limit: float | None,
             work_limit: SupportsIndex | None, seed: SupportsIndex,
             lanes: SupportsIndex | None, cancel: Cancel | None) -> _native.PlanOptions:
    options = _native.PlanOptions(mode=_native.MODES[choice(mode, "mode", MODES)])
    options.threads = integer(threads, "threads", 0, MOST_THREADS)
    options.seed = integer(seed, "seed", 0, MOST_WORK)
    if lanes is not None:
        options.lanes = integer(lanes, "lanes", *LANES)
    if time_limit is not None:
        # The library takes 0 as "no limit"; here it means "stop at once".
        options.time_limit_s = number(time_limit, "time_limit", 0, sys.float_info.max) or 1e-9
    if work_limit is not None:
        options.work_limit = integer(work_limit, "work_limit", 1, MOST_WORK)
    options.cancel = cancel_value(cancel)
    return options


def _space_value(search_space: SearchSpace | None) -> int | None:
    if search_space is None:
        return None
    if not isinstance(search_space, SearchSpace):
        raise TypeError("search_space must be a shardwright.SearchSpace, "
                        f"not {type(search_space).__name__}")
    return search_space._handle.value


def _reused(problem: Problem, plan: object, mode: str, space: int | None) -> PlanResult | None:
    """The plan, recomputed, if it still is an answer. Warns and returns None if it is not."""
    text = plan_text(plan, "reuse")
    try:
        kept = PlanResult(problem, _native.Handle("result", "result_from_json", problem._handle.value,
                                                  space, text, c_size_t(len(text))))
    except VerificationError as error:
        warnings.warn(f"the plan is not reused: {error}", stacklevel=3)
        return None
    if kept.mode == mode:
        return kept
    warnings.warn(f"the plan is not reused: it was made in {kept.mode} mode", stacklevel=3)
    return None


def plan(problem: ProblemLike, *, mode: Mode = "best", search_space: SearchSpace | None = None,
         threads: SupportsIndex = 0, time_limit: float | None = None,
         work_limit: SupportsIndex | None = None, seed: SupportsIndex = 0,
         lanes: SupportsIndex | None = None,
         progress: ProgressLike = None, cancel: Cancel | None = None,
         exchange: Exchange | None = None, reuse: Document | None = None,
         resume: Document | None = None, **machine: Unpack[Machine]) -> PlanResult:
    """Chooses sharding, kernel and ranks of every table.

    `problem` is a Problem, a dict, JSON text or the path of a file. `mode` is "best" (search for
    the best plan, with a lower bound on every plan) or "compat" (make TorchRec's decisions).
    `machine` takes the place of what the problem says, as in `Problem`: `ranks=16, hbm="80GiB"`.
    `search_space` replaces the enumerated options and their estimated costs. `threads` 0 means all
    cores. `time_limit` is in seconds, `work_limit` in work steps, which do not depend on the
    machine. Best mode without any limit stops after about two seconds of work. `lanes` is the number
    of searches of best mode that run side by side (32 by default), on any number of threads; it
    decides what is found.
    `progress` is True for a tqdm bar, if tqdm is installed, or a function that takes a Progress. If
    it raises, planning stops and the exception is raised again; the same holds for Ctrl-C. `cancel`
    stops the search with the best plan so far. With an `exchange`, several processes call
    this with equal arguments other than `threads`, process p searches with `seed` + p, and all
    results have the best plan of all, each beside the bound of its own search. `reuse` is a plan (a result, or a plan file:
    its path, dict or text) that is the answer if it still holds for this problem and mode; if not, a
    warning says why, and the problem is planned. `resume` is a plan of best mode for this problem,
    such as a checkpoint, from which the search goes on.

    If no plan is found, `has_plan` is False and `failure` says why. Raises InvalidInputError with
    the place in the problem, and TypeError or ValueError for other arguments. Releases the GIL.
    """
    session = None if exchange is None else Session(exchange)
    if session is not None and (reuse is not None or resume is not None):
        raise TypeError("reuse and resume are for one process")
    try:
        read = as_problem(problem, **machine)
        space = _space_value(search_space)
        options = _options(mode, threads, time_limit, work_limit, seed, lanes, cancel)
        if reuse is not None:
            kept = _reused(read, reuse, choice(mode, "mode", MODES), space)
            if kept is not None:
                return kept
        start = None if resume is None else plan_text(resume, "resume")
        with Watch(progress, session) as watch:
            watch.attach(options)
            if start is None:
                handle = watch.run("result", "plan", read._handle.value, space, byref(options))
            else:
                handle = watch.run("result", "resume", read._handle.value, space, start,
                                   c_size_t(len(start)), byref(options))
    finally:
        if session is not None:
            session.leave()
    return PlanResult(read, handle)


def replan(problem: ProblemLike, old_plan: Document, *, migration_weight: float = 0.0,
           mode: Mode = "best", search_space: SearchSpace | None = None,
           threads: SupportsIndex = 0, time_limit: float | None = None,
           work_limit: SupportsIndex | None = None, seed: SupportsIndex = 0,
           lanes: SupportsIndex | None = None,
           progress: ProgressLike = None, cancel: Cancel | None = None,
           **machine: Unpack[Machine]) -> PlanResult:
    """Plans again from a plan in use.

    `old_plan` is a result, or a plan file: its path, dict or JSON text. Moving one GiB must lower the
    rating by at least `migration_weight` ms. Other arguments and errors are those of `plan`.
    """
    read = as_problem(problem, **machine)
    old = plan_text(old_plan, "old_plan")
    space = _space_value(search_space)
    options = _options(mode, threads, time_limit, work_limit, seed, lanes, cancel)
    weight = number(migration_weight, "migration_weight", 0, sys.float_info.max)
    with Watch(progress) as watch:
        watch.attach(options)
        handle = watch.run("result", "replan", read._handle.value, space, old, len(old), weight,
                           byref(options))
    return PlanResult(read, handle)
