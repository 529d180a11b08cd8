"""A call of an aten operator without its tensors' values, as a value that can be a key."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Callable, Iterator, Sequence

import torch
from torch.fx import Node


@dataclass(frozen=True)
class Meta:
    """What is known of a tensor."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: torch.dtype


def meta_of(tensor: Any) -> Meta | None:
    if not isinstance(tensor, torch.Tensor):
        return None
    return Meta(tuple(map(int, tensor.shape)), tuple(map(int, tensor.stride())), tensor.dtype)


@dataclass(frozen=True)
class Call:
    """Equal calls have equal rules. Lists are tuples; each tensor is its Meta."""

    op: Any
    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...]
    outputs: tuple[Meta | None, ...]  # None: an output that the call was told not to compute

    @cached_property
    def inputs(self) -> tuple[Meta, ...]:
        """The tensor arguments, flattened in order, those with a keyword last."""
        return tuple(leaf for leaf in leaves((self.args, self.kwargs)) if isinstance(leaf, Meta))

    def argument(self, name: str, default: Any = None) -> Any:
        """The argument of that name of the operator's schema, or its default."""
        for position, described in enumerate(self.op._schema.arguments):
            if described.name == name:
                if position < len(self.args):
                    return self.args[position]
                found = dict(self.kwargs).get(name, described.default_value)
                return default if found is None else found
        return default


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from leaves(part)
    else:
        yield value


def replace(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same nest of tuples with each leaf changed, in order."""
    if isinstance(value, (tuple, list)):
        return tuple(replace(part, change) for part in value)
    return change(value)


class Hole:
    """The place of a tensor in arguments."""


HOLE = Hole()


def with_holes(value: Any) -> Any:
    """The arguments of a node with a HOLE for each tensor, in the order of `input_nodes`."""
    return replace(value, lambda leaf: HOLE if _is_tensor(leaf) else leaf)


def _is_tensor(leaf: Any) -> bool:
    return isinstance(leaf, Node) and isinstance(leaf.meta.get("val"), torch.Tensor)


def input_nodes(node: Node) -> list[Node]:
    """The nodes of the tensor arguments, in the order of Call.inputs; a node used twice is listed twice."""
    return [leaf for leaf in leaves((node.args, tuple(node.kwargs.items()))) if _is_tensor(leaf)]


def producer_of(node: Node) -> tuple[Node, int]:
    """The node that computes a value, and which of its outputs the value is."""
    if node.op == "call_function" and node.target is operator.getitem:
        return node.args[0], int(node.args[1])
    return node, 0


def output_metas(node: Node) -> tuple[Meta | None, ...]:
    value = node.meta.get("val")
    parts: Sequence[Any] = value if isinstance(value, (tuple, list)) else (value,)
    return tuple(meta_of(part) for part in parts)


def call_of(node: Node) -> Call:
    """The call of a node of op "call_function"."""
    def plain(leaf: Any) -> Any:
        return meta_of(leaf.meta.get("val")) if isinstance(leaf, Node) else leaf

    return Call(node.target, replace(node.args, plain),
                tuple((name, replace(value, plain)) for name, value in node.kwargs.items()),
                output_metas(node))


def draws(op: Any) -> bool:
    """Returns true for operators that draw random numbers. A CPU's fused attention has their tag and draws none."""
    return torch.Tag.nondeterministic_seeded in getattr(op, "tags", ()) and (
        op is not torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default)
