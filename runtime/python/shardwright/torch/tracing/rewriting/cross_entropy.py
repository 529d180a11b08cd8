"""Cross entropy as maxima, sums and elementwise operators, all of which can be sharded over the classes."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

_REDUCTIONS = ("none", "sum", "mean")


class _NegativeLogLikelihood(torch.autograd.Function):  # type: ignore[misc]
    """Of classes [batch, 1, ...], given logits [batch, classes, ...].

    It reads and writes as many numbers as torch's log_softmax, nll_loss and their gradients, and
    keeps as many for the backward. The maximum and the sums over the classes may be partial.
    """

    @staticmethod
    def forward(ctx: Any, logits: torch.Tensor, classes: torch.Tensor, dim: int) -> torch.Tensor:
        shifted = logits - logits.amax(dim, keepdim=True)
        chosen = shifted.gather(dim, classes)
        exponentials = shifted.exp()
        total = exponentials.sum(dim, keepdim=True)
        ctx.save_for_backward(exponentials, total, classes)
        ctx.dim = dim
        return total.log() - chosen

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        exponentials, total, classes = ctx.saved_tensors
        return (exponentials * (gradient / total)).scatter_add(ctx.dim, classes, -gradient), None, None


def _cross_entropy(logits: torch.Tensor, target: torch.Tensor, ignored: int, reduction: str
                   ) -> torch.Tensor:
    dim = min(1, logits.dim() - 1)
    wide = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    is_ignored = (target == ignored).unsqueeze(dim)
    classes = target.long().unsqueeze(dim).masked_fill(is_ignored, 0)
    losses = _NegativeLogLikelihood.apply(wide, classes, dim).masked_fill(is_ignored, 0)
    if reduction == "none":
        loss = losses.squeeze(dim)
    else:
        loss = losses.sum()
        if reduction == "mean":
            loss = loss / (~is_ignored).sum().to(loss.dtype)
    # Autocast computes this loss in 32 bits.
    return loss if torch.is_autocast_enabled(logits.device.type) else loss.to(logits.dtype)


def _with_torchs_arguments(
        input: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None = None,
        size_average: bool | None = None, ignore_index: int = -100, reduce: bool | None = None,
        reduction: str = "mean", label_smoothing: float = 0.0) -> torch.Tensor:
    """Torch's own function where classes have weights or probabilities, or where it is to complain."""
    is_plain = (weight is None and size_average is None and reduce is None and label_smoothing == 0
                and reduction in _REDUCTIONS)
    if is_plain and input.is_floating_point() and not target.is_floating_point() and (
            input.dim() > 0 and target.shape == (*input.shape[:1], *input.shape[2:])[:input.dim() - 1]):
        return _cross_entropy(input, target, ignore_index, reduction)
    return F.cross_entropy(input, target, weight, size_average, ignore_index, reduce, reduction,
                           label_smoothing)


class ShardableCrossEntropy(TorchFunctionMode):  # type: ignore[misc]
    """Takes the place of torch's cross entropy. A softmax or its logarithm by itself stays as it is."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return (_with_torchs_arguments if func is F.cross_entropy else func)(*args, **(kwargs or {}))
