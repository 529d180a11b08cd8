"""A recipe: how torch's own interfaces shard a model. Needs no torch."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Iterable, Mapping, Sequence, Union

# A word ("R", "S1", "S-1"), words by the name of an argument, words of all positional arguments, a
# flag, or a number.
Option = Union[str, bool, int, "dict[str, str]", "tuple[str | None, ...]"]


@dataclass(frozen=True)
class Axis:
    """An axis of the mesh."""

    name: str
    size: int
    role: str  # "replicate" and "shard" divide the batch; "tensor" divides operators


@dataclass(frozen=True)
class Style:
    """A style of torch.distributed.tensor.parallel. Options with torch's default are left out."""

    kind: str  # the name of its class
    options: Mapping[str, Option] = field(default_factory=dict)

    def key(self) -> str:
        return json.dumps([self.kind, self.options], sort_keys=True)


@dataclass(frozen=True)
class Blocks:
    """Modules of one list, of which fully_shard wraps each."""

    path: str  # of the list, such as "model.layers"
    count: int
    checkpointed: int = 0  # the first ones are computed again in the backward
    reshard: bool = True  # weights are gathered again in the backward


@dataclass(frozen=True)
class Recipe:
    """A program for torch's DeviceMesh, parallelize_module, checkpoint_wrapper and fully_shard.

    Thread safety: immutable.
    """

    model: str  # name of the class
    axes: tuple[Axis, ...]  # outermost first
    styles: Mapping[str, Style] = field(default_factory=dict)  # by pattern of paths
    tied: Mapping[str, str] = field(default_factory=dict)  # parameters that are others, where styles touch them
    blocks: tuple[Blocks, ...] = ()
    loss_parallel: bool = False  # logits stay sharded up to the loss
    shard_dims: Mapping[str, int] = field(default_factory=dict)  # of parameters that fully_shard cuts elsewhere than in 0
    notes: tuple[str, ...] = ()  # what the reader of the program must know

    @property
    def tensor_axis(self) -> Axis | None:
        return next((axis for axis in self.axes if axis.role == "tensor"), None)

    @property
    def data_axes(self) -> tuple[Axis, ...]:
        return tuple(axis for axis in self.axes if axis.role != "tensor")

    @property
    def replicas(self) -> int:
        """How many parts the batch has."""
        count = 1
        for axis in self.data_axes:
            count *= axis.size
        return count

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": "shardwright.torch_recipe", "version": 1, "model": self.model,
            "mesh": [{"name": axis.name, "size": axis.size, "role": axis.role} for axis in self.axes],
            "tensor_parallel": [{"modules": pattern, "style": style.kind, **style.options}
                                for pattern, style in self.styles.items()],
            "tied": dict(self.tied), "loss_parallel": self.loss_parallel,
            "blocks": [{"modules": f"{each.path}.*", "count": each.count, "checkpointed": each.checkpointed,
                        "reshard_after_forward": each.reshard} for each in self.blocks],
            "shard_dims": dict(self.shard_dims), "notes": list(self.notes)}


def with_patterns(styles: Mapping[str, Style], lists: Sequence[Blocks]) -> dict[str, Style]:
    """The styles by pattern: a number in a path is `*` where all modules of the list have the style."""
    found: dict[str, Style] = {}
    by_pattern: dict[str, list[str]] = {}
    for path in styles:
        by_pattern.setdefault(pattern_of(path, lists), []).append(path)
    for pattern, paths in by_pattern.items():
        counts = [each.count for each in lists if pattern.startswith(f"{each.path}.*")]
        alike = len({styles[path].key() for path in paths}) == 1
        if counts and alike and len(paths) == counts[0]:
            found[pattern] = styles[paths[0]]
        else:
            found.update({path: styles[path] for path in paths})
    return _merged(found)


def pattern_of(path: str, lists: Iterable[Blocks]) -> str:
    """With `*` in place of a block's number."""
    for each in lists:
        if path.startswith(each.path + "."):
            rest = path[len(each.path) + 1:]
            return f"{each.path}.*" + re.sub(r"^\d+", "", rest)
    return path


def _merged(styles: Mapping[str, Style]) -> dict[str, Style]:
    """In the order of the model's modules, parents first, so that a reader finds them."""
    return dict(sorted(styles.items(), key=lambda entry: list(styles).index(entry[0])))
