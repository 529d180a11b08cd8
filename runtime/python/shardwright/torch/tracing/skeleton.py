"""A copy of a model without its weights."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from ... import errors


def fake(tensor: torch.Tensor, mode: FakeTensorMode) -> torch.Tensor:
    """A tensor of the same shape, strides and dtype that takes no memory, as if on the CPU.

    Raises UnsupportedError for a sparse tensor.
    """
    if tensor.layout is not torch.strided:
        raise errors.UnsupportedError(f"a tensor of layout {tensor.layout} cannot be sharded", "inputs")
    with mode:
        made = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="cpu")
    return made.requires_grad_(tensor.requires_grad)


def without_weights(model: torch.nn.Module, mode: FakeTensorMode) -> torch.nn.Module:
    """Copies the modules; parameters and buffers become fakes, and ties between them stay.

    Tensors that are plain attributes stay themselves on a CPU, since code may read their values,
    and become fakes elsewhere. Raises UnsupportedError if a module cannot be copied, and
    InvalidInputError for a parameter that has no shape yet.
    """
    memo: dict[int, Any] = {}
    for path, module in model.named_modules():
        if any(torch.nn.parameter.is_lazy(tensor) for tensor in
               [*module._parameters.values(), *module._buffers.values()]):
            raise errors.InvalidInputError("has parameters without shapes; call the model once before", path or "model")
        for parameter in module._parameters.values():
            if parameter is not None and id(parameter) not in memo:
                memo[id(parameter)] = torch.nn.Parameter(fake(parameter, mode),
                                                         requires_grad=parameter.requires_grad)
        for buffer in module._buffers.values():
            if buffer is not None and id(buffer) not in memo:
                memo[id(buffer)] = fake(buffer, mode)
    for module in model.modules():
        for value in vars(module).values():
            if isinstance(value, torch.Tensor) and id(value) not in memo:
                memo[id(value)] = value if value.device.type == "cpu" else fake(value, mode)
    try:
        return copy.deepcopy(model, memo)
    except Exception as error:
        raise errors.UnsupportedError(f"the model cannot be copied: {error}", "model") from error
