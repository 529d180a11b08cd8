"""Dimensions of convolutions that can be cut between windows, without the neighbours' pixels."""

from __future__ import annotations

from typing import Any

from ..calls import Call, Meta


def apart(call: Call, tensor: Meta, weight: Meta) -> list[tuple[int, int, int]]:
    """(dimension, number of windows, stride) where windows have no element in common and leave none at the end.
    Cut between windows, each rank has all that its own ones read. With stride 1 windows are single elements.
    """
    found = []
    for position, (extent, kernel) in enumerate(zip(tensor.shape[2:], weight.shape[2:])):
        stride, padding, dilation = (_at(call.argument(name), position)
                                     for name in ("stride", "padding", "dilation"))
        if padding == 0 and dilation * (kernel - 1) < stride and extent % stride == 0:
            found.append((position + 2, extent // stride, stride))
    return found


def _at(numbers: Any, position: int) -> int:
    """Of one number for each dimension, or one for all."""
    return int(numbers[position if len(numbers) > 1 else 0])
