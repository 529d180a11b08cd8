"""Plans how to shard embedding tables across accelerators, and proves a bound on every plan.

    import shardwright
    result = shardwright.plan("problem.json")
    print(result, result.tables[0].ranks)

`shardwright.torchrec` replaces TorchRec's planner.
"""

from ._native import COMPUTE_KERNELS, SHARDING_TYPES, version
from .errors import (InfeasibleError, InternalError, InvalidHandleError, InvalidInputError,
                     NoPlanError, ShardwrightError, StoppedError, UnsupportedError,
                     VerificationError)
from .planning import Cancel, Verification, enumerate_options, plan, replan, verify
from .problem import Problem, SearchSpace
from .progress import Exchange, Progress
from .result import Failure, PlanResult, RankLoad, Shard, TablePlan

__version__ = version()

__all__ = [
    "COMPUTE_KERNELS", "Cancel", "Exchange", "Failure", "InfeasibleError", "InternalError",
    "InvalidHandleError", "InvalidInputError", "NoPlanError", "PlanResult", "Problem", "Progress",
    "RankLoad", "SHARDING_TYPES", "SearchSpace", "Shard", "ShardwrightError", "StoppedError",
    "TablePlan", "UnsupportedError", "Verification", "VerificationError", "enumerate_options",
    "plan", "replan", "verify", "version",
]
