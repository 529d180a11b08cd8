"""Products of tensors that keep their dimensions, in place of products of flattened ones.

../README.md, Rewriting, says why. The views move behind the products, where they meet the views
back and vanish.
"""

from __future__ import annotations

from math import prod
from typing import Any, Callable, NamedTuple

import torch
import torch.utils._pytree as pytree
from torch.fx import Graph, GraphModule, Node

_aten = torch.ops.aten
_VIEWS = (_aten.view.default, _aten._unsafe_view.default, _aten.reshape.default)


class _Flattened(NamedTuple):
    """A value [prod(lead), *rest], and the node that has it as [*lead, *rest]."""

    node: Node
    lead: int  # number of dimensions, at least two

    @property
    def shape(self) -> Any:
        return self.node.meta["val"].shape


def _value(node: Any) -> Any:
    return node.meta.get("val") if isinstance(node, Node) else None


class _Pass:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.flattened: dict[Node, _Flattened] = {}

    def run(self) -> None:
        for node in list(self.graph.nodes):
            if node.op != "call_function":
                continue
            if node.target in _VIEWS:
                self._view(node)
                continue
            rewritten = self._rewritten(node)
            if rewritten is not None:
                unflattened, lead = rewritten
                back, shape = unflattened, _value(node).shape
                if _value(unflattened).shape != shape:
                    with self.graph.inserting_before(node):
                        back = self._call(node, _aten.view.default, unflattened, list(shape))
                node.replace_all_uses_with(back)
                if lead >= 2:
                    self.flattened[back] = _Flattened(unflattened, lead)

    def _call(self, like: Node, op: Any, *args: Any, **kwargs: Any) -> Node:
        """A new node at the insertion point, with the origin of the node `like`."""
        node = self.graph.call_function(op, args, kwargs)
        node.meta = {key: value for key, value in like.meta.items()
                     if key in ("custom", "partitioner_tag", "seq_nr", "stack_trace")}
        values = pytree.tree_map(
            lambda leaf: leaf.meta["val"] if isinstance(leaf, Node) else leaf, args)
        with torch.no_grad():
            node.meta["val"] = op(*values, **kwargs)
        return node

    def _view(self, node: Node) -> None:
        """Shortens a chain of views, and registers a tensor that is flattened."""
        source = node.args[0]
        origin = self.flattened[source].node if source in self.flattened else source
        before, after = _value(origin).shape, _value(node).shape
        if before == after:
            node.replace_all_uses_with(origin)
            return
        lead = len(before) - len(after) + 1
        if lead >= 2 and len(after) and before[lead:] == after[1:] and prod(before[:lead]) == after[0]:
            self.flattened[node] = _Flattened(origin, lead)

    def _rewritten(self, node: Node) -> tuple[Node, int] | None:
        """The same result with its leading dimensions, and their number; None without a rewrite."""
        rule = _REWRITES.get(node.target)
        if rule is None and torch.Tag.pointwise in getattr(node.target, "tags", ()):
            rule = _Pass._pointwise
        if rule is None or not isinstance(_value(node), torch.Tensor):
            return None
        with self.graph.inserting_before(node):
            return rule(self, node)

    def _product(self, node: Node) -> tuple[Node, int] | None:
        """mm: the left tensor is [*lead, k], or both are flattened and the sum is over `lead`."""
        left, right = node.args
        if left in self.flattened and len(_value(left).shape) == 2:
            flat = self.flattened[left]
            return self._call(node, _aten.matmul.default, flat.node, right), flat.lead
        if (left.target in (_aten.t.default, _aten.transpose.int) and left.args[0] in self.flattened
                and right in self.flattened):
            first, second = self.flattened[left.args[0]], self.flattened[right]
            if first.shape[:first.lead] == second.shape[:second.lead] and first.lead == second.lead:
                dims = list(range(first.lead))
                return self._call(node, _aten.tensordot.default, first.node, second.node, dims, dims), 0
        return None

    def _batch_product(self, node: Node) -> tuple[Node, int] | None:
        left, right = (self.flattened.get(arg) for arg in node.args)
        if left is None or right is None or left.shape[:left.lead] != right.shape[:right.lead]:
            return None
        return self._call(node, _aten.matmul.default, left.node, right.node), left.lead

    def _transpose(self, node: Node) -> tuple[Node, int] | None:
        flat, rank = self.flattened.get(node.args[0]), len(_value(node).shape)
        dims = {dim % rank for dim in node.args[1:]}
        if flat is None or 0 in dims:
            return None
        return self._call(node, _aten.transpose.int, flat.node,
                          *(dim + flat.lead - 1 for dim in sorted(dims))), flat.lead

    def _pointwise(self, node: Node) -> tuple[Node, int] | None:
        """Rewrites a node whose tensors are all flattened alike, or lack the flattened dimensions,
        or lacked them before they were expanded.
        """
        tensors = [arg for arg in node.args if isinstance(arg, Node)]
        flat = [self.flattened[arg] for arg in tensors if arg in self.flattened]
        if not flat or node.kwargs or any(isinstance(arg, (list, tuple)) for arg in node.args):
            return None
        lead, rank = flat[0].lead, len(_value(node).shape)
        if any(each.lead != lead or each.shape[:lead] != flat[0].shape[:lead] for each in flat):
            return None
        others = [arg for arg in tensors
                  if arg not in self.flattened and len(_value(arg).shape) >= rank]
        if not all(self._is_expanded(arg, rank) for arg in others):
            return None
        nodes = {arg: self.flattened[arg].node for arg in tensors if arg in self.flattened}
        for arg in others:
            shape = [*flat[0].shape[:lead], *_value(arg).shape[1:]]
            nodes[arg] = self._call(arg, _aten.expand.default, arg.args[0], shape)
        args = [nodes.get(arg, arg) if isinstance(arg, Node) else arg for arg in node.args]
        return self._call(node, node.target, *args), lead

    @staticmethod
    def _is_expanded(node: Node, rank: int) -> bool:
        """Returns true if the node repeats a tensor of fewer dimensions than `rank`, which it has."""
        return (node.target is _aten.expand.default and len(_value(node).shape) == rank
                and len(_value(node.args[0]).shape) < rank)

    def _rows(self, node: Node) -> tuple[Node, int] | None:
        """Rewrites an operator along another dimension, named by its argument `dim`, than the
        flattened one.
        """
        tensors = [arg for arg in node.args if isinstance(arg, Node)]
        flat = [self.flattened.get(arg) for arg in tensors]
        first = flat[0]
        if first is None or any(each is None or each.lead != first.lead
                                or each.shape[:each.lead] != first.shape[:first.lead] for each in flat):
            return None
        shift, args = first.lead - 1, list(node.args)
        for position, described in enumerate(node.target._schema.arguments[:len(args)]):
            if described.name == "dim":
                rank = max(len(_value(node).shape), len(_value(tensors[0]).shape))
                dims = args[position] if isinstance(args[position], (list, tuple)) else [args[position]]
                moved = [dim % rank + shift for dim in dims]
                if not moved or min(moved) == shift:
                    return None
                args[position] = moved if dims is args[position] else moved[0]
        replaced = [self.flattened[arg].node if isinstance(arg, Node) else arg for arg in args]
        return self._call(node, node.target, *replaced, **node.kwargs), first.lead

    def _sums(self, node: Node) -> tuple[Node, int] | None:
        """Rewrites a sum over the flattened dimension alone, over all dimensions, or over others
        only.
        """
        flat = self.flattened.get(node.args[0])
        if flat is None:
            return None
        if node.target is _aten.sum.default:
            return self._call(node, node.target, flat.node, **node.kwargs), 0
        if list(node.args[1] or ()) != [0]:
            return self._rows(node)
        return self._call(node, node.target, flat.node, list(range(flat.lead)), *node.args[2:],
                          **node.kwargs), 0


_REWRITES: dict[Any, Callable[[_Pass, Node], "tuple[Node, int] | None"]] = {
    _aten.mm.default: _Pass._product, _aten.bmm.default: _Pass._batch_product,
    _aten.transpose.int: _Pass._transpose, _aten.sum.dim_IntList: _Pass._sums,
    _aten.sum.default: _Pass._sums,
    **{op: _Pass._rows for op in (
        _aten._log_softmax.default, _aten._log_softmax_backward_data.default,
        _aten._softmax.default, _aten._safe_softmax.default, _aten._softmax_backward_data.default,
        _aten.amax.default, _aten.gather.default, _aten.scatter.value, _aten.scatter.src,
        _aten.scatter_add.default, _aten.unsqueeze.default, _aten.squeeze.dims,
        _aten.zeros_like.default, _aten.ones_like.default)},
}


def unflatten(graph_module: GraphModule) -> None:
    """Rewrites the graph in place, not its code. Its results are the same up to the order of sums."""
    _Pass(graph_module.graph).run()
    graph_module.graph.eliminate_dead_code()
