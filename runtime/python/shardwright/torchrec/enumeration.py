"""TorchRec's enumeration without an object per shard: costs are estimated once per distinct shard.

If the enumerator, an estimator or the hardware configuration is not TorchRec's own, TorchRec
enumerates itself.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
from typing import Any, Iterator, Sequence

import torchrec
from torch import nn
from torchrec.distributed.planner import enumerators, shard_estimators
from torchrec.distributed.planner.enumerators import EmbeddingEnumerator
from torchrec.distributed.planner.estimator import config as estimator_config
from torchrec.distributed.planner.estimator import estimator as perf_estimators
from torchrec.distributed.planner.types import Enumerator, Perf, Shard, ShardingOption, Storage
from torchrec.distributed.planner.utils import build_sharder_data_map, sharder_name
from torchrec.distributed.sharding_plan import calculate_shard_sizes_and_offsets
from torchrec.distributed.types import ModuleSharder, ShardingType
from torchrec.modules.embedding_tower import EmbeddingTower, EmbeddingTowerCollection

from .caches import CACHED, load_factors, resize
from .candidates import Candidates, Choice, Table, choice_of, runs_of
from .search import Unsupported

_Size = tuple[int, int]
_Layout = tuple[list[list[int]], list[list[int]]]
_partition_by = functools.cache(enumerators.get_partition_by_type)
# Fingerprints of known releases: torchrec 1.9.2. Other releases enumerate themselves, which is
# slower and gives the same result.
_KNOWN_WALKS = frozenset({"508e91268ced4144eaf965ddfc47d8beae0d9f1c"})
# Types of estimators whose costs were found to depend only on the size of a shard.
_checked: dict[tuple[object, ...], bool] = {}


def enumerate_candidates(enumerator: Enumerator, module: nn.Module,
                         sharders: list[ModuleSharder[nn.Module]],
                         scale_caches: bool = False) -> Candidates:
    """The options of `enumerator.enumerate`, with costs that are equal to the last bit.

    With `scale_caches`, also options with larger caches where TorchRec would scale them up; raises
    Unsupported if the release, enumerator or estimators are not known here. Raises TypeError if
    `enumerator` is not an Enumerator.
    """
    if not isinstance(enumerator, Enumerator):
        raise TypeError(f"enumerator must be TorchRec's, not {type(enumerator).__name__}")
    if is_known(enumerator):
        fast = _Enumeration(enumerator, module, sharders)
        key = (torchrec.__version__, *map(type, enumerator._estimators))
        if key not in _checked:
            _checked[key] = fast.agrees_on_first_table()
        if _checked[key]:
            return Candidates(fast.tables(scale_caches))
    if scale_caches:
        raise Unsupported("caches to scale, whose costs are not known to be TorchRec's own")
    return Candidates.of_options(enumerator.enumerate(module=module, sharders=sharders))


def is_known(enumerator: Enumerator) -> bool:
    """True if enumerator and estimators are TorchRec's own, of a release that is known here."""
    if type(enumerator) is not EmbeddingEnumerator or len(enumerator._estimators) != 2:
        return False
    if _walk_fingerprint() not in _KNOWN_WALKS:
        return False
    perf, storage = enumerator._estimators
    if type(storage) is not shard_estimators.EmbeddingStorageEstimator:
        return False
    if type(perf) is shard_estimators.EmbeddingPerfEstimator:
        perf = perf._estimator
    if type(perf) is not perf_estimators.EmbeddingPerfEstimator:
        return False
    return type(perf.config) is estimator_config.EmbeddingPerfEstimatorConfig


@functools.cache
def _walk_fingerprint() -> str:
    """SHA-1 of the source of the installed release's functions that are reimplemented here."""
    source = "".join(map(inspect.getsource, (
        EmbeddingEnumerator.enumerate, enumerators._extract_constraints_for_param)))
    return hashlib.sha1(source.encode()).hexdigest()


def _perf_ignores_rows(enumerator: EmbeddingEnumerator) -> bool:
    """True if the time of a shard depends only on its columns, except for data parallel."""
    perf: Any = enumerator._estimators[0]
    perf = getattr(perf, "_estimator", perf)
    if perf._use_linear_regression_prefetch_estimate:
        return False
    coefficients = perf.config.coefficients
    named = [getattr(coefficients, item.name) for item in dataclasses.fields(coefficients)]
    used = [item for item in [*named, *coefficients.by_kernel.values()]
            if hasattr(item, "fwd")]
    return all(part is None or part.hash_size_multiplier == 0
               for item in used for part in (item.fwd, item.bwd))


def _frozen(value: object) -> object:
    """A hashable key. The estimators do not distinguish values with equal keys."""
    if isinstance(value, (list, tuple)):
        return tuple(map(_frozen, value))
    if value is None or isinstance(value, (bool, int, float, str)):
        return (type(value), value)
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value if type(value).__hash__ is object.__hash__ else (type(value), id(value))


class _Estimates:
    """Costs of shards. Collects requests first and then estimates them together."""

    def __init__(self, enumerator: EmbeddingEnumerator) -> None:
        self._enumerator = enumerator
        self._ignores_rows = _perf_ignores_rows(enumerator)
        self._storage: dict[object, ShardingOption] = {}
        self._perf: dict[object, ShardingOption] = {}

    def ask(self, key: object, key_without_rows: object, option: ShardingOption,
            sizes: Sequence[_Size]) -> tuple[object, object]:
        """Requests costs of shards of these sizes. Returns the keys of their storage and times."""
        option.shards = [Shard(size=list(size), offset=[0, 0]) for size in sizes]
        self._storage[key] = option
        by_rows = not self._ignores_rows or option.sharding_type == ShardingType.DATA_PARALLEL.value
        if by_rows:
            self._perf[key] = option
            return key, key
        narrow = (key_without_rows, tuple(sorted({columns for _, columns in sizes})))
        if narrow not in self._perf:
            self._perf[narrow] = option
        return key, narrow

    def estimate(self) -> None:
        perf, storage = self._enumerator._estimators
        data = self._enumerator._sharder_data_map
        perf.estimate(list(self._perf.values()), sharder_data_map=data)
        storage.estimate(list(self._storage.values()), sharder_data_map=data)

    def costs(self, storage_key: object, perf_key: object) -> tuple[
            dict[_Size, tuple[Storage, Perf]], bool | None]:
        """Costs by size of shard, and True if the table is weighted."""
        perf_option = self._perf[perf_key]
        option = self._storage[storage_key]
        if storage_key == perf_key:
            perf = {_size_of(shard): shard.perf for shard in perf_option.shards}
            found = {size: perf[size] for size in perf}
        else:
            by_columns = {shard.size[1]: shard.perf for shard in perf_option.shards}
            found = {_size_of(shard): by_columns[shard.size[1]] for shard in option.shards}
        return ({_size_of(shard): (shard.storage, found[_size_of(shard)])
                 for shard in option.shards}, perf_option.is_weighted)


def _size_of(shard: Shard) -> _Size:
    return (shard.size[0], shard.size[1])


@dataclasses.dataclass(slots=True)
class _Pending:
    """An option whose costs were requested and are not yet known."""

    sharding_type: str
    compute_kernel: str
    layout: _Layout
    storage_key: object
    perf_key: object
    load_factor: float | None
    resized: float | None = None  # the load factor that was asked for; 1 = plain HBM


@dataclasses.dataclass(slots=True)
class _Found:
    """A table of the walk. Tables with equal `key` have equal options and costs. Tables with equal
    `rowless` have equal times if times do not depend on the number of rows."""

    table: Table
    key: object
    rowless: object
    buckets: int | None


class _Enumeration:
    """One walk over a module. Source: EmbeddingEnumerator.enumerate of the installed release."""

    def __init__(self, enumerator: EmbeddingEnumerator, module: nn.Module,
                 sharders: list[ModuleSharder[nn.Module]]) -> None:
        self._enumerator = enumerator
        self._module = module
        enumerator._sharder_map = {sharder_name(s.module_type): s for s in sharders}
        enumerator._sharder_data_map = build_sharder_data_map(enumerator._sharder_map)
        self._layouts: dict[object, _Layout] = {}
        self._kernels: dict[object, tuple[tuple[str, list[str]], ...]] = {}

    def tables(self, scale_caches: bool = False) -> list[Table]:
        estimates = _Estimates(self._enumerator)
        pending: dict[object, list[_Pending]] = {}
        found = list(self._walk())
        for item in found:
            if item.key not in pending:
                pending[item.key] = self._ask(item, estimates)
                if scale_caches:
                    pending[item.key] += self._ask_resized(item, pending[item.key], estimates)
        estimates.estimate()
        choices = {key: [_choice(option, estimates) for option in options]
                   for key, options in pending.items()}
        for item in found:
            item.table.choices = choices[item.key]
        return [item.table for item in found]

    def agrees_on_first_table(self) -> bool:
        """True if the first table's costs equal those of full lists of shards."""
        first = next(self._walk(), None)
        if first is None:
            return True
        estimates = _Estimates(self._enumerator)
        pending = self._ask(first, estimates)
        full = []
        for item in pending:
            option = _bare_option(first.table, item.sharding_type, item.compute_kernel)
            option.shards = [Shard(size=list(size), offset=list(offset))
                             for size, offset in zip(*item.layout)]
            full.append(option)
        estimates.estimate()
        self._enumerator.populate_estimates(full)
        return [_choice(item, estimates) for item in pending] == [choice_of(o) for o in full]

    def _walk(self) -> Iterator[_Found]:
        """Tables in the release's order."""
        enumerator = self._enumerator
        queue: list[tuple[str, nn.Module]] = [("", self._module)]
        while queue:
            path, module = queue.pop(0 if enumerator._use_exact_enumerate_order else -1)
            sharder_key = sharder_name(type(module))
            sharder = enumerator._sharder_map.get(sharder_key)
            if sharder is None:
                queue += [(f"{path}.{name}" if path else name, child)
                          for name, child in module.named_children()]
                continue
            is_pooled = ShardingOption.module_pooled(module, path)
            for name, tensor in sharder.shardable_parameters(module).items():
                table = self._table(path, module, name, tensor, is_pooled)
                if table is not None:
                    buckets = enumerator._get_num_buckets(name, module)
                    yield _Found(table, *self._keys(table, sharder_key, buckets), buckets)

    def _table(self, path: str, module: nn.Module, name: str, tensor: Any,
               is_pooled: bool) -> Table | None:
        enumerator = self._enumerator
        (input_lengths, column_dim, cache_params, enforce_hbm, stochastic_rounding,
         bounds_check_mode, feature_names, output_dtype, device_group,
         key_value_params) = enumerators._extract_constraints_for_param(
             enumerator._constraints, name)
        if device_group and device_group != enumerator._compute_device:
            return None
        dependency = None
        if isinstance(module, EmbeddingTower):
            dependency = path
        elif isinstance(module, EmbeddingTowerCollection):
            dependency = f"{path}.tower_{enumerators._get_tower_index(name, module)}"
        return Table(name, path, module, tensor, is_pooled, dependency, [], attributes={
            "input_lengths": input_lengths,
            "batch_size": enumerator._batch_size,
            "cache_params": cache_params,
            "enforce_hbm": enforce_hbm,
            "stochastic_rounding": stochastic_rounding,
            "bounds_check_mode": bounds_check_mode,
            "feature_names": feature_names,
            "output_dtype": output_dtype,
            "key_value_params": key_value_params,
            "stash_weights": enumerator._get_stash_weights(name, module),
        })

    def _keys(self, table: Table, sharder_key: str,
              buckets: int | None) -> tuple[object, object]:
        constraints = (self._enumerator._constraints or {}).get(table.name)
        is_weighted = getattr(table.module, "is_weighted", None)
        rowless = (
            sharder_key,
            table.name if hasattr(table.module, "_feature_processor") else None,
            is_weighted() if callable(is_weighted) else None,
            table.is_pooled, int(table.tensor.shape[1]), table.tensor.dtype,
            table.attributes["stash_weights"],
            None if constraints is None else tuple(
                _frozen(getattr(constraints, item.name))
                for item in dataclasses.fields(constraints)))
        optimizer = getattr(table.tensor, "_optimizer_classes", [None])[0]
        return (rowless, int(table.tensor.shape[0]), optimizer, buckets), rowless

    def _ask(self, found: _Found, estimates: _Estimates) -> list[_Pending]:
        """All options of a table; their costs are requested."""
        table = found.table
        cache = table.attributes["cache_params"]
        pending = []
        for sharding_type, kernels in self._types_and_kernels(table):
            layout = self._layout(found, sharding_type)
            sizes = list(dict.fromkeys((size[0], size[1]) for size in layout[0]))
            for kernel in kernels:
                storage_key, perf_key = estimates.ask(
                    (found.key, sharding_type, kernel), (found.rowless, sharding_type, kernel),
                    _bare_option(table, sharding_type, kernel), sizes)
                pending.append(_Pending(sharding_type, kernel, layout, storage_key, perf_key,
                                        cache.load_factor if cache else None))
        if not pending:
            raise RuntimeError(
                f"No available sharding type and compute kernel combination for {table.name} of "
                f"module {table.path or type(table.module).__name__} with its constraints")
        return pending

    def _ask_resized(self, found: _Found, declared: list[_Pending],
                     estimates: _Estimates) -> list[_Pending]:
        """The cached ones of `declared` with larger caches; their costs are requested."""
        resized = []
        for item in declared:
            if item.compute_kernel != CACHED:
                continue
            sizes = list(dict.fromkeys((size[0], size[1]) for size in item.layout[0]))
            for step in load_factors(found.table.attributes["cache_params"]):
                option = resize(_bare_option(found.table, item.sharding_type, CACHED), step)
                kernel, cache = option.compute_kernel, option.cache_params
                storage_key, perf_key = estimates.ask(
                    (found.key, item.sharding_type, CACHED, step),
                    (found.rowless, item.sharding_type, CACHED, step), option, sizes)
                resized.append(_Pending(item.sharding_type, kernel, item.layout, storage_key,
                                        perf_key, cache.load_factor, step))
        return resized

    def _types_and_kernels(self, table: Table) -> tuple[tuple[str, list[str]], ...]:
        enumerator = self._enumerator
        constrained = bool(enumerator._constraints and enumerator._constraints.get(table.name))
        sharder_key = sharder_name(type(table.module))
        key = (sharder_key, table.name if constrained else None)
        if key not in self._kernels:
            sharder = enumerator._sharder_map[sharder_key]
            device = enumerator._compute_device
            types = enumerator._filter_sharding_types(
                table.name, sharder.sharding_types(device), sharder_key)
            self._kernels[key] = tuple(
                (sharding_type, enumerator._filter_compute_kernels(
                    table.name, sharder.compute_kernels(sharding_type, device), sharding_type))
                for sharding_type in types)
        return self._kernels[key]

    def _layout(self, found: _Found, sharding_type: str) -> _Layout:
        enumerator, tensor = self._enumerator, found.table.tensor
        constraints = (enumerator._constraints or {}).get(found.table.name)
        column_dim = constraints.min_partition if constraints else None
        key = (tuple(tensor.shape), sharding_type, column_dim, found.buckets)
        if key not in self._layouts:
            self._layouts[key] = calculate_shard_sizes_and_offsets(
                tensor=tensor, world_size=enumerator._world_size,
                local_world_size=enumerator._local_world_size, sharding_type=sharding_type,
                col_wise_shard_dim=column_dim,
                device_memory_sizes=enumerator._device_memory_sizes, num_buckets=found.buckets)
        return self._layouts[key]


def _bare_option(table: Table, sharding_type: str, kernel: str) -> ShardingOption:
    """An option of the release, without shards."""
    partition_by = _partition_by(sharding_type)
    return table.sharding_option(Choice(sharding_type, kernel, partition_by, [], None), [])


def _choice(item: _Pending, estimates: _Estimates) -> Choice:
    costs, is_weighted = estimates.costs(item.storage_key, item.perf_key)
    sizes, offsets = item.layout
    runs = runs_of(sizes, offsets, [costs[(size[0], size[1])] for size in sizes])
    return Choice(item.sharding_type, item.compute_kernel, _partition_by(item.sharding_type), runs,
                  item.load_factor, is_weighted, item.resized)
