"""Functions of torch that are replaced while a model is traced (../README.md, Rewriting)."""

from __future__ import annotations

from typing import Any, Callable

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakIdKeyDictionary

from ..grouped import ALIGNMENT

_REDUCTIONS = ("none", "sum", "mean")


class _NegativeLogLikelihood(torch.autograd.Function):  # type: ignore[misc]
    """Losses of classes [batch, 1, ...], given logits [batch, classes, ...].

    Reads, writes and keeps as many numbers as torch's log_softmax, nll_loss and their gradients.
    The maximum and the sums over the classes may be partial.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, classes: Tensor, dim: int) -> Tensor:
        shifted = logits - logits.amax(dim, keepdim=True)
        chosen = shifted.gather(dim, classes)
        exponentials = shifted.exp()
        total = exponentials.sum(dim, keepdim=True)
        ctx.save_for_backward(exponentials, total, classes)
        ctx.dim = dim
        return total.log() - chosen

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        exponentials, total, classes = ctx.saved_tensors
        return (exponentials * (gradient / total)).scatter_add(ctx.dim, classes, -gradient), None, None


def _cross_entropy(logits: Tensor, target: Tensor, ignored: int, reduction: str) -> Tensor:
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


def _cross_entropy_like_torchs(
        input: Tensor, target: Tensor, weight: Tensor | None = None,
        size_average: bool | None = None, ignore_index: int = -100, reduce: bool | None = None,
        reduction: str = "mean", label_smoothing: float = 0.0) -> Tensor:
    """Calls torch's own function if classes have weights or probabilities, or for wrong arguments.
    """
    is_plain = (weight is None and size_average is None and reduce is None and label_smoothing == 0
                and reduction in _REDUCTIONS)
    if is_plain and input.is_floating_point() and not target.is_floating_point() and (
            input.dim() > 0 and target.shape == (*input.shape[:1], *input.shape[2:])[:input.dim() - 1]):
        return _cross_entropy(input, target, ignore_index, reduction)
    return F.cross_entropy(input, target, weight, size_average, ignore_index, reduce, reduction,
                           label_smoothing)


def _of_equal_size(rows: Tensor, is_counted: Tensor | None, mode: str) -> Tensor:
    """Rows [bags, entries, width]; those not counted are 0."""
    if mode == "max":
        return rows.max(1).values
    total = rows.sum(1)
    if mode == "sum":
        return total
    if is_counted is None:
        return total / max(rows.shape[1], 1)
    return total / is_counted.sum(1, keepdim=True).clamp(min=1)


def _of_any_size(rows: Tensor, is_counted: Tensor | None, mode: str,
                 offsets: Tensor, bags: int) -> Tensor:
    """Rows [entries, width]; bag i begins at entry offsets[i]."""
    entries = torch.arange(rows.shape[0], dtype=offsets.dtype, device=rows.device)
    bag = torch.searchsorted(offsets[:bags].contiguous(), entries, right=True) - 1
    total = rows.new_zeros(bags, rows.shape[1]).index_add(0, bag, rows)
    if mode == "sum":
        return total
    ones = rows.new_ones(rows.shape[0]) if is_counted is None else is_counted.to(rows.dtype)
    counts = rows.new_zeros(bags).index_add(0, bag, ones)
    return total / counts.clamp(min=1).unsqueeze(1)


def _embedding_bag(
        input: Tensor, weight: Tensor, offsets: Tensor | None = None,
        max_norm: float | None = None, norm_type: float = 2, scale_grad_by_freq: bool = False,
        mode: str = "mean", sparse: bool = False, per_sample_weights: Tensor | None = None,
        include_last_offset: bool = False, padding_idx: int | None = None) -> Tensor:
    """Calls torch's own function if bags have maxima over some entries, weights are normed or
    gradients are sparse, or for wrong arguments.
    """
    is_matrix = input.dim() == 2 and offsets is None
    is_list = input.dim() == 1 and offsets is not None and offsets.dim() == 1
    is_plain = (max_norm is None and not sparse and weight.dim() == 2
                and mode in (("sum", "mean", "max") if is_matrix and padding_idx is None
                             else ("sum", "mean"))
                and (per_sample_weights is None or (
                    mode == "sum" and per_sample_weights.shape == input.shape)))
    if not is_plain or not (is_matrix or is_list) or input.numel() == 0:
        return F.embedding_bag(input, weight, offsets, max_norm, norm_type, scale_grad_by_freq, mode,
                               sparse, per_sample_weights, include_last_offset, padding_idx)
    rows = F.embedding(input, weight, padding_idx, scale_grad_by_freq=scale_grad_by_freq)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    is_counted = None
    if padding_idx is not None:
        is_counted = input != padding_idx % weight.shape[0]
        rows = rows.masked_fill(~is_counted.unsqueeze(-1), 0)
    if offsets is None:
        return _of_equal_size(rows, is_counted, mode)
    return _of_any_size(rows, is_counted, mode, offsets,
                        offsets.shape[0] - 1 if include_last_offset else offsets.shape[0])


def _dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """The tensor itself where nothing is dropped, as when a program runs. Tracing would copy it."""
    return F.dropout(input, p, training, inplace) if training and p != 0 else input


_SHARDABLE = {F.cross_entropy: _cross_entropy_like_torchs, F.embedding_bag: _embedding_bag, F.dropout: _dropout}


class ShardableFunctions(TorchFunctionMode):  # type: ignore[misc]
    """Replaces torch's cross entropy and embedding bag, and dropout that drops nothing. Softmax and its
    logarithm stay.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _SHARDABLE.get(func, func)(*args, **(kwargs or {}))


_SPLITS = (torch.chunk, Tensor.chunk, torch.split, Tensor.split)
_PRODUCTS = ("_grouped_mm", "grouped_mm_fallback")  # of torch, and of the package transformers
_Product = Callable[[Tensor], Tensor]


class SplitExperts(TorchFunctionMode):  # type: ignore[misc]
    """While the model runs. The whole product is not used then, and vanishes from the graph."""

    def __init__(self) -> None:
        super().__init__()
        self._products = WeakIdKeyDictionary()  # from results to their matrices and products

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if getattr(func, "__name__", "") in _PRODUCTS and len(args) >= 2 and result.dim() == 2:
            def product(matrices: Tensor) -> Tensor:
                return func(args[0], matrices, *args[2:], **kwargs)
            self._products[result] = args[1], product
        elif func in _SPLITS and args and args[0] in self._products:
            return _split(result, *self._products[args[0]])
        return result


def _split(parts: tuple[Tensor, ...], matrices: Tensor, product: _Product) -> tuple[Tensor, ...]:
    """A product for each part, if the kernels take matrices of so many columns."""
    columns = [part.shape[1] for part in parts]
    is_aligned = all(width * matrices.itemsize % ALIGNMENT == 0 for width in columns)
    if sum(columns) != matrices.shape[-1] or not is_aligned:
        return parts
    return tuple(product(own) for own in matrices.split(columns, -1))
