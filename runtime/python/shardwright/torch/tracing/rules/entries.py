"""Rules: the ways to run a call on one axis of a mesh."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence

REPLICATE, PARTIAL, ABSENT = "R", "P", "-"
EXTREMES = ("Pmax", "Pmin")
PARTIALS = ("P", "Pavg", *EXTREMES)


def shard(dim: int) -> str:
    return f"S{dim}"


def dim_of(placement: str) -> int | None:
    """The dimension that a placement shards, or None."""
    return int(placement[1:]) if placement[0] == "S" else None


@dataclass(frozen=True)
class Entry:
    """Placements of all outputs and tensor inputs on one mesh axis. With `divides`, the sizes of
    all axes that use the entry must have a product that divides it. With `by_part`, every rank runs
    the operator on its part of the batch: the results are not parts of the whole result, and the
    entry is for the data axes of programs.
    """

    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    divides: int | None = None
    by_part: bool = False

    @property
    def placements(self) -> tuple[str, ...]:
        return self.outputs + self.inputs


@dataclass(frozen=True)
class Rule:
    """All entries of a call. `source`: torch, view, own, or fallback (all replicated)."""

    entries: tuple[Entry, ...]
    source: str


def replicated(num_inputs: int, outputs: Sequence[object]) -> Entry:
    """The entry in which everything is whole. Outputs that are None are absent."""
    return Entry(tuple(ABSENT if output is None else REPLICATE for output in outputs),
                 (REPLICATE,) * num_inputs)


def placeholder_rule(shape: Sequence[int]) -> Rule:
    """Replicated, or sharded on any dimension that has at least two elements."""
    words = [REPLICATE, *(shard(dim) for dim, extent in enumerate(shape) if extent > 1)]
    return Rule(tuple(Entry((word,), ()) for word in words), "own")
