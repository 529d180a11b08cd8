"""Parameters and buffers as DTensors, in modules that have the names and types of the model's."""

from __future__ import annotations

import warnings
from typing import Any, Callable, Iterator, Mapping

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor, distribute_tensor

from ... import errors
from .layouts import Layout

Tensors = dict[str, "Tensor | None"]
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def copy_modules(model: torch.nn.Module) -> torch.nn.Module:
    """A module tree of the same types, attributes, hooks and tensors. Shared modules stay shared.
    Changes of parameters, buffers and hooks in one tree do not change the other tree.
    """
    copies: dict[int, torch.nn.Module] = {}
    for module in model.modules():
        copy = object.__new__(type(module))
        copy.__dict__ = {key: type(value)(value) if "_hooks" in key and isinstance(value, dict)
                         else value for key, value in module.__dict__.items()}
        for key in ("_parameters", "_buffers"):
            copy.__dict__[key] = dict(getattr(module, key))
        copy.__dict__["_non_persistent_buffers_set"] = set(module._non_persistent_buffers_set)
        copies[id(module)] = copy
    for module in model.modules():
        copies[id(module)].__dict__["_modules"] = {
            name: None if child is None else copies[id(child)]
            for name, child in module._modules.items()}
    return copies[id(model)]


def warn_of_hooks(model: torch.nn.Module) -> None:
    """Warns of hooks of parameters, which do not run. Hooks of modules are traced."""
    for name, tensor in model.named_parameters():
        if any(getattr(tensor, kind, None) for kind in ("_backward_hooks", "_post_accumulate_grad_hooks")):
            warnings.warn(f"{name}: its hooks do not run, since the parallel model has a parameter of its own for "
                          "it; register them there", stacklevel=3)


def hooks_by_module(model: torch.nn.Module) -> dict[str, int]:
    """The number of hooks of each module inside the model that has any, by path."""
    found = {path: sum(len(getattr(module, kind)) for kind in _HOOKS)
             for path, module in model.named_modules() if path}
    return {path: count for path, count in found.items() if count}


def tensor_places(model: torch.nn.Module) -> Iterator[tuple[str, Tensors, str]]:
    """(name, dict that holds the tensor, key in the dict) of every parameter and buffer. Shared
    modules count once; tied tensors have several places.
    """
    for path, module in model.named_modules():
        for tensors in (module._parameters, module._buffers):
            for key, tensor in tensors.items():
                if tensor is not None:
                    yield f"{path}.{key}" if path else key, tensors, key


def distribute(model: torch.nn.Module, layouts: Mapping[str, Layout]) -> None:
    """Replaces each parameter and buffer by a DTensor of its layout; tied ones stay tied.

    The first rank's values count. Tensors on meta stay there. Tensors that the graph does not use
    have no layout and are replicated.
    """
    made: dict[int, Tensor] = {}
    mesh = next(iter(layouts.values())).mesh if layouts else None
    for name, tensors, key in list(tensor_places(model)):
        tensor = tensors[key]
        assert tensor is not None
        if isinstance(tensor, DTensor):
            raise errors.InvalidInputError("is a DTensor already", name)
        if id(tensor) not in made and mesh is not None:
            layout = layouts.get(name)
            if layout is None:
                layout = Layout(mesh, ("R",) * mesh.ndim, tuple(tensor.shape), tensor.stride(),
                                tensor.dtype)
            made[id(tensor)] = _as_parameter(_placed(tensor.detach(), layout), tensor)
        tensors[key] = made.get(id(tensor), tensor)


def _as_parameter(placed: DTensor, like: Tensor) -> Tensor:
    if isinstance(like, torch.nn.Parameter):
        return torch.nn.Parameter(placed, requires_grad=like.requires_grad)
    return placed


def _placed(tensor: Tensor, layout: Layout) -> DTensor:
    if tensor.is_meta:
        return layout.wrap(torch.empty(layout.local_shape, dtype=tensor.dtype, device="meta"))
    placed = distribute_tensor(tensor.to(layout.mesh.device_type), layout.mesh, layout.placements)
    local = placed.to_local()
    is_shared = local.untyped_storage()._cdata == tensor.untyped_storage()._cdata
    return layout.wrap(local.clone()) if is_shared else placed


def placed_like(given: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """The tensors of a state dict. A whole tensor is cut if `own` has a DTensor of its name and
    shape.
    """
    return {name: distribute_tensor(tensor.detach().to(like.device_mesh.device_type), like.device_mesh,
                                    like.placements, src_data_rank=None)
            if (isinstance(like := own.get(name), DTensor) and isinstance(tensor, Tensor)
                and not isinstance(tensor, DTensor) and tensor.shape == like.shape) else tensor
            for name, tensor in given.items()}


def materialize(model: torch.nn.Module, init: Callable[[torch.nn.Module], Any] | None) -> None:
    """Gives parameters and buffers on meta uninitialised memory on the mesh's device, then calls
    `init` with the model, without gradients. Tied tensors stay tied.
    """
    made: dict[int, Tensor] = {}
    for _, tensors, key in tensor_places(model):
        tensor = tensors[key]
        if not isinstance(tensor, DTensor) or not tensor.to_local().is_meta:
            continue
        if id(tensor) not in made:
            local = torch.empty_like(tensor.to_local(), device=tensor.device_mesh.device_type)
            placed = DTensor.from_local(local, tensor.device_mesh, tensor.placements,
                                        run_check=False, shape=tensor.shape, stride=tensor.stride())
            made[id(tensor)] = _as_parameter(placed, tensor)
        tensors[key] = made[id(tensor)]
    if init is not None:
        with torch.no_grad():
            init(model)
