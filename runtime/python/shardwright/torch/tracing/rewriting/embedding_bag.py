"""Bags of embeddings as a lookup and sums, which can be sharded on rows, width and batch."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode


def _of_equal_size(rows: torch.Tensor, is_counted: torch.Tensor | None, mode: str) -> torch.Tensor:
    """Rows [bags, entries, width]; those not counted are 0."""
    if mode == "max":
        return rows.max(1).values
    total = rows.sum(1)
    if mode == "sum":
        return total
    if is_counted is None:
        return total / max(rows.shape[1], 1)
    return total / is_counted.sum(1, keepdim=True).clamp(min=1)


def _of_any_size(rows: torch.Tensor, is_counted: torch.Tensor | None, mode: str,
                 offsets: torch.Tensor, bags: int) -> torch.Tensor:
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
        input: torch.Tensor, weight: torch.Tensor, offsets: torch.Tensor | None = None,
        max_norm: float | None = None, norm_type: float = 2, scale_grad_by_freq: bool = False,
        mode: str = "mean", sparse: bool = False, per_sample_weights: torch.Tensor | None = None,
        include_last_offset: bool = False, padding_idx: int | None = None) -> torch.Tensor:
    """Torch's own function where bags have maxima over some entries, weights are normed or gradients
    are sparse, or where it is to complain.
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


class ShardableEmbeddingBag(TorchFunctionMode):  # type: ignore[misc]
    """Takes the place of torch's embedding bag, whose kernel can be sharded on the width at most."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return (_embedding_bag if func is F.embedding_bag else func)(*args, **(kwargs or {}))
