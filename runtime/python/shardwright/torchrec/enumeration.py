"""Who enumerates a model: the library where it knows everything in it, else TorchRec itself."""

from __future__ import annotations

import copy
import dataclasses
import logging
import threading
from typing import Any, Callable, Sequence

import torchrec
from torch import nn
from torchrec.distributed.planner.enumerators import EmbeddingEnumerator
from torchrec.distributed.planner.types import Enumerator, ShardingOption
from torchrec.distributed.planner.utils import build_sharder_data_map, sharder_name
from torchrec.distributed.types import ModuleSharder

from ..errors import ShardwrightError
from .candidates import Candidates, EstimatedOptions, GivenOptions, by_table
from .machine import Unrecognised
from .translation import estimators_of, problem_of
from .walk import Table, walk

logger = logging.getLogger(__name__)

_RELEASES = ("1.9.2",)  # of TorchRec, as problem files name them
# Kinds of tables, and whether the library's options and costs were TorchRec's.
_checked: dict[tuple[object, ...], bool] = {}


def enumerate_candidates(enumerator: Enumerator, module: nn.Module,
                         sharders: list[ModuleSharder[nn.Module]],
                         batch_size: int = 512) -> Candidates:
    """The options of `enumerator.enumerate`, with costs that are equal to the last bit.

    The library makes them, if the release, the enumerator, its estimators and everything in the
    model are TorchRec's own. Each process first compares one table of every kind with TorchRec's
    answer. Otherwise TorchRec enumerates. Raises TypeError if `enumerator` is not an Enumerator, and
    what TorchRec raises. `batch_size` is for an enumerator that has none.
    """
    if not isinstance(enumerator, Enumerator):
        raise TypeError(f"enumerator must be TorchRec's, not {type(enumerator).__name__}")
    try:
        return estimated_options(enumerator, module, sharders)
    except Unrecognised as reason:
        logger.info("TorchRec enumerates this model itself, because of %s", reason)
    options = enumerator.enumerate(module=module, sharders=sharders)
    return GivenOptions(options, getattr(enumerator, "_batch_size", batch_size))


def estimated_options(enumerator: Enumerator, module: nn.Module,
                      sharders: list[ModuleSharder[nn.Module]]) -> EstimatedOptions:
    """The options of `enumerator.enumerate` as the library makes them. Raises Unrecognised."""
    release = torchrec.__version__
    if release not in _RELEASES:
        raise Unrecognised(f"torchrec {release}")
    if type(enumerator) is not EmbeddingEnumerator:
        raise Unrecognised(f"the enumerator {type(enumerator).__name__}")

    def translate(tables: Sequence[Table]) -> EstimatedOptions:
        return EstimatedOptions(tables, problem_of(enumerator, tables, release),
                                estimators_of(enumerator)[0]._topology)

    # Here and below, the enumerator's attributes get the values that `enumerate` leaves there, because
    # statistics, estimators and fingerprints read them.
    enumerator._sharder_map = {sharder_name(sharder.module_type): sharder for sharder in sharders}
    enumerator._sharder_data_map = build_sharder_data_map(enumerator._sharder_map)
    tables = list(walk(enumerator, module, sharders))
    found = translate(tables)
    kinds: dict[tuple[object, ...], Table] = {}
    # A narrow table has few columns to cut, so TorchRec answers sooner.
    for table in sorted(tables, key=lambda table: int(table.tensor.shape[1])):
        kinds.setdefault(_kind(enumerator, table), table)
    new = {kind: table for kind, table in kinds.items() if kind not in _checked}
    if new:
        firsts = list(new.values())
        theirs = by_table(_reference(enumerator, module, firsts))
        try:
            ours = by_table(translate(firsts).options())
        except ShardwrightError as error:  # TorchRec then raises its own error
            raise Unrecognised(f"what the library says of it: {error}") from error
        for options in theirs.values():
            _estimate_distinct(enumerator, options)
        for kind, table in new.items():
            own, their = ([*map(_described, of.get(table.fqn, []))] for of in (ours, theirs))
            _checked[kind] = bool(their) and own == their
    for kind, table in kinds.items():
        if not _checked[kind]:
            raise Unrecognised(f"options of table {table.name} that differ from TorchRec's")
    enumerator._last_stored_module, enumerator._last_stored_sharders = module, sharders
    enumerator._last_stored_search_space = OptionsOnDemand(found.options)
    return found


def forget_enumeration(enumerator: Enumerator) -> None:
    """Makes TorchRec's enumerator enumerate again, although its last model is the same."""
    if type(enumerator) is EmbeddingEnumerator:
        enumerator._last_stored_module = None


def _kind(enumerator: EmbeddingEnumerator, table: Table) -> tuple[object, ...]:
    """What TorchRec's formulas depend on, apart from numbers, which the library's tests cover."""
    constraints = (enumerator._constraints or {}).get(table.name)
    given: tuple[object, ...] = ()
    if constraints is not None:
        given = tuple(_shape_of(getattr(constraints, item.name))
                      for item in dataclasses.fields(constraints))
    perf, storage = estimators_of(enumerator)
    return (torchrec.__version__, type(perf.config), perf.is_inference, storage._pipeline_type,
            storage._is_inference, storage._run_embedding_at_peak_memory,
            perf._use_batch_inputs_for_expected_cache_fetches,
            perf._use_linear_regression_prefetch_estimate, enumerator._compute_device,
            enumerator._world_size, enumerator._local_world_size, type(table.module),
            type(table.sharder), bool(table.sharder.qcomm_codecs_registry), table.is_pooled,
            table.tensor.dtype, table.buckets is not None, table.dependency is not None,
            getattr(table.tensor, "_optimizer_classes", [None])[0], given)


def _shape_of(value: object) -> object:
    """The names in a value. Numbers and other objects count by their type only."""
    if isinstance(value, (list, tuple)):
        return tuple(map(_shape_of, value)) if value and isinstance(value[0], str) else len(value)
    if isinstance(value, (str, bool)) or value is None:
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return tuple(_shape_of(getattr(value, item.name)) for item in dataclasses.fields(value))
    return type(value)


def _reference(enumerator: EmbeddingEnumerator, module: nn.Module,
               tables: Sequence[Table]) -> list[ShardingOption]:
    """TorchRec's own options for these tables alone, without costs."""
    reference = copy.copy(enumerator)
    reference._last_stored_module = reference._last_stored_sharders = None
    reference._estimators = []
    wanted = {(id(table.module), table.name) for table in tables}
    sharders = [_only(sharder, wanted)
                for sharder in {id(table.sharder): table.sharder for table in tables}.values()]
    return list(reference.enumerate(module=module, sharders=sharders))


def _only(sharder: ModuleSharder[nn.Module],
          wanted: set[tuple[int, str]]) -> ModuleSharder[nn.Module]:
    """A copy of the sharder that has these tables only."""
    all_of = sharder.shardable_parameters
    narrow = copy.copy(sharder)
    narrow.shardable_parameters = lambda module: {
        name: tensor for name, tensor in all_of(module).items() if (id(module), name) in wanted}
    return narrow


def _estimate_distinct(enumerator: EmbeddingEnumerator, options: list[ShardingOption]) -> None:
    """Estimates one shard of every size, whose costs all shards of the size get."""
    all_shards = [option.shards for option in options]
    for option in options:
        option.shards = list({tuple(shard.size): shard for shard in option.shards}.values())
    enumerator.populate_estimates(options)
    for option, shards in zip(options, all_shards):
        costs = {tuple(shard.size): shard for shard in option.shards}
        for shard in shards:
            shard.storage, shard.perf = (costs[tuple(shard.size)].storage,
                                         costs[tuple(shard.size)].perf)
        option.shards = shards


def _described(option: ShardingOption) -> tuple[object, ...]:
    """What an option of TorchRec says about its shards and their costs."""
    return (option.sharding_type, option.compute_kernel, option.partition_by,
            bool(option.is_weighted), option.cache_load_factor,
            [(shard.size, shard.offset, shard.storage, shard.perf) for shard in option.shards])


class OptionsOnDemand(list[ShardingOption]):
    """The list that `make` returns. `make` is called at the first use of the list, because there
    are many options and few plans need them. A copy is a plain list. Thread safety: that of a list.
    """

    def __init__(self, make: Callable[[], list[ShardingOption]]) -> None:
        super().__init__()
        self._make: Callable[[], list[ShardingOption]] | None = make
        self._lock = threading.Lock()

    def _fill(self) -> None:
        with self._lock:
            if self._make is not None:
                list.extend(self, self._make())
                self._make = None

    def __reduce_ex__(self, _: object) -> Any:
        return list, (list(self),)

    def __radd__(self, before: list[ShardingOption]) -> list[ShardingOption]:
        return before + list(self)


def _filled(name: str) -> Callable[..., Any]:
    method = getattr(list, name)

    def call(self: OptionsOnDemand, *arguments: Any, **named: Any) -> Any:
        self._fill()
        return method(self, *arguments, **named)

    return call


for _name in ("__add__", "__contains__", "__delitem__", "__eq__", "__ge__", "__getitem__", "__gt__",
              "__iadd__", "__imul__", "__iter__", "__le__", "__len__", "__lt__", "__mul__",
              "__ne__", "__repr__", "__reversed__", "__rmul__", "__setitem__", "append", "clear",
              "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse", "sort"):
    setattr(OptionsOnDemand, _name, _filled(_name))
