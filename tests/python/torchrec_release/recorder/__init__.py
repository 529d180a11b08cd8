"""What the installed TorchRec answers to a problem file."""

import logging
import traceback
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

from torchrec.distributed.planner import EmbeddingShardingPlanner
from torchrec.distributed.planner.enumerators import EmbeddingEnumerator
from torchrec.distributed.planner.types import PlannerError

from recorder import answer, parts
from recorder.constraints import constraints
from recorder.machine import topology
from recorder.model import Model
from recorder.sharders import sharders
from recorder.supported import check
from recorder.trace import Trace


def enumerator(problem, machine, limits):
    return EmbeddingEnumerator(
        machine, problem.get("batch_size", 512), limits,
        [parts.perf_estimator(problem, machine, limits),
         parts.storage_estimator(problem, machine, limits)],
        problem.get("use_exact_enumerate_order", False))


def planner_of(problem, kind=EmbeddingShardingPlanner, **more):
    machine, limits = topology(problem), constraints(problem)
    return kind(
        topology=machine, batch_size=problem.get("batch_size", 512),
        enumerator=enumerator(problem, machine, limits),
        storage_reservation=parts.reservation(problem), proposer=parts.proposers(problem),
        partitioner=parts.partitioner(problem), performance_model=parts.perf_model(problem, machine),
        constraints=limits, stats=[], debug=False, **more)


def plan(planner, problem, result):
    """Plans and adds to `result` what the planner says about it."""
    kept, trace = answer.Reserved(planner), Trace(planner)
    try:
        planner.plan(Model(problem), sharders(problem))
        result.update(answer.plan(planner))
    except PlannerError as error:
        result["error"] = {"type": error.error_type.value, "message": str(error)}
    result.update(kept.reserved_topology())
    result.update(answer.search_space(planner))
    result.update(num_proposals=planner._num_proposals, num_plans=planner._num_plans,
                  proposals=trace.proposals)


def is_deliberate(error):
    """Returns true if TorchRec's own `raise` or `assert` ends the planning, false if Python does."""
    return (isinstance(error, AssertionError)
            or traceback.extract_tb(error.__traceback__)[-1].line.startswith("raise "))


def record(problem):
    """Returns the answer in the form of recorded answers.

    Two values of `error.type` are no PlannerError: "refused" if TorchRec says that it cannot answer, for example
    because a table has no option left, and "crashed" if it fails in its own code, for example dividing by a memory
    of 0. Raises Unsupported for problems that TorchRec cannot be asked.
    """
    check(problem)
    result = {}
    try:
        plan(planner_of(problem), problem, result)
    except Exception as error:
        kind = "refused" if is_deliberate(error) else "crashed"
        result["error"] = {"type": kind, "message": f"{type(error).__name__}: {error}"}
    return result
