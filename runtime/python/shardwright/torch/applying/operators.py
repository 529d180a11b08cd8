"""The function that stands for a node of the graph on one rank's local tensors."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from typing import Any, Callable, Mapping, Sequence

import torch
import torch.fx

from ..tracing.calls import HOLE, draws, with_holes
from ..tracing.localise import localised
from .layouts import Layout

_aten = torch.ops.aten


@dataclass(frozen=True)
class LocalCall:
    """A function, and its arguments with a HOLE for each local tensor."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]


@dataclass(frozen=True)
class _Node:
    """What is known of a node: its call, and where its tensors are. None: an output is no tensor."""

    op: Any
    call: LocalCall
    inputs: tuple[Layout, ...]
    outputs: tuple[Layout | None, ...]

    @property
    def output(self) -> Layout:
        assert self.outputs[0] is not None
        return self.outputs[0]


def local_call(node: torch.fx.Node, inputs: Sequence[Layout], outputs: Sequence[Layout | None]
               ) -> LocalCall:
    """The call of a node of op "call_function" that gives the rank's part of its outputs."""
    arguments: tuple[Any, ...] = with_holes(node.args)
    keywords = {key: with_holes(value) for key, value in node.kwargs.items()}
    layout = next(layout for layout in (*inputs, *outputs) if layout is not None)
    device = torch.device(layout.mesh.device_type)
    if keywords.get("device") is not None:
        keywords["device"] = device
    function, arguments = localised(
        node.target, arguments, [layout.piece for layout in inputs],
        [None if layout is None else layout.piece for layout in outputs])
    own = _Node(node.target, LocalCall(function, arguments, keywords), tuple(inputs), tuple(outputs))
    if all(layout is None or 0 in layout.local_shape for layout in outputs):
        return _nothing(own, device, isinstance(node.meta["val"], (tuple, list)))
    special = _SPECIAL.get(node.target)
    return own.call if special is None else special(own)


def _nothing(node: _Node, device: torch.device, returns_several: bool) -> LocalCall:
    """A call for a rank whose outputs are empty, because several operators refuse empty tensors."""
    def call(*_: Any, **__: Any) -> Any:
        made = [None if layout is None else torch.empty(layout.local_shape, dtype=layout.dtype, device=device)
                for layout in node.outputs]
        return made if returns_several else made[0]
    return replace(node.call, function=call)


def _reshape(node: _Node) -> LocalCall:
    """Views become a reshape to the local shape, because a local tensor may lack the whole one's
    strides. A squeeze would also remove a sharded dimension that has one element on this rank.
    """
    return LocalCall(_aten.reshape.default, (HOLE, node.output.local_shape), {})


def _contiguous_first(node: _Node) -> LocalCall:
    return replace(node.call, function=lambda tensor, *arguments: node.op(tensor.contiguous(), *arguments))


def _as_strided(node: _Node) -> LocalCall:
    """The strides are those of the whole tensor, so the input is laid out as it was traced."""
    source = node.inputs[0]

    def call(tensor: torch.Tensor, *arguments: Any, **keywords: Any) -> torch.Tensor:
        traced = torch.empty_strided(source.shape, source.stride, dtype=tensor.dtype,
                                     device=tensor.device)
        return node.op(traced.copy_(tensor), *arguments, **keywords)
    return replace(node.call, function=call)


def _extreme(node: _Node) -> LocalCall:
    """A rank without elements gives the value that every other value beats."""
    source, target = node.inputs[0], node.output
    if math.prod(source.local_shape) > 0 or math.prod(target.local_shape) == 0:
        return node.call
    is_max = node.op in (_aten.amax.default, _aten.max.default)
    if target.dtype.is_floating_point:
        worst = -math.inf if is_max else math.inf
    else:
        limits = torch.iinfo(target.dtype)
        worst = limits.min if is_max else limits.max
    return LocalCall(lambda tensor: tensor.new_full(target.local_shape, worst), (HOLE,), {})


_SPECIAL: dict[Any, Callable[[_Node], LocalCall]] = {
    _aten.view.default: _reshape, _aten._unsafe_view.default: _reshape,
    _aten.squeeze.default: _reshape, _aten.squeeze.dim: _reshape, _aten.squeeze.dims: _reshape,
    _aten.view_as_complex.default: _contiguous_first, _aten.view.dtype: _contiguous_first,
    _aten.as_strided.default: _as_strided,
    _aten.amax.default: _extreme, _aten.amin.default: _extreme, _aten.max.default: _extreme,
    _aten.min.default: _extreme,
}


@dataclass
class RandomState:
    """Seeds for the random operators of a model. Ranks that hold the same part of an output draw
    the same numbers for it. Thread safety: one call of the model at a time.
    """

    seed: int  # equal on all ranks
    call: int = 0

    def next_call(self) -> None:
        """Later seeds differ from earlier ones. All ranks call it equally often."""
        self.call += 1

    def seed_of(self, operator: str, part: int) -> int:
        text = f"{self.seed} {self.call} {operator} {part}".encode()
        return int.from_bytes(hashlib.blake2b(text, digest_size=7).digest(), "little")


def seeded(call: LocalCall, name: str, op: Any, outputs: Sequence[Layout | None],
           state: RandomState) -> LocalCall:
    """The call with a seed of its own where its operator is random."""
    if not draws(op):
        return call
    layout = next(layout for layout in outputs if layout is not None)
    part, device = layout.shard_index, layout.mesh.device_type

    def function(*arguments: Any, **keywords: Any) -> Any:
        generator = _generator(device)
        before = generator.get_state()
        generator.manual_seed(state.seed_of(name, part))
        try:
            return call.function(*arguments, **keywords)
        finally:
            generator.set_state(before)
    return replace(call, function=function)


def _generator(device: str) -> torch.Generator:
    """The generator that random operators of the current device use."""
    if device == "cpu":
        return torch.default_generator
    module = getattr(torch, device)
    generator: torch.Generator = module.default_generators[module.current_device()]
    return generator
