"""Which blocks are computed again in the backward, so that a step fits in memory and takes least time."""

from __future__ import annotations

import math
from typing import Callable, Sequence

import torch

from ... import errors
from ..model_plan import ModelPlan
from ..tracing.document import TracedModel
from ..tracing.rewriting.recompute import repeated_blocks


def blocks_to_recompute(model: torch.nn.Module, recompute: bool | str | Sequence[str]) -> tuple[str, ...]:
    """Paths of modules: those given, or the modules of the model's lists for True and "auto", among
    which the latter chooses. Raises InvalidInputError for a path that the model does not have.
    """
    if isinstance(recompute, bool) or recompute == "auto":
        return repeated_blocks(model) if recompute else ()
    if isinstance(recompute, str):
        raise errors.InvalidInputError(f"must be True, 'auto' or a list of paths, not {recompute!r}",
                                       "recompute")
    known = {path for path, _ in model.named_modules()}
    for path in recompute:
        if path not in known:
            raise errors.InvalidInputError(f"the model has no module {path!r}", "recompute")
    return tuple(recompute)


def fastest_recomputation(traced: TracedModel, blocks: Sequence[str],
                          plan_of: Callable[[TracedModel], ModelPlan],
                          unlimited_us: Callable[[], float]) -> tuple[tuple[str, ...], ModelPlan]:
    """The first blocks of the list whose recomputation gives the fastest plan, and that plan.

    The first ones, because the last block's values are needed as soon as the backward begins.
    `plan_of` plans within the memory limit, and `unlimited_us` is a step's time without one: nothing
    is computed again where that is reached. Otherwise the search assumes that the time falls with
    the number of blocks as memory becomes free, and then rises with the work; it plans about
    2 log2(blocks) times. Raises InfeasibleError if no number of blocks makes the step fit.
    """
    plans: dict[int, ModelPlan] = {}
    refused: dict[int, errors.InfeasibleError] = {}

    def microseconds(count: int) -> float:
        if count not in plans and count not in refused:
            try:
                plans[count] = plan_of(traced.recomputed(blocks[:count]))
            except errors.InfeasibleError as error:
                refused[count] = error
        return plans[count].objective_us if count in plans else math.inf

    low, high = 0, len(blocks)
    if microseconds(0) <= unlimited_us():
        high = 0
    while low < high:
        middle = (low + high) // 2
        if microseconds(middle) <= microseconds(middle + 1) < math.inf:
            high = middle
        else:
            low = middle + 1
    if not plans:
        raise refused[max(refused)]  # its message says how much memory would be enough
    best = min(plans, key=lambda count: (plans[count].objective_us, count))
    return tuple(blocks[:best]), plans[best]
