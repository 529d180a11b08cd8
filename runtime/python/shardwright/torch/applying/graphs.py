"""The planned graphs of a model: one for each mode and shapes of inputs that it is called with."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any, Mapping, Sequence

import torch
import torch.utils._pytree as pytree
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor

from ... import errors
from ..model_plan import ModelPlan, plan as plan_graph
from ..tracing.document import TracedModel, trace
from .building import Programs, build
from .layouts import word_of_placement
from .operators import RandomState
from .planning import from_all_ranks, plan_on_first_rank

# The mode, which parameters require gradients, and shape, dtype and requires_grad of each tensor argument.
_Key = tuple[Any, ...]
Placements = Mapping[str, Mapping[str, Sequence[str]]]


@dataclass(frozen=True)
class Planned:
    """A graph, its plan, and the programs of this rank."""

    traced: TracedModel
    plan: ModelPlan
    programs: Programs


@dataclass
class Graphs:
    """Thread safety: one thread at a time; all ranks call it alike."""

    model: torch.nn.Module  # the code that is traced
    mesh: DeviceMesh
    state: RandomState
    options: Mapping[str, Any]  # arguments of plan()
    placements: Placements
    recomputed: tuple[str, ...]  # blocks whose forward is computed again in the backward
    known: dict[_Key, Planned] = field(default_factory=dict)
    checked: set[int] = field(default_factory=set)  # ids of those in `known` whose first inputs were compared

    def add(self, train: bool, traced: TracedModel, plan: ModelPlan, args: Sequence[Any],
            kwargs: Mapping[str, Any]) -> Planned:
        planned = Planned(traced, plan, build(traced, plan, self.mesh, self.state))
        self.known[self._key(train, args, kwargs)] = planned
        return planned

    def find(self, train: bool, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Planned:
        """The graph for a call in the model's mode. A new graph is traced, and planned with the
        parameters where they are. Raises what tracing and planning raise.
        """
        for with_backward in ((train,) if train else (False, True)):
            found = self.known.get(self._key(with_backward, args, kwargs))
            if found is not None:
                return found
        traced = trace(self.model, args, kwargs, train=train)
        if train:
            traced = traced.recomputed(self.recomputed)
        placements = {**self.placements, **self._kept(traced)}
        plan = plan_on_first_rank(self.mesh, lambda: plan_graph(
            traced, tuple(self.mesh.shape), placements=placements, **self.options))
        return self.add(train, traced, plan, args, kwargs)

    def check_first_inputs(self, planned: Planned, tensors: Sequence[torch.Tensor]) -> None:
        """Compares the whole tensors that all ranks give, once for each graph. Raises InvalidInputError
        on all ranks if they differ: parts of a batch would give wrong results.
        """
        if id(planned) in self.checked:
            return
        names = planned.traced.joint.inputs.names
        own = [None if isinstance(tensor, DTensor) or tensor.is_meta else _digest(tensor) for tensor in tensors]
        every = from_all_ranks(self.mesh, own)
        for position, name in enumerate(names):
            if len({digests[position] for digests in every}) > 1:
                raise errors.InvalidInputError(
                    "ranks give different tensors; give the same whole one on every rank, or a DTensor of the "
                    "parts (DTensor.from_local(part, mesh, placements))", name)
        self.checked.add(id(planned))

    def _kept(self, traced: TracedModel) -> dict[str, dict[str, list[str]]]:
        """The placements of the model's parameters and buffers."""
        tensors = {**dict(self.model.named_parameters(remove_duplicate=False)),
                   **dict(self.model.named_buffers(remove_duplicate=False))}
        kept: dict[str, dict[str, list[str]]] = {"parameters": {}, "buffers": {}}
        for each in traced.joint.placeholders:
            if each.role in ("parameter", "buffer"):
                tensor = tensors[each.target]
                kept[each.role + "s"][each.target] = (
                    [word_of_placement(own) for own in tensor.placements] if isinstance(tensor, DTensor)
                    else ["R"] * self.mesh.ndim)
        return kept

    def _key(self, train: bool, args: Sequence[Any], kwargs: Mapping[str, Any]) -> _Key:
        leaves, spec = pytree.tree_flatten((tuple(args), dict(kwargs)))
        kind = self.mesh.device_type
        autocast = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None
        trained = tuple(tensor.requires_grad for tensor in self.model.parameters())
        return (self.model.training, train, trained, autocast, spec, *(
            (tuple(leaf.shape), leaf.dtype, leaf.requires_grad) if isinstance(leaf, torch.Tensor)
            else repr(leaf) for leaf in leaves))


def _digest(tensor: torch.Tensor) -> bytes:
    flat = tensor.detach().cpu().contiguous().view(-1).view(torch.uint8)
    return hashlib.blake2b(flat.numpy().data, digest_size=16).digest()
