"""Names of what goes into a model and what comes out of it: pytrees, dataclasses, opaque objects."""

from __future__ import annotations

import dataclasses
import inspect
import logging
from typing import Any, Callable, Mapping, Sequence

import torch
import torch.utils._pytree as pytree
from torch import Tensor

_LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class _Record:
    """A dataclass that torch's pytrees do not know, with the places of its fields' values."""

    kind: type
    fields: dict[str, "OutputLayout"]


@dataclasses.dataclass(frozen=True)
class OutputLayout:
    """How a model's result is made of tensors. Rebuilds the result from other tensors.

    `leaves` has, for each leaf of `spec`: the index of a tensor, a _Record, or ("constant", value).
    """

    spec: pytree.TreeSpec
    leaves: tuple[Any, ...]

    def rebuild(self, tensors: Sequence[Any]) -> Any:
        """Returns the result with the given tensors, in the order of the graph's outputs."""
        def made(leaf: Any) -> Any:
            if isinstance(leaf, int):
                return tensors[leaf]
            if not isinstance(leaf, _Record):
                return leaf[1]
            record: Any = object.__new__(leaf.kind)
            for name, layout in leaf.fields.items():
                object.__setattr__(record, name, layout.rebuild(tensors))
            return record

        return pytree.tree_unflatten(list(map(made, self.leaves)), self.spec)


def _word(key: Any) -> str:
    for attribute in ("key", "idx", "name"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key)


def flatten_output(value: Any) -> tuple[list[Tensor], list[str], OutputLayout]:
    """Returns the tensors of a model's result, their names ("logits", "hidden_states.3") and the layout.

    A result that is one tensor has the name "0". Numbers, text and None are kept. Another object,
    such as a cache of keys and values, becomes None, with a warning.
    """
    tensors: list[Tensor] = []
    names: list[str] = []

    def layout_of(part: Any, prefix: str) -> OutputLayout:
        pairs, spec = pytree.tree_flatten_with_path(part)
        leaves: list[Any] = []
        for path, leaf in pairs:
            name = ".".join([*([prefix] if prefix else []), *map(_word, path)])
            if isinstance(leaf, Tensor):
                leaves.append(len(tensors))
                tensors.append(leaf)
                names.append(name or "0")
            elif dataclasses.is_dataclass(leaf) and not isinstance(leaf, type):
                leaves.append(_Record(type(leaf), {
                    field.name: layout_of(getattr(leaf, field.name), f"{name}.{field.name}".lstrip("."))
                    for field in dataclasses.fields(leaf)}))
            else:
                leaves.append(("constant", _constant(leaf, name)))
        return OutputLayout(spec, tuple(leaves))

    layout = layout_of(value, "")
    return tensors, names, layout


def _constant(leaf: Any, name: str) -> Any:
    if leaf is None or isinstance(leaf, (bool, int, float, complex, str, bytes, torch.dtype)):
        return leaf
    _LOG.warning("output %s is a %s, which is no tensor and no pytree: it is left out",
                 name or "0", type(leaf).__name__)
    return None


@dataclasses.dataclass(frozen=True)
class InputLayout:
    """How a call's arguments are made of tensors and of constants."""

    spec: pytree.TreeSpec  # of (args, kwargs)
    leaves: tuple[Any, ...]  # index of a tensor, or ("constant", value)
    names: tuple[str, ...]  # of the tensors: "input_ids", "batch.image"

    def rebuild(self, tensors: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Returns (args, kwargs) with the given tensors."""
        leaves = [tensors[leaf] if isinstance(leaf, int) else leaf[1] for leaf in self.leaves]
        args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        return tuple(args), kwargs

    def tensors_of(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Tensor]:
        """Returns the tensors of another call. Raises ValueError if its structure differs."""
        leaves, spec = pytree.tree_flatten((tuple(args), dict(kwargs)))
        if spec != self.spec:
            raise ValueError(f"the call has the arguments {spec}, the traced one {self.spec}")
        return [leaf for leaf, known in zip(leaves, self.leaves) if isinstance(known, int)]


def flatten_input(forward: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any],
                  taken: frozenset[str]) -> tuple[list[Tensor], InputLayout]:
    """Returns the tensors of a call of `forward`, and the layout. No name is one of `taken`."""
    try:
        parameters = list(inspect.signature(forward).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    positional = [parameter.name for parameter in parameters
                  if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)]

    def name_of(path: Sequence[Any]) -> str:
        words = [_word(key) for key in path[1:]]
        if path[0].idx == 0 and int(words[0]) < len(positional):
            words[0] = positional[int(words[0])]
        name = ".".join(words)
        while name in taken:
            name += "_input"
        return name

    pairs, spec = pytree.tree_flatten_with_path((tuple(args), dict(kwargs)))
    tensors: list[Tensor] = []
    names: list[str] = []
    leaves: list[Any] = []
    for path, leaf in pairs:
        if isinstance(leaf, Tensor):
            leaves.append(len(tensors))
            tensors.append(leaf)
            names.append(name_of(path))
        else:
            leaves.append(("constant", leaf))
    return tensors, InputLayout(spec, tuple(leaves), tuple(names))
