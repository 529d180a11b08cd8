"""Blocks whose forward is computed again in the backward, instead of kept for it."""

from __future__ import annotations

from typing import Callable, Sequence

import torch
import torch.fx


def recompute(graph: torch.fx.Graph, backward: set[torch.fx.Node], block: str,
              module_of: Callable[[torch.fx.Node], str]) -> None:
    """The backward of a block computes the values that it reads from what entered the block.

    Changes the graph in place and adds the new nodes to `backward`. What leaves the block is kept as
    before: the next block starts from it. So are parameters, what other modules computed, and random
    numbers, which would not be the same again where another part of them lies on a rank.
    """
    inside = {node for node in graph.nodes
              if node.op == "call_function" and is_in(module_of(node), block)}
    forward = inside - backward
    readers = [node for node in graph.nodes if node in inside and node in backward]
    again = _needed(readers, inside, forward)
    if not again:
        return
    copies: dict[torch.fx.Node, torch.fx.Node] = {}
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


def is_in(module: str, block: str) -> bool:
    """Whether the path of a module is that of the block, or of one of its modules."""
    return module == block or module.startswith(block + ".")


def _needed(readers: Sequence[torch.fx.Node], inside: set[torch.fx.Node], forward: set[torch.fx.Node]
            ) -> set[torch.fx.Node]:
    """What is to be computed again: what the readers need, up to what others read as well."""
    again: set[torch.fx.Node] = set()
    left = [source for reader in readers for source in reader.all_input_nodes]
    while left:
        node = left.pop()
        if (node in forward and node not in again and inside.issuperset(node.users)
                and torch.Tag.nondeterministic_seeded not in getattr(node.target, "tags", ())):
            again.add(node)
            left += node.all_input_nodes
    return again
