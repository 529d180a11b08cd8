"""A part of the graph as steps that this rank runs on its local tensors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Callable, Iterator, Mapping, Sequence

from torch import Tensor

from ... import errors
from ..tracing.calls import HOLE
from .layouts import Move

# A value of the graph: name of its node, and which output of it.
Value = tuple[str, int]


@dataclass(frozen=True)
class Read:
    """A tensor argument. `move` brings it to the placement that the plan names."""

    value: Value
    move: Move | None
    is_last: bool = False  # no later step needs the value

    def take(self, values: dict[Value, Tensor]) -> Tensor:
        tensor = values.pop(self.value) if self.is_last else values[self.value]
        return tensor if self.move is None else self.move(tensor)


@dataclass(frozen=True)
class Write:
    """An output. `value` is None if nothing needs it."""

    value: Value | None
    local_shape: tuple[int, ...]


@dataclass(frozen=True)
class Step:
    """One operator on local tensors. `arguments` have a HOLE for each of `reads`, in order."""

    name: str  # of the node
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]
    reads: tuple[Read, ...]
    writes: tuple[Write | None, ...]  # None: no tensor
    returns_several: bool

    def run(self, values: dict[Value, Tensor]) -> None:
        """Reads from `values`, removes what is read for the last time, and adds the outputs. Raises
        InternalError if an output is not of the shape that the plan's placement gives.
        """
        tensors = iter([read.take(values) for read in self.reads])
        arguments = [_filled(argument, tensors) for argument in self.arguments]
        keywords = {key: _filled(argument, tensors) for key, argument in self.keywords.items()}
        del tensors
        result = self.function(*arguments, **keywords)
        outputs = result if self.returns_several else (result,)
        for write, output in zip(self.writes, outputs):
            if write is None or write.value is None:
                continue
            if tuple(output.shape) != write.local_shape:
                raise errors.InternalError(
                    f"shape {tuple(output.shape)} instead of {write.local_shape}", self.name)
            values[write.value] = output


def _filled(argument: Any, tensors: Iterator[Tensor]) -> Any:
    if argument is HOLE:
        return next(tensors)
    if type(argument) in (list, tuple):
        return type(argument)(_filled(entry, tensors) for entry in argument)
    return argument


@dataclass(frozen=True)
class Program:
    """Steps in their order. A value that no later step reads and that is not kept is freed.

    Thread safety: any, with `values` of their own.
    """

    steps: tuple[Step, ...]

    def run(self, values: dict[Value, Tensor]) -> None:
        """`values` has the local tensors that go in, and afterwards those that are kept."""
        for step in self.steps:
            step.run(values)


def with_last_reads(steps: Sequence[Step], keeps: frozenset[Value]) -> list[Step]:
    """The steps, with the last read of each value marked that is not kept."""
    seen = set(keeps)
    marked = []
    for step in reversed(steps):
        reads = []
        for read in reversed(step.reads):
            reads.append(replace(read, is_last=read.value not in seen))
            seen.add(read.value)
        marked.append(replace(step, reads=tuple(reads[::-1])))
    return marked[::-1]
