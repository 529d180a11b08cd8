"""Runs an emitted program once without weights and without other devices, before it is offered."""

from __future__ import annotations

import logging
import math
import warnings
from contextlib import contextmanager
from typing import Any, Iterable, Iterator, Mapping, Sequence

import torch
import torch.distributed
import torch.utils._pytree as pytree
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import CheckpointWrapper
from torch.distributed.tensor import DTensor

from ... import errors
from ..tracing.joint import without_weights
from .held import Held
from .recipe import Recipe
from .structure import fake_arguments


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


@contextmanager
def _silent() -> Iterator[None]:
    """Without warnings, and without torch's log of what fails."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


class Saved:
    """What a forward saves for the backward, each storage once. `known` holds what is not counted."""

    def __init__(self, known: Iterable[torch.Tensor]) -> None:
        self._known = {self._key(local(tensor)) for tensor in known}
        self._kept: dict[int, torch.UntypedStorage] = {}  # kept, so that no place in memory is used again

    @staticmethod
    def _key(tensor: torch.Tensor) -> int:
        return int(tensor.untyped_storage()._cdata)

    def note(self, tensor: torch.Tensor) -> torch.Tensor:
        storage = local(tensor)
        if type(storage) is not DTensor:
            self._kept[self._key(storage)] = storage.untyped_storage()
        return tensor

    def note_inputs(self, module: torch.nn.Module, args: Any, kwargs: Any) -> None:
        """A hook for the forward of checkpointed modules, which keep their inputs."""
        for leaf in pytree.tree_leaves((args, kwargs)):
            if isinstance(leaf, torch.Tensor):
                self.note(leaf)

    @contextmanager
    def watching(self, model: torch.nn.Module) -> Iterator[None]:
        """Around a forward of the model."""
        hooks = [module.register_forward_pre_hook(self.note_inputs, with_kwargs=True)
                 for module in model.modules() if isinstance(module, CheckpointWrapper)]
        with torch.autograd.graph.saved_tensors_hooks(self.note, lambda tensor: tensor):
            yield
        for hook in hooks:
            hook.remove()

    def bytes(self, parameters: Iterable[torch.Tensor]) -> int:
        """When the forward has ended. `parameters` are the model's, which may be gathered by then; gathered
        ones that were freed have no bytes.
        """
        left_out = self._known | {self._key(local(tensor)) for tensor in parameters}
        return sum(storage.nbytes() for key, storage in self._kept.items() if key not in left_out)


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
    with _alone(devices), _silent():
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
        with saved.watching(model):
            result = model(*made_args, **made_kwargs)
        activations = saved.bytes(model.parameters())
        loss = next(leaf for leaf in pytree.tree_leaves(result)
                    if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() and leaf.requires_grad)
        local(loss).sum().backward()
    return Held(bytes_of(iter(model.parameters())), bytes_of(each.grad for each in model.parameters()), activations)
