"""Plans how to shard models across accelerators, and proves how good every plan is.

    import shardwright
    result = shardwright.plan("problem.json", ranks=16, hbm="80GiB")
    print(result)

The functions have the names of the commands: those for embedding tables are here, the others in
`shardwright.operators`, `shardwright.program`, `shardwright.experts` and `shardwright.machine`. `shardwright.torchrec`
replaces TorchRec's planner, `shardwright.torch` shards models of PyTorch, `shardwright.autoparallel` replaces the
solver of PyTorch's AutoParallel.
"""

from . import experts, machine, operators, program
from ._native import COMPUTE_KERNELS, SHARDING_TYPES, version
from .answer import Answer, Cancel, ask
from .errors import (InfeasibleError, InternalError, InvalidHandleError, InvalidInputError,
                     NoPlanError, ShardwrightError, StoppedError, UnsupportedError,
                     VerificationError)
from .planning import plan, replan
from .problem import Problem, SearchSpace
from .progress import Exchange, Progress
from .questions import (Audit, AuditChange, Diff, Explanation, OptionInPlan, Sweep, SweepPoint,
                        Verification, audit, diff, enumerate_options, explain, init, kinds, schema, sweep, verify)
from .result import Failure, PlanResult, RankLoad, Shard, TablePlan

__version__ = version()

__all__ = [
    "Answer", "Audit", "AuditChange", "COMPUTE_KERNELS", "Cancel", "Diff", "Exchange", "Explanation", "Failure",
    "InfeasibleError", "InternalError", "InvalidHandleError", "InvalidInputError", "NoPlanError",
    "OptionInPlan", "PlanResult", "Problem", "Progress", "RankLoad", "SHARDING_TYPES", "SearchSpace",
    "Shard", "ShardwrightError", "StoppedError", "Sweep", "SweepPoint", "TablePlan",
    "UnsupportedError", "Verification", "VerificationError", "ask", "audit", "diff", "enumerate_options",
    "experts", "explain", "init", "kinds", "machine", "operators", "plan", "program", "replan", "schema", "sweep", "verify",
    "version",
]
