"""What a plan does, as tables and dicts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Iterable

from torch.distributed.tensor.placement_types import Placement

from ..model_plan import ModelPlan, NodePlan
from ..tracing.document import TracedModel
from .layouts import placement_of_word

Placements = tuple[Placement, ...]


@dataclass
class _Row:
    """One module: what its own operators, not those of its children, take."""

    parameters: list[str] = field(default_factory=list)  # "weight S0 R"
    last: NodePlan | None = None  # of the forward
    operators: int = 0
    compute_us: float = 0.0
    redistributions: int = 0
    redistribute_us: float = 0.0


def describe(traced: TracedModel, plan: ModelPlan, modules: Iterable[str]) -> str:
    """A table with a line per module, in their order: the placements of its parameters and of its last result, its
    operators, the microseconds that they take, redistributions and their microseconds. Forward and
    backward count together.
    """
    found = _rows(traced, plan)
    order = dict.fromkeys([*modules, *found])
    rows = {name: found[name] for name in order if name in found}
    table = [("module", "parameters", "result", "operators", "us", "moves", "us of moves")]
    for name, row in rows.items():
        result = "" if row.last is None else " ".join(row.last.outputs[0])
        table.append((name or "(model)", ", ".join(row.parameters), result, str(row.operators),
                      f"{row.compute_us:.1f}", str(row.redistributions), f"{row.redistribute_us:.1f}"))
    widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
    lines = ["  ".join(text.ljust(width) if column < 3 else text.rjust(width)
                       for column, (text, width) in enumerate(zip(line, widths))).rstrip()
             for line in table]
    memory = f"{plan.peak_bytes / 2**20:.1f} MiB at most on a device"
    return "\n".join([
        f"mesh {'x'.join(map(str, plan.mesh_shape))}: {plan.objective_us:.1f} us a step by estimate "
        f"({plan.status}, no plan takes less than {plan.lower_bound_us:.1f} us), {memory}", *lines])


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
        row, own = rows.setdefault(traced.joint.module_of(node), _Row()), planned[name]
        if node not in traced.joint.backward:
            row.last = own
        row.operators += 1
        row.compute_us += own.compute_us
        moves = [moved for moved in own.redistribute_us if moved > 0]
        row.redistributions += len(moves)
        row.redistribute_us += sum(moves)
    return rows


def placements_by_name(traced: TracedModel, plan: ModelPlan
                       ) -> dict[str, Placements | tuple[Placements | None, ...]]:
    """Torch's placements of every node of the graph, and of every parameter, buffer and input under
    its own name. Of a node with several outputs, a tuple with an entry for each.
    """
    found: dict[str, Placements | tuple[Placements | None, ...]] = {}
    for row in plan.nodes:
        outputs = tuple(None if "-" in words else tuple(map(placement_of_word, words))
                        for words in row.outputs)
        found[row.name] = outputs[0] if len(outputs) == 1 and outputs[0] is not None else outputs
    for each in traced.joint.placeholders:
        if each.role != "tangent":
            found[each.target] = found[each.node.name]
    return found
