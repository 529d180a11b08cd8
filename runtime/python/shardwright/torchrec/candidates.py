"""Sharding options in compact form: equal shards are one run, and equal tables share options."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Sequence

from torch import nn
from torchrec.distributed.planner.types import Perf, Shard, ShardingOption, Storage

from .._native import COMPUTE_KERNELS, SHARDING_TYPES
from .caches import resize

# Stands for kernels that the library does not know. The kernel does not matter if costs are given.
_ANY_KERNEL = "customized_kernel"


@dataclass(slots=True)
class Run:
    """`count` adjacent shards of equal size and cost. Pairs are (rows, columns)."""

    count: int
    size: tuple[int, int]
    offset: tuple[int, int]
    step: tuple[int, int]
    storage: Storage
    perf: Perf


@dataclass(slots=True)
class Choice:
    """One way to shard a table. Equal tables share it."""

    sharding_type: str
    compute_kernel: str
    partition_by: str
    runs: list[Run]
    load_factor: float | None
    is_weighted: bool | None = None
    resized: float | None = None  # the load factor that best mode chose among; 1 = plain HBM
    _text: str = field(default="", compare=False, repr=False)

    @property
    def num_shards(self) -> int:
        return sum(run.count for run in self.runs)

    def takes_ssd(self) -> bool:
        """Returns true if a shard takes SSD."""
        return any(_ssd(run.storage) for run in self.runs)

    def spreads_columns(self) -> bool:
        """Returns true if TorchRec puts the shards on distinct ranks, which the library cannot ask."""
        return (self.compute_kernel == "key_value" and self.sharding_type == "column_wise"
                and self.num_shards > 1 and self.takes_ssd())

    def json_text(self) -> str:
        """The members of the option after its table, as JSON text for the library."""
        if not self._text:
            kernel = self.compute_kernel if self.compute_kernel in COMPUTE_KERNELS else _ANY_KERNEL
            load = "" if self.load_factor is None else f'"load_factor":{self.load_factor!r},'
            self._text = (f'"sharding_type":"{self.sharding_type}","compute_kernel":"{kernel}",'
                          f'{load}"shards":[{",".join(map(_run_text, self.runs))}]}}')
        return self._text

    def shards(self, ranks: Sequence[int]) -> list[Shard]:
        """TorchRec's shards with ranks and costs. `ranks` has one rank per shard."""
        shards: list[Shard] = []
        for run in self.runs:
            (row, column), (row_step, column_step) = run.offset, run.step
            perf = run.perf
            for i in range(run.count):
                shards.append(Shard(
                    size=list(run.size), offset=[row + i * row_step, column + i * column_step],
                    storage=_copy_of(run.storage), perf=perf, rank=ranks[len(shards)]))
        return shards


def _ssd(storage: Storage) -> int:
    return getattr(storage, "ssd", 0)  # TorchRec has it since 1.9


def _copy_of(storage: Storage) -> Storage:
    ssd = {"ssd": storage.ssd} if _ssd(storage) else {}
    return Storage(hbm=storage.hbm, ddr=storage.ddr, **ssd)


def _run_text(run: Run) -> str:
    perf, storage = run.perf, run.storage
    many = ""
    ssd = f'"ssd":{storage.ssd},' if _ssd(storage) else ""
    if run.count > 1:
        many = f',"count":{run.count},"step":[{run.step[0]},{run.step[1]}]'
    return (f'{{"size":[{run.size[0]},{run.size[1]}],"offset":[{run.offset[0]},{run.offset[1]}],'
            f'"hbm":{storage.hbm},"ddr":{storage.ddr},{ssd}"perf":[{float(perf.fwd_compute)!r},'
            f'{float(perf.fwd_comms)!r},{float(perf.bwd_compute)!r},{float(perf.bwd_comms)!r},'
            f'{float(perf.prefetch_compute)!r}]{many}}}')


def runs_of(sizes: Sequence[Sequence[int]], offsets: Sequence[Sequence[int]],
            costs: Sequence[tuple[Storage, Perf]]) -> list[Run]:
    """Merges adjacent shards of equal size, cost and step. The lists have one entry per shard."""
    runs: list[Run] = []
    last: tuple[int, int] = (0, 0)
    for size, offset, (storage, perf) in zip(sizes, offsets, costs):
        at = (offset[0], offset[1])
        if runs:
            run = runs[-1]
            step = (at[0] - last[0], at[1] - last[1])
            if (run.size == (size[0], size[1]) and (run.count == 1 or run.step == step)
                    and (run.perf is perf or run.perf == perf)
                    and (run.storage is storage or run.storage == storage)):
                run.count += 1
                run.step = step
                last = at
                continue
        runs.append(Run(1, (size[0], size[1]), at, (0, 0), storage, perf))
        last = at
    return runs


@dataclass(slots=True)
class Table:
    """A table of a module with its options, in the order of the enumerator."""

    name: str
    path: str
    module: nn.Module
    tensor: Any
    is_pooled: bool
    dependency: str | None
    choices: list[Choice]
    first_option: int = 0
    # Arguments of ShardingOption other than costs, from the table's constraints.
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def fqn(self) -> str:
        return self.path + "." + self.name

    def sharding_option(self, choice: Choice, ranks: Sequence[int]) -> ShardingOption:
        option = ShardingOption(
            name=self.name, tensor=self.tensor, module=(self.path, self.module),
            sharding_type=choice.sharding_type, partition_by=choice.partition_by,
            compute_kernel=choice.compute_kernel, shards=choice.shards(ranks),
            dependency=self.dependency, is_pooled=self.is_pooled, **self.attributes)
        if choice.is_weighted is not None:
            option.is_weighted = choice.is_weighted
        return option if choice.resized is None else resize(option, choice.resized)


def check_options(options: object, what: str) -> None:
    if not isinstance(options, (list, tuple)):
        raise TypeError(f"{what} must be a list of ShardingOptions, not {type(options).__name__}")
    for option in options:
        if not isinstance(option, ShardingOption):
            raise TypeError(f"{what} must hold ShardingOptions, not {type(option).__name__}")


class Candidates:
    """The search space of a planner: tables with their options, numbered in enumeration order."""

    def __init__(self, tables: list[Table]) -> None:
        self.tables = tables
        first = 0
        for table in tables:
            table.first_option = first
            first += len(table.choices)
        self.num_options = first

    @classmethod
    def of_options(cls, options: Sequence[ShardingOption]) -> Candidates:
        """Makes candidates from TorchRec's options. Raises ValueError if a shard has no costs."""
        check_options(options, "options")
        tables: dict[str, Table] = {}
        for option in options:
            table = tables.get(option.fqn)
            if table is None:
                table = tables[option.fqn] = Table(
                    option.name, option.path, option.module[1], option.tensor, option.is_pooled,
                    option.dependency, [])
            table.choices.append(choice_of(option))
        return cls(list(tables.values()))

    def tables_json(self) -> list[dict[str, Any]]:
        return [{
            "name": table.name,
            "module": table.path or ".",
            "num_embeddings": int(table.tensor.shape[0]),
            "embedding_dim": int(table.tensor.shape[1]),
            "kind": "pooled" if table.is_pooled else "sequence",
            **({"dependency": table.dependency} if table.dependency else {}),
        } for table in self.tables]

    def json_text(self) -> str:
        """The search space as JSON text for the library, with options in order of number."""
        parts: list[str] = []
        for table in self.tables:
            head = f'{{"table":{json.dumps(table.name)},"module":{json.dumps(table.path or ".")},'
            parts += [head + choice.json_text() for choice in table.choices]
        return '{"search_space":[' + ",".join(parts) + "]}"

    def unsupported(self) -> str:
        """Returns why the library cannot search the options, or "" if it can."""
        for table in self.tables:
            for choice in table.choices:
                if choice.sharding_type not in SHARDING_TYPES:
                    return f"table {table.name} has the sharding type {choice.sharding_type}"
                if choice.spreads_columns():
                    return f"columns of table {table.name} on SSD lie on distinct ranks"
        return ""

    def take_ssd(self) -> bool:
        """Returns true if some option takes SSD."""
        return any(choice.takes_ssd() for table in self.tables for choice in table.choices)


def choice_of(option: ShardingOption) -> Choice:
    """Makes a choice from TorchRec's option. Raises ValueError if a shard has no costs."""
    for number, shard in enumerate(option.shards):
        if shard.storage is None or shard.perf is None:
            raise ValueError(f"shard {number} of table {option.name} has no costs; "
                             "call the enumerator's populate_estimates first")
    runs = runs_of([shard.size for shard in option.shards],
                   [shard.offset for shard in option.shards],
                   [(shard.storage, shard.perf) for shard in option.shards])
    return Choice(option.sharding_type, option.compute_kernel, option.partition_by, runs,
                  option.cache_load_factor, option.is_weighted)
