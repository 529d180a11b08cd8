"""Joint graphs that keep less for the backward: some blocks are computed twice."""

from __future__ import annotations

from dataclasses import replace
from typing import Sequence

import torch
import torch.fx

from ... import errors
from .joint import JointGraph
from .rewriting import is_in, recompute


def repeated_blocks(model: torch.nn.Module) -> tuple[str, ...]:
    """Paths of the modules in the model's lists (ModuleList, Sequential) that are in no other list's
    modules, in their order; of lists of one module, none.
    """
    found: list[str] = []
    for path, module in model.named_modules():
        is_list = isinstance(module, (torch.nn.ModuleList, torch.nn.Sequential)) and len(module) > 1
        if is_list and not any(is_in(path, block) for block in found):
            found += [f"{path}.{name}" if path else name for name, _ in module.named_children()]
    return tuple(found)


def recomputed(joint: JointGraph, blocks: Sequence[str]) -> JointGraph:
    """The same step in which the backward of each block, a path of a module, computes the block's
    forward again. `joint` is not changed. Raises InvalidInputError for a path without operators.
    """
    graph = torch.fx.Graph()
    to: dict[torch.fx.Node, torch.fx.Node] = {}
    for node in joint.graph_module.graph.nodes:
        to[node] = graph.node_copy(node, to.__getitem__)
    backward = {to[node] for node in joint.backward}
    for block in blocks:
        if not any(is_in(joint.module_of(node), block) for node in to):
            raise errors.InvalidInputError(f"no module {block!r} with operators", "recompute")
        recompute(graph, backward, block, joint.module_of)
    graph.eliminate_dead_code()
    return replace(
        joint, graph_module=torch.fx.GraphModule(joint.graph_module, graph),
        placeholders=tuple(replace(each, node=to[each.node]) for each in joint.placeholders),
        outputs=tuple(replace(each, node=to[each.node]) for each in joint.outputs),
        backward=frozenset(backward.intersection(graph.nodes)))
