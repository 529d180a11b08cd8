"""Arguments of a call that mention extents of whole tensors, for a call on pieces of these."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import torch

_aten = torch.ops.aten
Shapes = Sequence["tuple[int, ...] | None"]

# Position of the argument that is the shape of output 0.
_SHAPES = {
    _aten.view.default: 1, _aten._unsafe_view.default: 1, _aten.reshape.default: 1,
    _aten.expand.default: 1, _aten.slice_backward.default: 1, _aten.select_backward.default: 1,
    _aten.new_zeros.default: 1, _aten.new_ones.default: 1, _aten.new_empty.default: 1,
    _aten.new_full.default: 1,
    _aten.diagonal_backward.default: 1, _aten.unfold_backward.default: 1,
    _aten.upsample_nearest2d_backward.default: 3, _aten.upsample_bilinear2d_backward.default: 3,
}
# Positions of (batch, channels, product of the other extents) of the tensor in argument 0.
_GROUP_NORMS = {_aten.native_group_norm.default: (0, 3), _aten.native_group_norm_backward.default: (1, 5)}


def local_arguments(op: Any, args: tuple[Any, ...], inputs: Shapes, outputs: Shapes
                    ) -> tuple[Any, ...]:
    """Returns the positional arguments for pieces of these shapes.

    `inputs` are the shapes of the pieces of the tensor arguments, flattened in order, `outputs`
    those that the results must have. Applies to one rank; pieces may be uneven. An extent of a whole
    tensor that a call mentions becomes that of the piece: sizes of views and of new tensors, batch and channels of group norms.
    """
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


def _convolution_backward(args: tuple[Any, ...], inputs: Shapes, outputs: Shapes
                          ) -> tuple[Any, ...]:
    """Argument 3 is the shape of the bias: as many elements as the gradient has channels."""
    if args[3] is None or inputs[0] is None:
        return args
    return _with(args, {3: (inputs[0][1],)})


_SPECIAL: dict[Any, Callable[[tuple[Any, ...], Shapes, Shapes], tuple[Any, ...]]] = {
    _aten.convolution_backward.default: _convolution_backward,
}
