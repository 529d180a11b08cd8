"""A call of an operator, for a rank that has pieces of the tensors: what to call, and with what."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import torch

from .grouped import grouped
from .indexing import indexed
from .pieces import Piece

_aten = torch.ops.aten
Shapes = Sequence["tuple[int, ...] | None"]

# Position of the argument that is the shape of output 0.
_SHAPES = {
    _aten.view.default: 1, _aten._unsafe_view.default: 1, _aten.reshape.default: 1,
    _aten.expand.default: 1, _aten.slice_backward.default: 1, _aten.select_backward.default: 1,
    _aten.new_zeros.default: 1, _aten.new_ones.default: 1, _aten.new_empty.default: 1,
    _aten.new_full.default: 1, _aten.zeros.default: 0, _aten.ones.default: 0,
    _aten.full.default: 0, _aten.empty.memory_format: 0,
    _aten.diagonal_backward.default: 1, _aten.unfold_backward.default: 1,
    _aten.upsample_nearest2d_backward.default: 3, _aten.upsample_bilinear2d_backward.default: 3,
}
# Positions of (batch, channels, product of the other extents) of the tensor in argument 0.
_GROUP_NORMS = {_aten.native_group_norm.default: (0, 3),
                _aten.native_group_norm_backward.default: (1, 5)}


def localised(op: Any, args: tuple[Any, ...], inputs: Sequence[Piece], outputs: Sequence[Piece | None]
              ) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Returns the function to call and its positional arguments, for one rank; pieces may be uneven.

    `inputs` are the pieces of the tensor arguments, flattened in order, `outputs` those that the
    results must have. An extent of a whole tensor that a call mentions becomes that of the piece:
    sizes of views and of new tensors, groups of convolutions, batch and channels of group norms.
    The function is the operator, except where indices or offsets count in a dimension that is cut.
    """
    arguments = _arguments(op, args, [piece.shape for piece in inputs],
                           [None if piece is None else piece.shape for piece in outputs])
    function = indexed(op, args, inputs, outputs) or grouped(op, inputs, outputs) or op
    return function, arguments


def _arguments(op: Any, args: tuple[Any, ...], inputs: Shapes, outputs: Shapes) -> tuple[Any, ...]:
    position = _SHAPES.get(op)
    if position is not None and outputs[0] is not None:
        return _with(args, {position: tuple(outputs[0])})
    if op in _GROUP_NORMS:
        tensor, first = _GROUP_NORMS[op]
        shape = inputs[tensor]
        assert shape is not None
        rest = 1
        for extent in shape[2:]:
            rest *= extent
        return _with(args, {first: shape[0], first + 1: shape[1], first + 2: rest})
    special = _SPECIAL.get(op)
    return args if special is None else special(args, inputs, outputs)


def _with(args: tuple[Any, ...], changes: dict[int, Any]) -> tuple[Any, ...]:
    return tuple(changes.get(position, value) for position, value in enumerate(args))


def _convolution(args: tuple[Any, ...], inputs: Shapes, outputs: Shapes) -> tuple[Any, ...]:
    """Argument 8 is the number of groups, of as many channels each as the weight has."""
    tensor, weight = inputs[0], inputs[1]
    assert tensor is not None and weight is not None
    return args if args[6] else _with(args, {8: tensor[1] // weight[1]})


def _convolution_backward(args: tuple[Any, ...], inputs: Shapes, outputs: Shapes
                          ) -> tuple[Any, ...]:
    """Argument 3 is the shape of the bias: as many elements as the gradient has channels."""
    gradient, tensor, weight = inputs[0], inputs[1], inputs[2]
    assert gradient is not None and tensor is not None and weight is not None
    changes: dict[int, Any] = {} if args[7] else {9: tensor[1] // weight[1]}
    if args[3] is not None:
        changes[3] = (gradient[1],)
    return _with(args, changes)


def _new_empty_strided(args: tuple[Any, ...], inputs: Shapes, outputs: Shapes) -> tuple[Any, ...]:
    """The dimensions keep their order in memory, without gaps."""
    shape = outputs[0]
    assert shape is not None
    strides, step = list(args[2]), 1
    for dim in sorted(range(len(shape)), key=lambda dim: (args[2][dim], -dim)):
        strides[dim] = step
        step *= shape[dim]
    return _with(args, {1: tuple(shape), 2: tuple(strides)})


_SPECIAL: dict[Any, Callable[[tuple[Any, ...], Shapes, Shapes], tuple[Any, ...]]] = {
    _aten.convolution.default: _convolution,
    _aten.convolution_backward.default: _convolution_backward,
    _aten.new_empty_strided.default: _new_empty_strided,
}
