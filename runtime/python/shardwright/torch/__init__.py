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

import importlib
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from .model_plan import ModelPlan, NodePlan, OutputPlan, plan
from .placements import words_of
from .planning import Link, RedistributionPlan, Step, plan_redistribution

if TYPE_CHECKING:
    from .applying import ParallelModel, parallelize
    from .measuring import UnmeasuredOperatorWarning, measure_operators
    from .tracing import TracedModel, UnknownOperatorWarning, trace

# Names that need torch, and the modules that have them.
_NEED_TORCH = {"TracedModel": "tracing", "UnknownOperatorWarning": "tracing", "trace": "tracing",
               "ParallelModel": "applying", "parallelize": "applying",
               "UnmeasuredOperatorWarning": "measuring", "measure_operators": "measuring"}


def __getattr__(name: str) -> Any:
    """Imports what needs torch when it is first asked for."""
    if name not in _NEED_TORCH:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_NEED_TORCH[name]}", __name__), name)


def redistribution(*, devices_per_host: int | None = None) -> AbstractContextManager[None]:
    """Replaces the planner of DTensor's redistributions in this process.

    The collectives are torch's own, and each plan sends no more bytes and needs no more collectives
    than torch's own plan. Torch still plans what the library does not know: traced programs,
    symbolic sizes, `_MaskPartial` and other placements of special kinds. Uneven shards are never
    gathered over a flattened mesh at once, which loses elements (pytorch issue 194457).

    Costs are DTensor's. `devices_per_host` is by default what torch counts on this machine. All
    ranks of a mesh must enter with equal arguments. The replacement holds for all threads, because
    backward passes have threads of their own. If several replacements are active, the one entered
    last plans. Leaving restores torch's planner, also after an exception. Raises ImportError
    without torch, or with a release that plans in another way.
    """
    from .replacement import Replacement
    return Replacement(devices_per_host)


__all__ = ["Link", "ModelPlan", "NodePlan", "OutputPlan", "ParallelModel", "RedistributionPlan",
           "Step", "TracedModel", "UnknownOperatorWarning", "UnmeasuredOperatorWarning",
           "measure_operators", "parallelize", "plan", "plan_redistribution", "redistribution", "trace",
           "words_of"]
