"""Operators that are taken apart, because their parts can be sharded better than the whole."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any, Callable, Sequence

import torch
from torch import Tensor
from torch._decomp import get_decompositions

_aten = torch.ops.aten


def _added_to(product_of: Any) -> Callable[..., Tensor]:
    """The product alone may be a partial sum, which is added up before the bias is."""
    def function(bias: Tensor, left: Tensor, right: Tensor, *, beta: float = 1,
                 alpha: float = 1) -> Tensor:
        product = product_of(left, right)
        product = product if alpha == 1 else product * alpha
        return product if beta == 0 else (bias if beta == 1 else bias * beta) + product
    return function


def _mean_dim(tensor: Tensor, dim: Sequence[int] | None = None, keepdim: bool = False, *,
              dtype: torch.dtype | None = None) -> Tensor:
    """A sum divided by a count, because an average of averages of uneven pieces is wrong."""
    dims = list(range(tensor.dim())) if not dim else [each % tensor.dim() for each in dim]
    count = prod(tensor.shape[each] for each in dims)
    return _aten.sum.dim_IntList(tensor, dims, keepdim, dtype=dtype) / count


def _channels(vector: Tensor, rank: int) -> Tensor:
    return vector.reshape([-1, *[1] * (rank - 2)])


def _normalised(tensor: Tensor, weight: Tensor | None, bias: Tensor | None,
                mean: Tensor, rstd: Tensor) -> Tensor:
    """[batch, channels, ...] with the statistics [channels] of each channel."""
    rank = tensor.dim()
    result = (tensor - _channels(mean, rank)) * _channels(rstd, rank)
    if weight is not None:
        result = result * _channels(weight, rank)
    return result if bias is None else result + _channels(bias, rank)


def _batch_statistics(tensor: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """(mean, variance, 1 / deviation) of each channel, from sums over the whole batch, which may be
    partial. Squares of differences are summed, because the difference of squares would lose digits.
    """
    rank = tensor.dim()
    others = [dim for dim in range(rank) if dim != 1]
    mean = _mean_dim(tensor, others)
    difference = tensor - _channels(mean, rank)
    variance = _mean_dim(difference * difference, others)
    return mean, variance, torch.rsqrt(variance + eps)


def _batch_norm(tensor: Tensor, weight: Tensor | None, bias: Tensor | None,
                running_mean: Tensor | None, running_var: Tensor | None, training: bool,
                momentum: float, eps: float) -> tuple[Tensor, ...]:
    wide = tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor
    if not training:
        assert running_mean is not None and running_var is not None
        empty = tensor.new_empty((0,))
        return (_normalised(wide, weight, bias, running_mean, torch.rsqrt(running_var + eps))
                .to(tensor.dtype), empty, empty, running_mean, running_var)
    mean, variance, rstd = _batch_statistics(wide, eps)
    result = [_normalised(wide, weight, bias, mean, rstd).to(tensor.dtype), mean, rstd]
    if running_mean is not None and running_var is not None:
        count = tensor.numel() // tensor.shape[1]
        unbiased = variance * (count / max(count - 1, 1))
        result += [(running_mean * (1 - momentum) + mean * momentum).to(running_mean.dtype),
                   (running_var * (1 - momentum) + unbiased * momentum).to(running_var.dtype)]
    return tuple(result)


# Losses become elementwise operators and a sum, which may be partial. Torch has no rule for the other
# operators, or one for the batch only, but it has rules for every dimension of their parts.
_TORCHS = (
    _aten.nll_loss_forward, _aten.nll_loss_backward, _aten.nll_loss2d_forward,
    _aten.nll_loss2d_backward, _aten.mse_loss, _aten.mse_loss_backward, _aten.smooth_l1_loss,
    _aten.smooth_l1_loss_backward, _aten.huber_loss, _aten.huber_loss_backward,
    _aten.binary_cross_entropy, _aten.binary_cross_entropy_backward,
    _aten.binary_cross_entropy_with_logits, _aten.soft_margin_loss, _aten.glu, _aten.glu_backward,
    _aten.log_sigmoid_forward, _aten.log_sigmoid_backward, _aten.native_batch_norm_backward,
    _aten.native_group_norm, _aten.native_group_norm_backward, _aten.norm,
)


@cache
def decompositions() -> dict[Any, Callable[..., Any]]:
    """From operators to functions of the same arguments and results."""
    return {
        **get_decompositions(list(_TORCHS)),
        _aten.addmm.default: _added_to(_aten.mm), _aten.baddbmm.default: _added_to(_aten.bmm),
        _aten.addmv.default: _added_to(_aten.mv), _aten.mean.default: _mean_dim,
        _aten.mean.dim: _mean_dim,
        _aten._native_batch_norm_legit_functional.default: _batch_norm,
        _aten._native_batch_norm_legit.no_stats:
            lambda tensor, weight, bias, training, momentum, eps:
                _batch_norm(tensor, weight, bias, None, None, True, momentum, eps),
    }
