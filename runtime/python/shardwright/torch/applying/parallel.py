"""From a model, a mesh and example inputs to a model that runs the best plan."""

from __future__ import annotations

import warnings
from typing import Any, Callable, Mapping, Sequence

import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor.placement_types import Placement

from ... import errors
from ..model_plan import ModelPlan, plan as plan_graph
from ..tracing.document import TracedModel, arguments_of, trace
from .building import Entering, Leaving
from .graphs import Graphs
from .layouts import word_of_placement
from .model import ParallelModel
from .operators import RandomState
from .parameters import copy_modules, distribute, materialize, warn_of_hooks
from .planning import check_mesh, from_first_rank, plan_on_first_rank
from .recomputing import blocks_to_recompute, fastest_recomputation

OUTPUTS = ("sharded", "full")


def parallelize(model: torch.nn.Module, device_mesh: DeviceMesh, example_inputs: Any = (),
                example_kwargs: Mapping[str, Any] | None = None, *, memory: int | str | None = None,
                plan: ModelPlan | None = None, traced: TracedModel | None = None,
                placements: Mapping[str, Mapping[str, Sequence[str | Placement]]] | None = None,
                train: bool = True, recompute: bool | str | Sequence[str] = (), outputs: str = "sharded",
                init: Callable[[torch.nn.Module], Any] | None = None, redistribution: bool = True,
                **options: Any) -> ParallelModel:
    """Shards a model over a mesh so that a training step takes least time.

    `example_inputs` and `example_kwargs` are those of `trace`: global shapes; values are not read.
    All ranks of the mesh must call this with equal arguments. The first rank plans, with `memory`,
    `placements` and `options` (see `plan`), unless `plan` is given; the first rank's weights count.
    `backend` is that of the mesh's device. `traced` is what `trace` made of this model and these inputs,
    where that was done before. The model is not changed, and need not be kept.

    - `train`: plans forward and backward, otherwise the forward alone.
    - `recompute`: modules, by path, whose forward is computed again in the backward instead of kept;
      True for all modules of the model's lists. "auto" takes as many of these, from the first, as make
      the step fastest within `memory`.
    - `outputs`: "sharded" gives DTensors, "full" plain tensors that are whole on every rank. Scalars
      are plain always.
    - `init`: is called with the parallel model, without gradients, after parameters on meta got
      memory. Without it they stay on meta until `materialize`.
    - `redistribution`: DTensor's collectives run as `shardwright.torch.redistribution` plans them.

    Raises what tracing and planning raise, and InvalidInputError for a mesh without this rank.
    """
    if outputs not in OUTPUTS:
        raise errors.InvalidInputError(f"must be one of {OUTPUTS}, not {outputs!r}", "outputs")
    check_mesh(device_mesh)
    if isinstance(model, ParallelModel):
        raise errors.InvalidInputError("is parallel already; give the model that it was made of", "model")
    warn_of_hooks(model)
    args, kwargs = arguments_of(example_inputs, example_kwargs)
    step = _known(traced, model, train) if traced is not None else trace(model, args, kwargs, train=train)
    backend = "gloo" if device_mesh.device_type == "cpu" else "nccl"
    options = {"backend": backend, **options, "memory": memory}
    placements = _in_words(placements or {})

    def planned_within(traced: TracedModel, memory: int | str | None) -> ModelPlan:
        return plan_graph(traced, tuple(device_mesh.shape), placements=placements,
                          **{**options, "memory": memory})

    blocks = blocks_to_recompute(model, recompute) if train else ()
    if recompute == "auto" and plan is not None:
        raise errors.InvalidInputError("must name the plan's blocks where a plan is given", "recompute")
    if recompute == "auto" and blocks:
        def fastest() -> tuple[tuple[str, ...], str]:
            chosen, plan = fastest_recomputation(
                step, blocks, lambda each: planned_within(each, memory),
                lambda: planned_within(step, None).objective_us)
            return chosen, plan.to_json()

        blocks, text = from_first_rank(device_mesh, fastest)
        plan = ModelPlan.from_json(text)
    step = step.recomputed(blocks)
    if plan is None:
        plan = plan_on_first_rank(device_mesh, lambda: planned_within(step, memory))
    root = copy_modules(model)
    seed = int(from_first_rank(device_mesh, torch.initial_seed))
    graphs = Graphs(root, device_mesh, RandomState(seed), options, placements, blocks)
    planned = graphs.add(train, step, plan, args, kwargs)
    distribute(root, {each.target: each.layout for each in planned.programs.entering
                      if each.role in ("parameter", "buffer")})
    _warn_of_flattened_axes(device_mesh, [*planned.programs.entering, *planned.programs.leave("output")])
    parallel = ParallelModel(graphs, planned, outputs, redistribution)
    if init is not None:
        materialize(parallel, init)
    return parallel


def _known(traced: TracedModel, model: torch.nn.Module, train: bool) -> TracedModel:
    """Raises InvalidInputError if another model, or another part of its step, was traced."""
    found, wanted = (f"{'a step' if is_step else 'the forward'} of {name}" for name, is_step in (
        (traced.joint.model, bool(traced.joint.backward)), (type(model).__name__, train)))
    if found != wanted:
        raise errors.InvalidInputError(f"is {found}, not {wanted}", "traced")
    return traced


def _warn_of_flattened_axes(mesh: DeviceMesh, placed: Sequence[Entering | Leaving]) -> None:
    """Warns of DTensors that torch's own `full_tensor` gathers wrongly (pytorch issue 194457)."""
    uneven = [each.target for each in placed if each.role in ("parameter", "buffer", "output")
              and each.layout.is_cut_unevenly_by_several_axes]
    if uneven and mesh._get_root_mesh()._flatten_mapping:
        warnings.warn(f"{uneven[0]}: torch loses elements of such uneven shards over the mesh's flattened axes; call "
                      "full_tensor() and gather state dicts inside shardwright.torch.redistribution()", stacklevel=3)


def _in_words(placements: Mapping[str, Mapping[str, Sequence[str | Placement]]]
              ) -> dict[str, dict[str, list[str]]]:
    """With words in place of torch's placements."""
    return {role: {name: [word_of_placement(each) if isinstance(each, Placement) else each for each in own]
                   for name, own in by_name.items()} for role, by_name in placements.items()}
