"""What a recipe must know of a model: its modules, and which tensors they are called with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterator, Mapping, Sequence

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_map

from ..tracing.joint import tracing_modes, without_weights
from ..tracing.rewriting.recompute import repeated_blocks
from .recipe import Blocks


@dataclass(frozen=True)
class Call:
    """The first call of a module."""

    arguments: Mapping[int | str, int]  # the identity of each tensor argument
    positional: int  # how many positional arguments there are


@dataclass(frozen=True)
class Structure:
    """A model's modules, lists of blocks, and calls. Thread safety: it is not changed."""

    model: torch.nn.Module
    calls: Mapping[str, Call]  # by path; modules that are never called are left out
    lists: tuple[Blocks, ...]

    def kind(self, path: str) -> str:
        """The style's kind of module: "linear", "embedding", or "" for all others."""
        module = self.model.get_submodule(path)
        if path not in self.calls:
            return ""
        return ("linear" if isinstance(module, torch.nn.Linear)
                else "embedding" if isinstance(module, torch.nn.Embedding) else "")

    def slot_of(self, path: str, tensor: int) -> int | str | None:
        """Which argument of the module a tensor is."""
        call = self.calls.get(path)
        return None if call is None else next(
            (slot for slot, identity in call.arguments.items() if identity == tensor), None)

    def whole_parameters(self) -> list[str]:
        """Parameters of modules that torch's tensor parallelism cannot divide."""
        return [f"{path}.{name}" if path else name for path, module in self.model.named_modules()
                for name, _ in module.named_parameters(recurse=False) if not self.kind(path)]


def structure_of(model: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Structure:
    """Calls a copy of the model without weights once, forward only."""
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    copied = without_weights(model, mode)
    calls: dict[str, Call] = {}
    kept: list[Any] = []  # so that identities stay unique

    def note(path: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        given: list[tuple[int | str, Any]] = [*enumerate(args)]
        given += [*kwargs.items()]
        tensors = {slot: value for slot, value in given if isinstance(value, torch.Tensor)}
        kept.extend(tensors.values())
        calls.setdefault(path, Call({slot: id(tensor) for slot, tensor in tensors.items()}, len(args)))

    for path, module in copied.named_modules():
        module.register_forward_pre_hook(
            lambda _, args, kwargs, path=path: note(path, args, kwargs), with_kwargs=True)
    with tracing_modes(), mode, torch.no_grad():
        made = fake_arguments((tuple(args), dict(kwargs)))
        copied(*made[0], **made[1])
    return Structure(model, calls, tuple(lists_of(model)))


def fake_arguments(values: Any, parts: int = 1) -> Any:
    """Zeros on the CPU in place of tensors, with one of `parts` of the batch, which is dimension 0 of
    the first tensor. To be called under a fake mode.
    """
    batch: list[int] = []

    def made(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        shape = list(leaf.shape)
        if shape:
            batch.append(shape[0])
            if shape[0] == batch[0]:
                shape[0] = -(-shape[0] // parts)
        return torch.zeros(shape, dtype=leaf.dtype)

    return tree_map(made, values)


def lists_of(model: torch.nn.Module) -> Iterator[Blocks]:
    """The model's lists of blocks."""
    counts: dict[str, int] = {}
    for path in repeated_blocks(model):
        parent = path.rpartition(".")[0]
        counts[parent] = counts.get(parent, 0) + 1
    for path, count in counts.items():
        if any(parameter is not None for parameter in model.get_submodule(path).parameters()):
            yield Blocks(path, count)
