"""Trains a model by itself and in a group, and compares."""

import copy

import torch
import torch.utils._pytree as pytree
from torch.distributed.tensor import DTensor, distribute_tensor


def whole(tensor):
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def loss_of(result):
    """Depends on every number of every output, on each in another way."""
    total = 0
    for number, tensor in enumerate(pytree.tree_leaves(result)):
        if isinstance(tensor, torch.Tensor) and tensor.is_floating_point() and tensor.requires_grad:
            weights = torch.linspace(0.5, 1.5 + number, tensor.numel(), dtype=tensor.dtype)
            weights = weights.view(tensor.shape)
            if isinstance(tensor, DTensor):
                weights = distribute_tensor(weights, tensor.device_mesh, tensor.placements)
            total = total + whole((tensor * weights).sum())
    return total


def step(model, args, kwargs=None):
    """One step of training. Returns loss, outputs, gradients, buffers and weights after the step."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=0.001)
    result = model(*args, **(kwargs or {}))
    loss = loss_of(result)
    loss.backward()
    gradients = {f"gradient of {name}": whole(tensor.grad).clone()
                 for name, tensor in model.named_parameters() if tensor.grad is not None}
    optimizer.step()
    outputs = {f"output {number}": whole(tensor) for number, tensor in enumerate(pytree.tree_leaves(result))
               if isinstance(tensor, torch.Tensor)}
    state = {f"{name} after the step": whole(tensor) for name, tensor in model.state_dict().items()}
    tensors = {"loss": loss, **outputs, **gradients, **state}
    return {name: tensor.detach() for name, tensor in tensors.items()}


def differences(found, wanted, tolerance):
    """What differs, as sentences. `tolerance` is relative to the largest number of each tensor."""
    sentences = [f"{name} is missing or not wanted" for name in found.keys() ^ wanted.keys()]
    for name in found.keys() & wanted.keys():
        mine, theirs = found[name], wanted[name]
        if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
            sentences.append(f"{name} is {mine.dtype} {tuple(mine.shape)}, not {theirs.dtype} "
                             f"{tuple(theirs.shape)}")
        elif mine.numel() and not mine.isnan().equal(theirs.isnan()):
            sentences.append(f"{name} has other NaNs")
        elif mine.numel():
            far = (mine.double() - theirs.double()).nan_to_num().abs().max()
            if far > tolerance * max(1.0, float(theirs.double().nan_to_num().abs().max())):
                sentences.append(f"{name} differs by {float(far)}")
    return sentences


def alone(model, args, kwargs=None):
    """A step of a copy of the model in this process."""
    return step(copy.deepcopy(model), args, kwargs)
