"""A product of experts whose columns are split, as a product for each part of the columns.

Gate and up projections are often one matrix. Where its columns were sharded, the halves of the result
would not be sharded alike. A plan can shard the columns of each of two products.
"""

from __future__ import annotations

from typing import Any, Callable

import torch
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakIdKeyDictionary

from ..grouped import ALIGNMENT

_SPLITS = (torch.chunk, torch.Tensor.chunk, torch.split, torch.Tensor.split)
_PRODUCTS = ("_grouped_mm", "grouped_mm_fallback")  # of torch, and of the package transformers
_Product = Callable[[torch.Tensor], torch.Tensor]


class SplitExperts(TorchFunctionMode):  # type: ignore[misc]
    """While the model runs. The whole product is not used then, and vanishes from the graph."""

    def __init__(self) -> None:
        super().__init__()
        self._products = WeakIdKeyDictionary()  # from results to their matrices and products

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if getattr(func, "__name__", "") in _PRODUCTS and len(args) >= 2 and result.dim() == 2:
            def product(matrices: torch.Tensor) -> torch.Tensor:
                return func(args[0], matrices, *args[2:], **kwargs)
            self._products[result] = args[1], product
        elif func in _SPLITS and args and args[0] in self._products:
            return _split(result, *self._products[args[0]])
        return result


def _split(parts: tuple[torch.Tensor, ...], matrices: torch.Tensor, product: _Product
           ) -> tuple[torch.Tensor, ...]:
    """The parts as products of their own, if they are parts of the columns that the kernels take."""
    columns = [part.shape[1] for part in parts]
    is_aligned = all(width * matrices.itemsize % ALIGNMENT == 0 for width in columns)
    if sum(columns) != matrices.shape[-1] or not is_aligned:
        return parts
    return tuple(product(own) for own in matrices.split(columns, -1))
