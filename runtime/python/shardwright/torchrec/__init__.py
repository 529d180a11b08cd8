"""Replaces TorchRec's planner. Needs torch, torchrec, and fbgemm-gpu or fbgemm-gpu-cpu.

    from shardwright.torchrec import EmbeddingShardingPlanner
    plan = EmbeddingShardingPlanner(topology=topology).plan(module, sharders)

`load_plan` makes a ShardingPlan of what `shardwright plan` wrote; `save_plan` is the reverse.
"""

try:
    import torchrec as _torchrec  # noqa: F401
except ImportError as _error:
    raise ImportError("shardwright.torchrec needs torchrec, torch and fbgemm-gpu (or "
                      f"fbgemm-gpu-cpu) of matching releases: {_error}") from _error

from .adapters import ShardwrightPartitioner, ShardwrightProposer
from .candidates import Candidates
from .enumeration import enumerate_candidates
from .groups import GroupChoice, GroupLayout, choose_groups
from .plan_files import load_plan, save_plan
from .planner import EmbeddingShardingPlanner, PlanSeconds
from .resharding import Replanned

__all__ = ["Candidates", "EmbeddingShardingPlanner", "GroupChoice", "GroupLayout", "PlanSeconds", "Replanned",
           "ShardwrightPartitioner", "ShardwrightProposer", "choose_groups",
           "enumerate_candidates", "load_plan", "save_plan"]
