"""Runs programs under autograd."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Callable, Sequence

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.distributed.tensor import DTensor

from ... import errors
from .building import Entering, Programs
from .layouts import Layout, layout_of_dtensor, moved
from .program import Value

Values = dict[Value, Tensor]
Context = Callable[[], "AbstractContextManager[None]"]


@dataclass
class Call:
    """One call of the model. Thread safety: one thread at a time.

    `inputs` has a tensor for each placeholder of `programs.entering` that is no tangent, in order:
    DTensors of any placement, or plain tensors that are whole on every rank.
    """

    programs: Programs
    inputs: Sequence[Tensor]
    full_outputs: bool  # outputs are plain tensors, whole on every rank
    context: Context = nullcontext  # while programs run

    def given(self) -> list[Entering]:
        return [each for each in self.programs.entering if each.role != "tangent"]

    def run(self) -> list[Tensor]:
        """The outputs in the order of the graph. Buffers have their new values afterwards."""
        result = self._differentiable()
        if torch.is_grad_enabled() and result:
            outputs = _Run.apply(self, *[self.inputs[position] for position in result])
            return list(outputs) if isinstance(outputs, tuple) else [outputs]
        with torch.no_grad(), self.context():
            values = self.entered()
            self.programs.evaluation.run(values)
            return self.results(values)

    def _differentiable(self) -> list[int]:
        """Positions of the inputs that require a gradient and get one from the graph."""
        targets = {each.target for each in self.programs.leave("gradient")}
        return [position for position, (each, tensor) in enumerate(zip(self.given(), self.inputs))
                if each.target in targets and each.role in ("parameter", "input")
                and tensor.requires_grad]

    def entered(self) -> Values:
        return {each.value: entered(tensor, each.layout, each.target)
                for each, tensor in zip(self.given(), self.inputs)}

    def results(self, values: Values) -> list[Tensor]:
        """Writes the new values of buffers and inputs, and returns the outputs."""
        places = {each.target: tensor for each, tensor in zip(self.given(), self.inputs)}
        for leaving in self.programs.leave("mutation"):
            write(values[leaving.value], leaving.layout, places[leaving.target])
        return [left(values[leaving.value], leaving.layout, self.full_outputs)
                for leaving in self.programs.leave("output")]


def entered(tensor: Tensor, layout: Layout, name: str) -> Tensor:
    """This rank's part in the layout. Raises InvalidInputError for another shape, dtype or mesh."""
    if tuple(tensor.shape) != layout.shape or tensor.dtype != layout.dtype:
        raise errors.InvalidInputError(
            f"has shape {tuple(tensor.shape)} and {tensor.dtype}; planned for {layout.shape} and "
            f"{layout.dtype}. A parameter that changed needs a new parallelize", name)
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != layout.mesh:
            raise errors.InvalidInputError(
                "is a DTensor of another mesh; give one of the model's mesh, or the whole tensor", name)
        source, local = layout_of_dtensor(tensor), tensor.to_local()
    else:
        source, local = layout.replicated(), tensor.to(layout.mesh.device_type)
    return moved(local, source, layout)


def left(local: Tensor, layout: Layout, full: bool) -> Tensor:
    """A result as the caller gets it: a plain tensor for scalars and if `full`, otherwise a
    DTensor.
    """
    if not full and layout.shape:
        return layout.wrap(local)
    return moved(local, layout, layout.replicated())


def write(local: Tensor, layout: Layout, place: Tensor) -> None:
    """Copies a new value into the tensor that the caller gave."""
    target, held = layout.replicated(), place
    if isinstance(place, DTensor):
        target, held = layout_of_dtensor(place), place.to_local()
    held.copy_(moved(local, layout, target))


class _Run(torch.autograd.Function):  # type: ignore[misc]
    """The programs of a training step. Values are freed at their last use in the backward."""

    @staticmethod
    def forward(ctx: Any, call: Call, *_: Tensor) -> tuple[Tensor, ...]:
        """The tensors are those of the call that may get a gradient."""
        programs = call.programs
        with call.context():
            values = call.entered()
            programs.forward.run(values)
            outputs = call.results(values)
        ctx.set_materialize_grads(False)
        ctx.saved = {value: values[value] for value in programs.saved}
        ctx.versions = {value: tensor._version for value, tensor in ctx.saved.items()}
        ctx.given = _given(call, ctx.saved)
        ctx.call = call
        ctx.positions = call._differentiable()
        # The layout that each gradient must have; None for a plain tensor.
        ctx.kinds = [layout_of_dtensor(tensor) if isinstance(tensor, DTensor) else None
                     for tensor in (call.inputs[position] for position in ctx.positions)]
        tangents = {each.target for each in programs.enter("tangent")}
        ctx.mark_non_differentiable(*[
            output for each, output in zip(programs.leave("output"), outputs)
            if each.target not in tangents])
        return tuple(outputs)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, *tangents: Tensor | None) -> tuple[Tensor | None, ...]:
        saved = _saved(ctx)
        programs: Programs = ctx.call.programs
        given = dict(zip((each.target for each in programs.leave("output")), tangents))
        with ctx.call.context():
            for each in programs.enter("tangent"):
                layout, tangent = each.layout, given[each.target]
                saved[each.value] = (
                    torch.zeros(layout.local_shape, dtype=layout.dtype, device=layout.mesh.device_type)
                    if tangent is None else entered(tangent, layout, f"gradient of {each.target}"))
            owners = {tensor.untyped_storage()._cdata for each in programs.entering
                      if (tensor := saved.get(each.value)) is not None}
            programs.backward.run(saved)
        by_target = {each.target: each for each in programs.leave("gradient")}
        entering = ctx.call.given()
        gradients: list[Tensor | None] = []
        for position, kind in zip(ctx.positions, ctx.kinds):
            leaving = by_target[entering[position].target]
            local = _own(saved[leaving.value], owners)
            gradients.append(_gradient(local, leaving.layout, kind))
        return None, *gradients


def _saved(ctx: Any) -> Values:
    saved: Values | None = ctx.saved
    if saved is None:
        raise RuntimeError("the backward pass ran already, and what it needs was freed; "
                           "retain_graph has no effect on a planned model")
    ctx.saved = None
    changed = [value[0] for value, tensor in saved.items() if tensor._version != ctx.versions[value]]
    changed += [name for name, tensor, version in ctx.given if tensor._version != version]
    if changed:
        raise RuntimeError(f"{changed[0]}, which the backward pass needs, was changed in place after the forward "
                           "pass; call backward() before, or the model again")
    return saved


def _given(call: Call, saved: Values) -> list[tuple[str, Tensor, int]]:
    """Name, tensor and version of each DTensor that the caller gave and the backward pass reads. A
    change in place counts in the version of the DTensor, not in that of its local tensor.
    """
    storages = {tensor.untyped_storage()._cdata for tensor in saved.values()}
    return [(each.target, tensor, tensor._version) for each, tensor in zip(call.given(), call.inputs)
            if isinstance(tensor, DTensor) and tensor.to_local().untyped_storage()._cdata in storages]


def _own(local: Tensor, owners: set[int]) -> Tensor:
    """The tensor in storage of its own and no larger, since optimizers change gradients in place.
    """
    storage = local.untyped_storage()
    if (not local.is_contiguous() or storage.nbytes() > local.nbytes or storage._cdata in owners):
        local = local.clone(memory_format=torch.contiguous_format)
    owners.add(local.untyped_storage()._cdata)
    return local


def _gradient(local: Tensor, layout: Layout, kind: Layout | None) -> Tensor:
    """Placed like the parameter or input: whole for a plain tensor."""
    if kind is None:
        return moved(local, layout, layout.replicated())
    target = layout.with_words(kind.words)
    return target.wrap(moved(local, layout, target))

