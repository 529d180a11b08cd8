"""Torch's own rules, asked for one axis of a mesh that has no processes."""

from __future__ import annotations

import logging
from functools import cache
from typing import Any, Iterator, Sequence

import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
from torch.distributed.tensor._op_schema import OpSchema, OpSpec, OpStrategy, TupleStrategy
from torch.distributed.tensor._ops.single_dim_strategy import _ShardingPlaceholder
from torch.distributed.tensor.placement_types import Partial, Replicate, Shard

from ..calls import Call, Meta, replace
from .entries import ABSENT, Entry

_LOG = logging.getLogger(__name__)
_WORDS = {"sum": "P", "avg": "Pavg", "max": "Pmax", "min": "Pmin"}


@cache
def _mesh() -> DeviceMesh:
    """A mesh of one rank without a process group. With more ranks, torch leaves out dimensions that
    the ranks do not divide; judging those is the planner's task.
    """
    return DeviceMesh("cpu", torch.arange(1), _init_backend=False, _rank=0)


def _word(placement: Any) -> str | None:
    """Returns None for other kinds: strided, masked, or of another reduction."""
    if placement is None:
        return ABSENT
    if isinstance(placement, _ShardingPlaceholder) or type(placement) is Shard:
        return f"S{placement.dim}"
    if type(placement) is Replicate:
        return "R"
    return _WORDS.get(placement.reduce_op) if type(placement) is Partial else None


def _entry(call: Call, placements: Sequence[Any]) -> Entry | None:
    count = len(placements) - len(call.inputs)
    words = [_word(placement) for placement in placements]
    if any(word is None for word in words):
        return None
    outputs, inputs = words[:count], words[count:]
    if count == 1 and len(call.outputs) > 1:
        outputs = outputs * len(call.outputs)
    if len(outputs) != len(call.outputs):
        return None
    outputs = [ABSENT if meta is None else word for meta, word in zip(call.outputs, outputs)]
    if any(word == ABSENT and meta is not None for word, meta in zip(outputs, call.outputs)):
        return None
    return Entry(tuple(outputs), tuple(inputs))  # type: ignore[arg-type]


def _tensor_meta(meta: Meta) -> TensorMeta:
    return TensorMeta(torch.Size(meta.shape), meta.stride, meta.dtype)


def _arguments(value: Any) -> Any:
    """Tensors become strategies with all placements, lists of tensors a TupleStrategy, as in
    torch's propagation.
    """
    if isinstance(value, tuple):
        parts = [_arguments(part) for part in value]
        if parts and all(isinstance(part, OpStrategy) for part in parts):
            return TupleStrategy(tuple(parts))
        return parts
    if not isinstance(value, Meta):
        return value
    choices = [Replicate(), *(Shard(dim) for dim in range(len(value.shape))),
               *(Partial(name) for name in _WORDS)]
    return OpStrategy([OpSpec(DTensorSpec(_mesh(), (choice,), _tensor_meta(value)))
                       for choice in choices])


def _of_strategy(call: Call, function: Any) -> Iterator[Sequence[Any]]:
    schema = OpSchema(call.op, tuple(_arguments(arg) for arg in call.args),
                      {name: _arguments(value) for name, value in call.kwargs})
    strategy = function(schema)
    if not isinstance(strategy, OpStrategy):
        return
    for spec in strategy.strategies:
        outputs = spec.output_specs
        if isinstance(outputs, DTensorSpec):
            outputs = (outputs,)
        inputs = spec.input_specs or outputs * len(call.inputs)
        yield [None if each is None else each.placements[0] for each in (*outputs, *inputs)]


def torch_entries(call: Call) -> list[Entry] | None:
    """The entries that torch's DTensor has for a call; None if it has no rule that can be asked."""
    propagator = DTensor._op_dispatcher.sharding_propagator
    single = propagator.op_single_dim_strategy_funcs.get(call.op)
    general = propagator.op_strategy_funcs.get(call.op)
    if (single is None and general is None) or not call.inputs:
        return None

    def meta(leaf: Any) -> Any:
        return _tensor_meta(leaf) if isinstance(leaf, Meta) else leaf

    try:
        if single is not None:
            rows = list(single.func(call.op, replace(call.args, meta),
                                    {name: replace(value, meta) for name, value in call.kwargs}))
        else:
            rows = list(_of_strategy(call, general))
    except Exception as error:  # a rule of torch may fail in any way for arguments it did not expect
        _LOG.debug("torch's rule of %s failed: %s: %s", call.op, type(error).__name__, error)
        return None
    entries = [_entry(call, row) for row in rows if len(row) > len(call.inputs)]
    return [entry for entry in entries if entry is not None]
