"""One alias for all products of a pass that read the same tensor (../README.md, Rewriting)."""

from __future__ import annotations

import torch
from torch.fx import Graph, GraphModule, Node

_aten = torch.ops.aten
_PRODUCTS = frozenset({_aten.matmul.default, _aten.tensordot.default, _aten.mm.default, _aten.bmm.default,
                       _aten.addmm.default, _aten.baddbmm.default, _aten.convolution.default,
                       _aten.convolution_backward.default})


def share(graph_module: GraphModule, backward: frozenset[Node]) -> frozenset[Node]:
    """Inserts an alias for the products of the forward, and another one for those of the backward.
    Returns the new nodes of the backward. Changes the graph in place, not its code.
    """
    added: set[Node] = set()
    nodes = list(graph_module.graph.nodes)
    position = {node: index for index, node in enumerate(nodes)}
    for node in nodes:
        if not isinstance(node.meta.get("val"), torch.Tensor):
            continue
        products = sorted((user for user in node.users if user.target in _PRODUCTS),
                          key=position.__getitem__)
        for phase in (False, True):
            readers = [user for user in products if (user in backward) == phase]
            if len(readers) < 2:
                continue
            alias = _alias(graph_module.graph, node, readers[0])
            for reader in readers:
                reader.replace_input_with(node, alias)
            if phase:
                added.add(alias)
    return frozenset(added)


def _alias(graph: Graph, node: Node, first: Node) -> Node:
    with graph.inserting_before(first):
        alias = graph.call_function(_aten.alias.default, (node,))
    alias.meta = {key: value for key, value in first.meta.items()
                  if key in ("custom", "partitioner_tag", "seq_nr", "stack_trace")}
    alias.meta["val"] = node.meta["val"]
    return alias
