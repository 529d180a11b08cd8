"""Blocks whose forward is computed again in the backward, instead of kept for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Sequence

import torch
from torch.fx import Graph, GraphModule, Node

from .... import errors
from ..calls import draws
from ..joint import JointGraph
from ..origins import module_of


def _recompute(graph: Graph, backward: set[Node], block: str) -> None:
    """Lets the backward of a block compute the values that it reads from what entered the block.

    Changes the graph in place and adds the new nodes to `backward`. Still kept for the backward are
    the block's results, from which the next block starts, parameters, values of other modules, and
    random numbers, which would differ where a rank holds another part of them.
    """
    inside = {node for node in graph.nodes
              if node.op == "call_function" and _is_in(module_of(node), block)}
    forward = inside - backward
    readers = [node for node in graph.nodes if node in inside and node in backward]
    again = _needed(readers, inside, forward)
    if not again:
        return
    copies: dict[Node, Node] = {}
    first = next(node for node in readers if again.intersection(node.all_input_nodes))
    with graph.inserting_before(first):
        for node in graph.nodes:
            if node in again:
                copy = graph.node_copy(node, lambda source: copies.get(source, source))
                copy.meta = {**node.meta, "partitioner_tag": "is_backward"}
                copies[node] = copy
    for reader in readers:
        for source in reader.all_input_nodes:
            if source in copies:
                reader.replace_input_with(source, copies[source])
    backward.update(copies.values())


def _is_in(module: str, block: str) -> bool:
    return module == block or module.startswith(block + ".")


def _needed(readers: Sequence[Node], inside: set[Node], forward: set[Node]) -> set[Node]:
    """The nodes to compute again: all that only the block reads and that its readers depend on."""
    again: set[Node] = set()
    left = [source for reader in readers for source in reader.all_input_nodes]
    while left:
        node = left.pop()
        if (node in forward and node not in again and inside.issuperset(node.users)
                and not draws(node.target)):
            again.add(node)
            left += node.all_input_nodes
    return again


def repeated_blocks(model: torch.nn.Module) -> tuple[str, ...]:
    """Paths of the modules in the model's lists (ModuleList, Sequential) of several modules, in
    their order. Lists within these modules do not count.
    """
    found: list[str] = []
    for path, module in model.named_modules():
        is_list = isinstance(module, (torch.nn.ModuleList, torch.nn.Sequential)) and len(module) > 1
        if is_list and not any(_is_in(path, block) for block in found):
            found += [f"{path}.{name}" if path else name for name, _ in module.named_children()]
    return tuple(found)


def recomputed(joint: JointGraph, blocks: Sequence[str]) -> JointGraph:
    """The same step in which the backward of each block, a path of a module, computes the block's
    forward again. `joint` is not changed. Raises InvalidInputError for a path without operators.
    """
    graph = Graph()
    to: dict[Node, Node] = {}
    for node in joint.graph_module.graph.nodes:
        to[node] = graph.node_copy(node, to.__getitem__)
    backward = {to[node] for node in joint.backward}
    for block in blocks:
        if not any(_is_in(module_of(node), block) for node in to):
            raise errors.InvalidInputError(f"no module {block!r} with operators", "recompute")
        _recompute(graph, backward, block)
    graph.eliminate_dead_code()
    return replace(
        joint, graph_module=GraphModule(joint.graph_module, graph),
        placeholders=tuple(replace(each, node=to[each.node]) for each in joint.placeholders),
        outputs=tuple(replace(each, node=to[each.node]) for each in joint.outputs),
        backward=frozenset(backward.intersection(graph.nodes)))
