"""Operators that are taken apart so that their parts can be sharded better than the whole."""

from __future__ import annotations

from functools import cache
from typing import Any, Callable

import torch

_aten = torch.ops.aten


def _scaled(tensor: torch.Tensor, factor: float) -> torch.Tensor:
    return tensor if factor == 1 else tensor * factor


def _addmm(bias: torch.Tensor, left: torch.Tensor, right: torch.Tensor, *, beta: float = 1,
           alpha: float = 1) -> torch.Tensor:
    """The product alone may be a partial sum, which is added up before the bias is."""
    return _scaled(bias, beta) + _scaled(_aten.mm(left, right), alpha)


def _baddbmm(bias: torch.Tensor, left: torch.Tensor, right: torch.Tensor, *, beta: float = 1,
             alpha: float = 1) -> torch.Tensor:
    product = _scaled(_aten.bmm(left, right), alpha)
    return product if beta == 0 else _scaled(bias, beta) + product


def _addmv(bias: torch.Tensor, matrix: torch.Tensor, vector: torch.Tensor, *, beta: float = 1,
           alpha: float = 1) -> torch.Tensor:
    return _scaled(bias, beta) + _scaled(_aten.mv(matrix, vector), alpha)


@cache
def table() -> dict[Any, Callable[..., Any]]:
    return {_aten.addmm.default: _addmm, _aten.baddbmm.default: _baddbmm,
            _aten.addmv.default: _addmv}
