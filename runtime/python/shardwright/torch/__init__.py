"""Plans redistributions of tensors, and replaces the planner of torch's DTensor.

    import shardwright.torch
    with shardwright.torch.redistribution():
        train()

`plan` shards a traced model optimally. `plan_redistribution` answers for one tensor on any mesh.
Both need no torch. `redistribution` needs torch 2.13.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from .model_plan import ModelPlan, NodePlan, OutputPlan, plan
from .placements import words_of
from .planning import Link, RedistributionPlan, Step, plan_redistribution


def redistribution(*, devices_per_host: int | None = None) -> AbstractContextManager[None]:
    """Replaces the planner of DTensor's redistributions in this process.

    The collectives are torch's own, and each plan sends no more bytes and needs no more
    collectives than torch's own plan. What the library does not know is planned by torch: traced
    programs, symbolic sizes, `_MaskPartial` and other placements of special kinds.

    Costs are DTensor's, with `devices_per_host` as torch counts them on this machine unless it is
    given. All ranks of a mesh must enter with equal arguments, because collectives need all of
    them. The replacement holds for all threads, since backward passes have threads of their own;
    of several that are active, the one entered last plans. Leaving restores torch's planner, also
    after an exception. Raises ImportError without torch, or with a release that plans in another
    way.
    """
    from .replacement import Replacement
    return Replacement(devices_per_host)


__all__ = ["Link", "ModelPlan", "NodePlan", "OutputPlan", "RedistributionPlan", "Step", "plan",
           "plan_redistribution", "redistribution", "words_of"]
