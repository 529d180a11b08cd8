"""Runs an emitted program once without weights and without other devices, before it is offered."""

from __future__ import annotations

import math
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Iterable, Iterator, Mapping, Sequence

import torch
import torch.distributed
import torch.utils._pytree as pytree
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.tensor import DTensor

from ... import errors
from ..tracing.joint import without_weights
from .recipe import Recipe
from .structure import fake_arguments


@dataclass(frozen=True)
class Held:
    """Bytes that the first rank holds under a program."""

    parameters: int
    gradients: int
    saved: int  # for the backward, when the forward ends; parameters and inputs are not counted


def local(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def bytes_of(tensors: Iterator[torch.Tensor | None]) -> int:
    return sum(local(tensor).numel() * tensor.element_size() for tensor in tensors if tensor is not None)


@contextmanager
def _alone(devices: int) -> Iterator[None]:
    """A group of processes of which only this one exists, and whose collectives do nothing."""
    from torch.testing._internal.distributed.fake_pg import FakeStore
    if torch.distributed.is_initialized():
        raise errors.UnsupportedError("this process is in a group already; try programs in another", "process group")
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=devices)
    try:
        yield
    finally:
        torch.distributed.destroy_process_group()


class Saved:
    """Counts what a forward saves for the backward, each storage once."""

    def __init__(self, known: Iterable[torch.Tensor]) -> None:
        self.bytes = 0
        self._seen = {self._key(local(tensor)) for tensor in known}
        self._kept: list[Any] = []  # so that no storage is freed, and its place used again

    @staticmethod
    def _key(tensor: torch.Tensor) -> int:
        return int(tensor.untyped_storage()._cdata)

    def count(self, tensor: torch.Tensor) -> torch.Tensor:
        storage = local(tensor)
        if type(storage) is not DTensor and self._key(storage) not in self._seen:
            self._seen.add(self._key(storage))
            self._kept.append(storage.untyped_storage())
            self.bytes += storage.untyped_storage().nbytes()
        return tensor


def try_program(text: str, recipe: Recipe, model: torch.nn.Module, args: Sequence[Any],
                kwargs: Mapping[str, Any]) -> Held:
    """Runs forward and backward of `model` on the part of the batch that a rank has.

    Raises UnsupportedError with what went wrong. The loss of divided logits is left out, since its
    gradient needs values.
    """
    devices = math.prod(axis.size for axis in recipe.axes)
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    copied = without_weights(model, mode)
    program: dict[str, Any] = {}
    exec(compile(text, "program", "exec"), program)  # noqa: S102 - the text that this package wrote
    with _alone(devices), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            copied = program["parallelize"](copied, program["make_mesh"]("cpu"))
            return _held(copied, mode, recipe, args, kwargs)
        except Exception as error:
            raise errors.UnsupportedError(f"the program does not run: {type(error).__name__}: "
                                          f"{str(error).splitlines()[0] if str(error) else ''}", "program") from error


def _held(model: torch.nn.Module, mode: FakeTensorMode, recipe: Recipe, args: Sequence[Any],
          kwargs: Mapping[str, Any]) -> Held:
    with mode:
        made_args, made_kwargs = fake_arguments((tuple(args), dict(kwargs)), recipe.replicas)
        if recipe.loss_parallel:
            made_kwargs.pop("labels", None)
        saved = Saved([*model.parameters(), *model.buffers(), *pytree.tree_leaves((made_args, made_kwargs))])
        with torch.autograd.graph.saved_tensors_hooks(saved.count, lambda tensor: tensor):
            result = model(*made_args, **made_kwargs)
        loss = next(leaf for leaf in pytree.tree_leaves(result)
                    if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() and leaf.requires_grad)
        local(loss).sum().backward()
    return Held(bytes_of(iter(model.parameters())), bytes_of(each.grad for each in model.parameters()), saved.bytes)
