"""A model that runs a plan."""

from __future__ import annotations

import copy
import os
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Iterator, Mapping

import torch
from torch.distributed.device_mesh import DeviceMesh

from ... import errors
from ..model_plan import ModelPlan, NodePlan
from ..tracing.document import TracedModel
from ..tracing.origins import module_of
from .execution import Call
from .graphs import Graphs, Planned
from .layouts import placement_of_word
from .parameters import hooks_by_module, materialize, placed_like, tensor_places


class ParallelModel(torch.nn.Module):  # type: ignore[misc]
    """Stands for a model on the ranks of a mesh. `parallelize` makes it.

    Its modules, parameters and buffers have the names and types of the model's, and the parameters
    are DTensors, so that optimizers, `state_dict` and checkpoints work. Only the whole model can be
    called: its modules hold parameters and take part in no call.

    All ranks of the mesh call it alike. Thread safety: one thread at a time.
    """

    def __init__(self, graphs: Graphs, planned: Planned, outputs: str, redistribution: bool) -> None:
        super().__init__()
        root = graphs.model
        for attribute in ("_modules", "_parameters", "_buffers", "_non_persistent_buffers_set"):
            self.__dict__[attribute] = root.__dict__[attribute]
        self.training = root.training
        self.__dict__["_graphs"] = graphs
        self.__dict__["_planned"] = planned
        self._full_outputs = outputs == "full"
        self._redistribution = redistribution
        self._hooks = hooks_by_module(root)
        self._warned_of_hooks = False

    @property
    def plan(self) -> ModelPlan:
        """The plan for the inputs that `parallelize` got."""
        planned: Planned = self._planned
        return planned.plan

    @property
    def recomputed(self) -> tuple[str, ...]:
        """Modules, by path, whose forward is computed again in the backward."""
        blocks: tuple[str, ...] = self._graphs.recomputed
        return blocks

    @property
    def device_mesh(self) -> DeviceMesh:
        return self._graphs.mesh

    def describe(self) -> str:
        """A table with a line per module, in their order: the placements of its parameters and of
        its last result, its operators and their microseconds, its redistributions and their
        microseconds. Forward and backward count together.
        """
        plan, found = self.plan, _rows(self._planned.traced, self.plan)
        table = [("module", "parameters", "result", "operators", "us", "moves", "us of moves")]
        for name in dict.fromkeys([*(name for name, _ in self.named_modules()), *found]):
            if (row := found.get(name)) is not None:
                result = "" if row.last is None else " ".join(row.last.outputs[0])
                table.append((name or "(model)", ", ".join(row.parameters), result,
                              str(row.operators), f"{row.compute_us:.1f}", str(row.redistributions),
                              f"{row.redistribute_us:.1f}"))
        widths = [max(map(len, column)) for column in zip(*table)]
        lines = ["  ".join(text.ljust(width) if column < 3 else text.rjust(width)
                           for column, (text, width) in enumerate(zip(line, widths))).rstrip()
                 for line in table]
        return "\n".join([
            f"mesh {'x'.join(map(str, plan.mesh_shape))}: {plan.objective_us:.1f} us a step by estimate "
            f"({plan.status}, no plan takes less than {plan.lower_bound_us:.1f} us), "
            f"{plan.peak_bytes / 2**20:.1f} MiB at most on a device", *lines])

    def save_plan(self, path: str | os.PathLike[str]) -> None:
        """Writes the plan file, which `parallelize(plan=...)` takes. Raises OSError."""
        self._planned.plan.save(path)

    def autoparallel_placements(self) -> dict[str, Any]:
        """Torch's placements of every node of the graph, and of every parameter, buffer and input
        under its own name. A node with several outputs has a tuple with an entry for each.
        """
        found: dict[str, Any] = {}
        for row in self.plan.nodes:
            outputs = tuple(None if "-" in words else tuple(map(placement_of_word, words))
                            for words in row.outputs)
            found[row.name] = outputs[0] if len(outputs) == 1 and outputs[0] is not None else outputs
        return {**found, **{each.target: found[each.node.name]
                            for each in self._planned.traced.joint.placeholders
                            if each.role != "tangent"}}

    def materialize(self, init: Callable[[torch.nn.Module], Any] | None = None) -> None:
        """Gives tensors on meta memory on the mesh's device, then calls `init` with this model."""
        materialize(self, init)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """As any module's. Whole tensors, equal on all ranks, are cut like the parameters."""
        return super().load_state_dict(placed_like(state_dict, self.state_dict()), strict, assign)

    def __deepcopy__(self, memo: dict[int, Any]) -> ParallelModel:
        """Another model with its own parameters and the same plans."""
        graphs: Graphs = self._graphs
        root = copy.deepcopy(graphs.model, memo)
        made = ParallelModel(
            replace(graphs, model=root, state=copy.copy(graphs.state), known=dict(graphs.known)),
            self._planned, "full" if self._full_outputs else "sharded", self._redistribution)
        made.training = self.training
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise errors.UnsupportedError(
            "cannot be pickled, since it belongs to the processes of its mesh; save its state_dict(), and its plan "
            "by save_plan()", "model")

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the model returns. Tensors in are DTensors, or plain and whole on every rank.
        Tensors out are DTensors, or plain if they are scalars or `outputs` is "full".

        The first call in another mode (training, gradients, autocast), or with other shapes, traces
        and plans again. Parameters stay where they are.
        """
        graphs = self._graphs
        graphs.model.training = self.training
        self._warn_of_new_hooks()
        planned = graphs.find(torch.is_grad_enabled(), args, kwargs)
        joint = planned.traced.joint
        tensors = joint.inputs.tensors_of(args, kwargs)
        graphs.check_first_inputs(planned, tensors)
        call = Call(planned.programs, self._inputs(planned, tensors), self._full_outputs, self._running)
        graphs.state.next_call()
        return joint.result.rebuild(call.run())

    def _warn_of_new_hooks(self) -> None:
        if self._warned_of_hooks:
            return
        for path, count in hooks_by_module(self).items():
            if count > self._hooks.get(path, 0):
                self._warned_of_hooks = True
                warnings.warn(f"{path}: hooks that were added to it after parallelize do not run; register them on the "
                              "model before, and they are planned with it", stacklevel=4)
                return

    def _inputs(self, planned: Planned, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        """The tensors that enter the graph, in the order of its placeholders."""
        joint = planned.traced.joint
        places = {name: values[key] for name, values, key in tensor_places(self)}
        inputs = dict(zip(joint.inputs.names, tensors))
        found = []
        for each in planned.programs.entering:
            if each.role == "tangent":
                continue
            tensor = {"parameter": places, "buffer": places, "input": inputs,
                      "constant": joint.constants}[each.role][each.target]
            if tensor.is_meta:
                raise errors.InvalidInputError("is on meta; call materialize() first", each.target)
            found.append(tensor)
        return found

    @contextmanager
    def _running(self) -> Iterator[None]:
        """Autocast is off, because the graph has the casts of the mode that it was traced in."""
        from ..replacement import Merging, Replacement
        with torch.autocast(self._graphs.mesh.device_type, enabled=False):
            with Replacement(None) if self._redistribution else Merging():
                yield


@dataclass
class _Row:
    """What the operators of a module take, without those of its children."""

    parameters: list[str] = field(default_factory=list)  # "weight S0 R"
    last: NodePlan | None = None  # of the forward's operators
    operators: int = 0
    compute_us: float = 0.0
    redistributions: int = 0
    redistribute_us: float = 0.0


def _rows(traced: TracedModel, plan: ModelPlan) -> dict[str, _Row]:
    planned = {row.name: row for row in plan.nodes}
    rows: dict[str, _Row] = {}
    for each in traced.joint.placeholders:
        if each.role in ("parameter", "buffer"):
            module, _, key = each.target.rpartition(".")
            words = " ".join(planned[each.node.name].outputs[0])
            rows.setdefault(module, _Row()).parameters.append(f"{key} {words}")
    for name, node in traced.nodes.items():
        if node.op != "call_function":
            continue
        row, own = rows.setdefault(module_of(node), _Row()), planned[name]
        if node not in traced.joint.backward:
            row.last = own
        row.operators += 1
        row.compute_us += own.compute_us
        moves = [moved for moved in own.redistribute_us if moved > 0]
        row.redistributions += len(moves)
        row.redistribute_us += sum(moves)
    return rows
