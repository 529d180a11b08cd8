"""Shards models of PyTorch, plans redistributions, and replaces the planner of torch's DTensor.

    import shardwright.torch
    model = shardwright.torch.parallelize(model, device_mesh, example_inputs)
    with shardwright.torch.redistribution():
        train()

`parallelize` makes a model that trains sharded over a mesh: `trace` gives its graph, `plan` shards
the graph optimally, and the model runs the plan. `plan_redistribution` answers for one tensor on any
mesh, `measure_operators` measures what the operators of a graph take. `plan` and
`plan_redistribution` need no torch, the others need torch 2.13 or 2.14.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from .model_plan import ModelPlan, NodePlan, OutputPlan, plan
from .placements import words_of
from .planning import Link, RedistributionPlan, Step, plan_redistribution

if TYPE_CHECKING:
    from .applying import ParallelModel, parallelize
    from .measuring import UnmeasuredOperatorWarning, measure_operators
    from .tracing import TracedModel, UnknownOperatorWarning, trace

_TRACING = ("TracedModel", "UnknownOperatorWarning", "trace")
_APPLYING = ("ParallelModel", "parallelize")
_MEASURING = ("UnmeasuredOperatorWarning", "measure_operators")


def __getattr__(name: str) -> Any:
    """Imports what needs torch when it is first asked for."""
    if name in _TRACING:
        from . import tracing
        return getattr(tracing, name)
    if name in _APPLYING:
        from . import applying
        return getattr(applying, name)
    if name in _MEASURING:
        from . import measuring
        return getattr(measuring, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def redistribution(*, devices_per_host: int | None = None) -> AbstractContextManager[None]:
    """Replaces the planner of DTensor's redistributions in this process.

    The collectives are torch's own, and each plan sends no more bytes and needs no more
    collectives than torch's own plan. What the library does not know is planned by torch: traced
    programs, symbolic sizes, `_MaskPartial` and other placements of special kinds. Whoever plans,
    shards that are not even are not gathered over a flattened mesh at once, which loses elements
    (pytorch issue 194457).

    Costs are DTensor's, with `devices_per_host` as torch counts them on this machine unless it is
    given. All ranks of a mesh must enter with equal arguments, because collectives need all of
    them. The replacement holds for all threads, since backward passes have threads of their own;
    of several that are active, the one entered last plans. Leaving restores torch's planner, also
    after an exception. Raises ImportError without torch, or with a release that plans in another
    way.
    """
    from .replacement import Replacement
    return Replacement(devices_per_host)


__all__ = ["Link", "ModelPlan", "NodePlan", "OutputPlan", "ParallelModel", "RedistributionPlan",
           "Step", "TracedModel", "UnknownOperatorWarning", "UnmeasuredOperatorWarning",
           "measure_operators", "parallelize", "plan", "plan_redistribution", "redistribution", "trace",
           "words_of"]
