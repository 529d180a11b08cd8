"""Plans, and plans again from a plan in use."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Mapping, SupportsIndex

from . import _native
from .answer import Answer, Cancel, ProgressLike, handle_for
from .arguments import Document, Machine, Mode, request
from .problem import Problem, ProblemLike, SearchSpace, as_problem
from .progress import Exchange, Session, Watch
from .result import PlanResult

if TYPE_CHECKING:
    from typing_extensions import Unpack


def _planned(command: str, members: Mapping[str, object], problem: Problem,
             search_space: SearchSpace | None, watch: Watch, cancel: Cancel | None) -> PlanResult:
    if search_space is not None and not isinstance(search_space, SearchSpace):
        raise TypeError("search_space must be a shardwright.SearchSpace, "
                        f"not {type(search_space).__name__}")
    answer = Answer(None, handle_for(
        command, request(command, members), watch, cancel, problem=problem._handle.value,
        search_space=None if search_space is None else search_space._handle.value))
    for warning in answer.warnings:
        if "is not reused: " in warning:
            warnings.warn(warning, stacklevel=3)
    assert answer._handle is not None
    return PlanResult(problem, _native.Handle("result", "answer_result", answer._handle.value))


def plan(problem: ProblemLike, *, mode: Mode = "best", search_space: SearchSpace | None = None,
         threads: SupportsIndex = 0, time_limit: float | None = None,
         work_limit: SupportsIndex | None = None, seed: SupportsIndex = 0,
         lanes: SupportsIndex | None = None,
         progress: ProgressLike = None, cancel: Cancel | None = None,
         exchange: Exchange | None = None, reuse: Document | None = None,
         resume: Document | None = None, memory_slack: float | None = None,
         what_if: bool = False, **machine: Unpack[Machine]) -> PlanResult:
    """Chooses sharding, kernel and ranks of every table.

    `problem` is a Problem, a dict, JSON text or the path of a file. `mode` is "best" (search for
    the best plan, with a lower bound on every plan) or "compat" (make TorchRec's decisions).
    `machine` takes the place of what the problem says, as in `Problem`: `ranks=16, hbm="80GiB"`.
    `search_space` replaces the enumerated options and their estimated costs.

    `threads` 0 means all cores. `time_limit` is in seconds, `work_limit` in work steps, which do
    not depend on the machine. Best mode without any limit stops after about two seconds of work.
    `lanes` is the number of searches of best mode that run side by side (32 by default), on any
    number of threads; it decides what is found. `progress` is True for a tqdm bar, if tqdm is
    installed, or a function that takes a Progress. If the function raises, planning stops and the
    exception is raised again; the same holds for Ctrl-C. `cancel` stops the search with the best
    plan so far.

    With an `exchange`, several processes call this with equal arguments other than `threads`.
    Process p searches with `seed` + p, and all results have the best plan of all, each beside the
    bound of its own search. `reuse` is a plan (a result, or a plan file: its path, dict or text) that
    is the answer if it still holds for this problem and mode; if not, a warning says why, and the
    problem is planned. `resume` is a plan of best mode for this problem, such as a checkpoint, from
    which the search goes on. `memory_slack` is the share of the rating that may be given up to lower
    the memory of the fullest rank. With `what_if`, the verdict of the answer's JSON has plans for
    other machines, which take a fifth of the time.

    If no plan is found, `has_plan` is False and `failure` says why. Raises InvalidInputError with
    the place in the problem, and TypeError or ValueError for other arguments. Releases the GIL.
    """
    session = None if exchange is None else Session(exchange)
    if session is not None and (reuse is not None or resume is not None):
        raise TypeError("reuse and resume are for one process")
    try:
        read = as_problem(problem, **machine)
        return _planned("plan", {
            "mode": mode, "threads": threads, "time_limit": time_limit, "work_limit": work_limit,
            "seed": seed, "lanes": lanes, "reuse": reuse, "resume": resume,
            "memory_slack": memory_slack, "what_if": "yes" if what_if else "no"}, read, search_space,
            Watch(progress, session), cancel)
    finally:
        if session is not None:
            session.leave()


def replan(problem: ProblemLike, old_plan: Document, *, migration_weight: float | None = None,
           max_move: int | str | None = None, mode: Mode = "best",
           search_space: SearchSpace | None = None,
           threads: SupportsIndex = 0, time_limit: float | None = None,
           work_limit: SupportsIndex | None = None, seed: SupportsIndex = 0,
           lanes: SupportsIndex | None = None,
           progress: ProgressLike = None, cancel: Cancel | None = None,
           **machine: Unpack[Machine]) -> PlanResult:
    """Plans again from a plan in use.

    `old_plan` is a result, or a plan file: its path, dict or JSON text. With `migration_weight`,
    moving one GiB must lower the rating by at least so many ms. With `max_move`, the fastest plan
    that moves no more bytes is the answer (`"20GiB"`). With neither, the plan that moves least among
    those at most 1 % slower than the fastest. Other arguments and errors are those of `plan`.
    """
    read = as_problem(problem, **machine)
    return _planned("replan", {
        "plan": old_plan, "migration_weight": migration_weight, "max_move": max_move, "mode": mode,
        "threads": threads, "time_limit": time_limit, "work_limit": work_limit, "seed": seed, "lanes": lanes}, read,
        search_space, Watch(progress), cancel)
