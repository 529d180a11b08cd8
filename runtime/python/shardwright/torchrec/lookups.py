"""Calls of FBGEMM's table-batched embeddings, made as TorchRec makes them, on random indices, and their times."""

from __future__ import annotations

import logging
import math
import time
from dataclasses import dataclass
from typing import Any, Iterator, Sequence

import torch
from fbgemm_gpu.split_embedding_configs import EmbOptimType, SparseType
from fbgemm_gpu.split_table_batched_embeddings_ops_common import EmbeddingLocation, PoolingMode
from fbgemm_gpu.split_table_batched_embeddings_ops_inference import IntNBitTableBatchedEmbeddingBagsCodegen
from fbgemm_gpu.split_table_batched_embeddings_ops_training import (
    ComputeDevice, DenseTableBatchedEmbeddingBagsCodegen, SplitTableBatchedEmbeddingBagsCodegen)

from ..torch.timing import Flush, Timed, once_us, timed

ROW_WISE_ADAGRAD = EmbOptimType.EXACT_ROWWISE_ADAGRAD.value
_OPTIMIZERS_ON_CPU = (ROW_WISE_ADAGRAD, EmbOptimType.EXACT_ADAGRAD.value, EmbOptimType.EXACT_SGD.value)
_LOCATIONS = {"fused": EmbeddingLocation.DEVICE, "fused_uvm": EmbeddingLocation.MANAGED,
              "fused_uvm_caching": EmbeddingLocation.MANAGED_CACHING}
_HASH = 2654435761  # spreads popular rows over a table
_BATCHES = 3  # of different indices, in turn
_LEAST_RUNS = 3


@dataclass(frozen=True)
class Kind:
    """What decides which kernel runs."""

    kernel: str = "fused"
    data_type: str = "FP32"
    weighted: bool = False
    pooled: bool = True
    optimizer: str = ROW_WISE_ADAGRAD  # empty if the kernel has none
    load_factor: float | None = None  # of fused_uvm_caching

    def runs_on(self, device: torch.device) -> bool:
        """FBGEMM has no cache on a CPU, trains no INT8 there, and has fewer optimizers."""
        if self.kernel == "quant" or device.type == "cuda":
            return True
        return (self.kernel in ("fused", "dense") and self.data_type in ("FP32", "FP16")
                and self.optimizer in ("", *_OPTIMIZERS_ON_CPU))


@dataclass(frozen=True)
class Lookup:
    """What one call reads from one table. `lookups` are those of all features; popularity falls with rank^-zipf."""

    rows: int
    dim: int
    lookups: int
    zipf: float = 0.0
    features: int = 1

    def of_features(self) -> list[int]:
        """The lookups of every feature."""
        share, rest = divmod(self.lookups, self.features)
        return [share + (number < rest) for number in range(self.features)]


def zipf_rows(rows: int, count: int, exponent: float, generator: torch.Generator) -> torch.Tensor:
    """Row numbers whose popularity of rank k falls with k^-exponent. Ranks are spread over the rows."""
    drawn = torch.rand(count, dtype=torch.float64, generator=generator)
    if exponent == 0:
        ranks = drawn * rows
    elif abs(exponent - 1) < 1e-9:
        ranks = torch.exp(drawn * math.log1p(rows)) - 1
    else:
        rest = 1 - exponent
        ranks = (1 + drawn * ((1 + rows) ** rest - 1)) ** (1 / rest) - 1
    factor = _HASH
    while math.gcd(factor, rows) != 1:
        factor += 2
    return ranks.to(torch.int64).clamp_(0, rows - 1).mul_(factor).remainder_(rows)


@dataclass(frozen=True)
class CallTimes:
    forward: Timed
    backward: Timed | None  # with the optimizer's update; None for kernels that do not train
    hit_rate: float | None  # of rows in the cache of fused_uvm_caching


class Call:
    """One call for several tables, which FBGEMM fuses. Every feature has `bags` bags."""

    def __init__(self, kind: Kind, tables: Sequence[Lookup], bags: int, device: torch.device, seed: int = 0) -> None:
        self._kind, self._device = kind, device
        logging.getLogger().setLevel(logging.ERROR)  # FBGEMM logs every module at INFO
        if device.index is not None and device.type == "cuda":
            torch.cuda.set_device(device)  # FBGEMM's dense module takes the current one
        self._module = _module(kind, tables, device)
        generator = torch.Generator().manual_seed(seed)
        batches = _BATCHES if sum(table.lookups for table in tables) < 1 << 21 else 1
        self._batches = [self._batch(tables, bags, generator) for _ in range(batches)]

    def _batch(self, tables: Sequence[Lookup], bags: int, generator: torch.Generator) -> list[torch.Tensor]:
        lengths = []
        for lookups in (own for table in tables for own in table.of_features()):
            lengths.append(torch.full((bags,), lookups // bags, dtype=torch.int64))
            lengths[-1][torch.randperm(bags, generator=generator)[:lookups % bags]] += 1
        ends = torch.cat(lengths).cumsum(0)
        made = [torch.cat([zipf_rows(table.rows, table.lookups, table.zipf, generator) for table in tables]),
                torch.cat([ends.new_zeros(1), ends])]
        if self._kind.kernel == "quant":
            made = [tensor.to(torch.int32) for tensor in made]
        if self._kind.weighted:
            made.append(torch.rand(len(made[0]), generator=generator))
        return [tensor.to(self._device) for tensor in made]

    def measure(self, flush: Flush, *, warmup: int = 1, runs: int = 5, seconds: float = 4.0) -> CallTimes:
        """Medians over `runs`, or fewer once `seconds` have passed. Caches are emptied before every pass."""
        forward, backward, begin = [], [], time.monotonic()
        for number, batch in enumerate(self._in_turn(warmup + runs)):
            if number >= warmup + _LEAST_RUNS and time.monotonic() - begin > seconds:
                break
            times = self._once(batch, flush)
            if number >= warmup:
                forward.append(times[0])
                backward += times[1:]
        return CallTimes(timed(forward), timed(backward) if backward else None, self._hit_rate())

    def _in_turn(self, count: int) -> Iterator[list[torch.Tensor]]:
        return (self._batches[number % len(self._batches)] for number in range(count))

    def _once(self, batch: list[torch.Tensor], flush: Flush) -> list[float]:
        one_thread = torch.get_num_threads() == 1
        results: list[torch.Tensor] = []
        flush()
        times = [once_us(lambda: results.append(self._module(*batch)), self._device, processor=one_thread)]
        if self._kind.kernel != "quant":
            gradient = torch.full_like(results[0], 1e-3)
            flush()
            times.append(once_us(lambda: results[0].backward(gradient), self._device, processor=one_thread))
            self._module.zero_grad(set_to_none=True)
        return times

    def _hit_rate(self) -> float | None:
        if self._kind.kernel != "fused_uvm_caching":
            return None
        _, _, unique, missed = self._module.get_uvm_cache_stats().tolist()[:4]
        return 1 - missed / unique if unique else None


def _module(kind: Kind, tables: Sequence[Lookup], device: torch.device) -> Any:
    """As batched_embedding_kernel.py of TorchRec makes it."""
    pooling = PoolingMode.SUM if kind.pooled else PoolingMode.NONE
    precision, on_cpu = SparseType[kind.data_type], device.type == "cpu"
    features = [number for number, table in enumerate(tables) for _ in range(table.features)]
    if kind.kernel == "quant":
        place = EmbeddingLocation.HOST if on_cpu else EmbeddingLocation.DEVICE
        made: Any = IntNBitTableBatchedEmbeddingBagsCodegen(
            [("", table.rows, table.dim, precision, place) for table in tables],
            feature_table_map=features, pooling_mode=pooling, device=device)
        made.fill_random_weights()
        return made
    if kind.kernel == "dense":
        made = DenseTableBatchedEmbeddingBagsCodegen(
            [(table.rows, table.dim) for table in tables], feature_table_map=features, pooling_mode=pooling,
            use_cpu=on_cpu, weights_precision=precision)
        made.weights.data.fill_(0.01)
        return made
    place = EmbeddingLocation.HOST if on_cpu else _LOCATIONS[kind.kernel]
    computes = ComputeDevice.CPU if on_cpu else ComputeDevice.CUDA
    options: dict[str, Any] = {} if kind.kernel != "fused_uvm_caching" else {
        "cache_load_factor": kind.load_factor or 0.2, "gather_uvm_cache_stats": True}
    made = SplitTableBatchedEmbeddingBagsCodegen(
        [(table.rows, table.dim, place, computes) for table in tables], feature_table_map=features,
        pooling_mode=pooling, weights_precision=precision, device=device, optimizer=EmbOptimType(kind.optimizer),
        learning_rate=0.01, **options)
    for weights in made.split_embedding_weights():
        weights.fill_(0.01)
    return made
