"""Removes operators that return what they get, and what nothing uses."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node

_aten = torch.ops.aten
# No operator of a traced graph changes its arguments, so sharing memory or not makes no difference.
_SAME = (_aten.detach.default, _aten.alias.default, _aten.lift_fresh_copy.default,
         _aten.lift_fresh.default)
_SAME_IF_ALIKE = (_aten.expand.default, _aten.view.default, _aten._unsafe_view.default,
                  _aten.reshape.default, _aten.slice.Tensor, _aten._to_copy.default,
                  _aten.squeeze.dim, _aten.squeeze.dims, _aten.squeeze.default)


def _source(node: Node) -> Any:
    """The node that has the same value, or None."""
    if node.target in _SAME:
        return node.args[0]
    source: Any = node.args[0] if node.args else None
    if not isinstance(source, Node):
        return None
    if node.target in _SAME_IF_ALIKE:
        before, after = source.meta["val"], node.meta["val"]
        return source if before.shape == after.shape and before.dtype == after.dtype else None
    if node.target is _aten.t.default and source.target is _aten.t.default:
        return source.args[0]
    return None


def _as_view(node: Node) -> None:
    """Turns an as_strided of all elements in their order into a view, whose dimensions can be
    followed.
    """
    before, after = node.args[0].meta["val"], node.meta["val"]
    if (before.is_contiguous() and after.is_contiguous() and before.numel() == after.numel()
            and not (len(node.args) > 3 and node.args[3])):
        node.target, node.args = _aten.view.default, (node.args[0], list(after.shape))


def _name_dimensions(node: Node) -> None:
    """Names what a squeeze removes, because on a rank other dimensions may have one element as
    well.
    """
    shape = node.args[0].meta["val"].shape
    if len(shape) > len(node.meta["val"].shape):
        named = node.args[1] if len(node.args) > 1 else range(len(shape))
        dims = sorted({dim % len(shape) for dim in ((named,) if isinstance(named, int) else named)})
        node.target = _aten.squeeze.dims
        node.args = (node.args[0], [dim for dim in dims if shape[dim] == 1])


def simplify(graph_module: GraphModule) -> None:
    """Changes the graph in place, not its code; its results stay the same."""
    for node in list(graph_module.graph.nodes):
        if node.target is _aten.as_strided.default:
            _as_view(node)
        if node.target in (_aten.squeeze.default, _aten.squeeze.dim, _aten.squeeze.dims):
            _name_dimensions(node)
        if node.op == "call_function" and (source := _source(node)) is not None:
            node.replace_all_uses_with(source)
            graph_module.graph.erase_node(node)
    graph_module.graph.eliminate_dead_code()
