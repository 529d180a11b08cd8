"""Random numbers that are the same on ranks that hold the same part, and differ otherwise."""

from __future__ import annotations

import hashlib
from dataclasses import replace as changed
from typing import Any, Sequence

import torch

from .layouts import Layout
from .operators import LocalCall


class RandomState:
    """Seeds for the random operators of a model. Thread safety: one call of the model at a time."""

    def __init__(self, seed: int) -> None:
        """`seed` is equal on all ranks."""
        self._seed = seed
        self._call = 0

    def next_call(self) -> None:
        """Later seeds differ from earlier ones. All ranks call it equally often."""
        self._call += 1

    def seed_of(self, name: str, part: int) -> int:
        """For one operator and one part of its output; the same on all ranks that have this part."""
        text = f"{self._seed} {self._call} {name} {part}".encode()
        return int.from_bytes(hashlib.blake2b(text, digest_size=7).digest(), "little")


def seeded(call: LocalCall, name: str, op: Any, outputs: Sequence[Layout | None],
           state: RandomState) -> LocalCall:
    """The call with a seed of its own where its operator is random."""
    if torch.Tag.nondeterministic_seeded not in op.tags:
        return call
    layout = next(layout for layout in outputs if layout is not None)
    part, device = layout.shard_index, layout.mesh.device_type

    def function(*arguments: Any, **keywords: Any) -> Any:
        generator = _generator(device)
        before = generator.get_state()
        generator.manual_seed(state.seed_of(name, part))
        try:
            return call.function(*arguments, **keywords)
        finally:
            generator.set_state(before)
    return changed(call, function=function)


def _generator(device: str) -> torch.Generator:
    """The one that random operators of the current device use."""
    if device == "cpu":
        return torch.default_generator
    module = getattr(torch, device)
    generator: torch.Generator = module.default_generators[module.current_device()]
    return generator
