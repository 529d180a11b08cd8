"""Plan files in a training job: from a plan file to a ShardingPlan, and back."""

from __future__ import annotations

import json
from collections import Counter
from os import PathLike
from typing import Any, Sequence

from torch import cuda, distributed, nn
from torchrec.distributed.comm import get_local_size
from torchrec.distributed.planner.enumerators import EmbeddingEnumerator, get_partition_by_type
from torchrec.distributed.planner.types import (ParameterConstraints, Shard, ShardingOption,
                                                Topology)
from torchrec.distributed.sharding_plan import get_default_sharders
from torchrec.distributed.types import ModuleSharder, ShardingPlan

from ..answer import write
from ..arguments import Document, text_of_file
from ..errors import InvalidInputError
from ..questions import diff
from .candidates import set_load_factor
from .planner import to_sharding_plan
from .walk import Table, walk

_CUT_BY_ROW = ("row_wise", "table_row_wise", "grid_shard")
_CUT_BY_COLUMN = ("column_wise", "table_column_wise")
_PLAN_AGAIN = "plan the problem that EmbeddingShardingPlanner.problem(module, sharders) returns"
_ALL_SHARDERS = "give the sharders of all tables"


def load_plan(plan: Document, module: nn.Module,
              sharders: list[ModuleSharder[nn.Module]] | None = None, *,
              topology: Topology | None = None,
              constraints: dict[str, ParameterConstraints] | None = None) -> ShardingPlan:
    """Returns the ShardingPlan that TorchRec's planner makes of the options in a plan file.

    `plan` is the answer of `shardwright plan` or `replan`: a path, dict, JSON text or PlanResult. A
    table is found by its module and name, or by its name if only one table of `module` has it.
    `sharders` are those of DistributedModelParallel, by default TorchRec's. `topology` is the
    machine of the plan, by default the machine that the plan file states. The ranks of that machine
    must be those of the default process group, if there is one. `constraints` are those of
    TorchRec's planner. A ShardingPlan takes from them what plan files lack, such as `output_dtype`.

    Raises InvalidInputError with the remedy if the file is no plan, says why there is none, or does
    not fit the module or the ranks. Raises OSError if the file cannot be read.
    """
    document = _read(plan)
    entries = document["plan"]
    topology = _machine(document, topology)
    tables = _matched(entries, _tables(module, sharders, topology, constraints))
    options = [_option(f"/plan/plan/{number}", entry, table)
               for number, (entry, table) in enumerate(zip(entries, tables))]
    return to_sharding_plan(options, topology)


def save_plan(sharding_plan: ShardingPlan, module: nn.Module,
              path: str | PathLike[str] | None = None,
              sharders: list[ModuleSharder[nn.Module]] | None = None) -> dict[str, Any]:
    """Returns a ShardingPlan as a plan file, and writes the file if there is a `path`.

    `shardwright verify`, `explain`, `replan` and `diff` read the file. It has the options and ranks
    of the tables, but no costs and no bound. `module` is the module before it is sharded, and
    `sharders` are those of `load_plan`. Raises InvalidInputError for a table that `module` lacks.
    """
    tables = {(table.path, table.name): table for table in _tables(
        module, sharders, Topology(world_size=1, compute_device="cpu", created_by_factory=True))}
    entries = []
    for place, parameters in sharding_plan.plan.items():
        for name, own in parameters.items():
            table = tables.get((place, name))
            if table is None:
                raise InvalidInputError(
                    f"the module lacks table {name} of {place or '.'}; {_ALL_SHARDERS}",
                    "sharding_plan")
            tensor, spec, cache = table.tensor, own.sharding_spec, own.cache_params
            cuts = [(tensor.shape, (0, 0))] * len(own.ranks) if spec is None else [
                (shard.shard_sizes, shard.shard_offsets) for shard in spec.shards]
            entries.append({
                "table": name, "module": place or ".", "sharding_type": own.sharding_type,
                "compute_kernel": own.compute_kernel,
                "load_factor": None if cache is None else cache.load_factor,
                "ranks": list(own.ranks), "layout": _layout(own.sharding_type, cuts),
                # Quantised tensors hold several values in an element.
                "element_bits": 8 * tensor.element_size() if tensor.is_floating_point() else None})
    document = {"plan": entries}
    if path is not None:
        write(path, json.dumps(document))
    return document


def _read(plan: Document) -> dict[str, Any]:
    """The plan file, whose members the library has checked."""
    text = text_of_file(plan, "plan")
    try:
        kind = diff(text, text).kind
    except InvalidInputError as error:
        raise InvalidInputError(error.message, error.place.replace("plan_a", "plan")) from None
    if kind != "plans":
        raise InvalidInputError("is a problem; give the file that `shardwright plan -o` writes",
                                "/plan")
    found: dict[str, Any] = json.loads(text)
    return found


def _machine(document: dict[str, Any], topology: Topology | None) -> Topology:
    """The topology of the plan. Raises InvalidInputError if the job has another number of ranks."""
    facts = document.get("machine") or {}
    planned = facts.get("ranks")
    numbers = [rank for entry in document["plan"] for rank in entry["ranks"]]
    if min(numbers, default=0) < 0:
        raise InvalidInputError(f"there is no rank {min(numbers)}", "/plan/plan")
    used = 1 + max(numbers, default=0)
    if topology is not None:
        where, ranks = "the topology", topology.world_size
        planned = document.get("sharding_group_size") or planned
    elif distributed.is_initialized():
        where, ranks = "the process group", distributed.get_world_size()
    else:
        where, ranks = "the plan", planned or used
    if planned not in (ranks, None) or used > ranks:
        raise InvalidInputError(
            f"the plan is for {planned or used} ranks, but {where} has {ranks}; start "
            f"{planned or used} processes, or plan again for {ranks} ranks", "/plan")
    return topology or Topology(
        world_size=ranks,
        compute_device=facts.get("device") or ("cuda" if cuda.is_available() else "cpu"),
        local_world_size=facts.get("ranks_per_host") or get_local_size(ranks),
        created_by_factory=True)  # TorchRec warns otherwise


def _tables(module: nn.Module, sharders: list[ModuleSharder[nn.Module]] | None, topology: Topology,
            constraints: dict[str, ParameterConstraints] | None = None) -> list[Table]:
    enumerator = EmbeddingEnumerator(topology, 1, constraints)
    return list(walk(enumerator, module, get_default_sharders() if sharders is None else sharders))


def _matched(entries: list[dict[str, Any]], tables: list[Table]) -> list[Table]:
    """The table of every entry. Raises InvalidInputError unless each table has one entry."""
    by_place = {(table.path or ".", table.name): table for table in tables}
    count = Counter(table.name for table in tables)
    by_name = {table.name: table for table in tables if count[table.name] == 1}
    matched: dict[str, Table] = {}
    unknown = []
    for entry in entries:
        module, name = entry.get("module") or "", entry["table"]
        table = by_place.get((module, name)) or by_name.get(name)
        if table is None or table.fqn in matched:
            unknown.append(f"{module}.{name}")
        else:
            matched[table.fqn] = table
    missing = [table.fqn for table in tables if table.fqn not in matched]
    if unknown or missing:
        wrong = [f"the {owner} has tables that the {other} lacks: {_listed(names)}"
                 for owner, other, names in (("plan", "module", unknown),
                                             ("module", "plan", missing)) if names]
        raise InvalidInputError(f"{'; '.join(wrong)}; {_PLAN_AGAIN}, or {_ALL_SHARDERS}", "/plan")
    return list(matched.values())


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(name.lstrip(".") for name in names[:5]) + more


def _option(where: str, entry: dict[str, Any], table: Table) -> ShardingOption:
    """The option of an entry, with ranks. Raises InvalidInputError if it does not cut the table."""
    rows, columns = map(int, table.tensor.shape)
    ranks, kind = [int(rank) for rank in entry["ranks"]], entry["sharding_type"]
    if entry.get("layout") is None:
        raise InvalidInputError(f"has no layout of table {table.name}; `shardwright replan` writes "
                                "a file that has one", where)
    layout = [[int(number) for number in run] for run in entry["layout"]]
    count = sum(run[-1] for run in layout)
    if count != len(ranks):
        raise InvalidInputError(f"table {table.name} has {len(ranks)} ranks for {count} shards",
                                where)
    left = iter(ranks)
    shards = [Shard(size=[run[0], run[1]], offset=[run[2] + k * run[4], run[3] + k * run[5]],
                    rank=next(left)) for run in layout for k in range(run[6])]
    ends = [max((shard.offset[axis] + shard.size[axis] for shard in shards), default=0)
            for axis in (0, 1)]
    copies = len(shards) if kind == "data_parallel" else 1
    if ends != [rows, columns] or copies * rows * columns != sum(
            shard.size[0] * shard.size[1] for shard in shards):
        raise InvalidInputError(
            f"the shards of table {table.name} make {ends[0]} x {ends[1]}, but the module has "
            f"{rows} x {columns}; {_PLAN_AGAIN}", where)
    option = table.sharding_option(kind, get_partition_by_type(kind), entry["compute_kernel"],
                                   shards)
    set_load_factor(option, entry.get("load_factor"))
    return option


def _layout(sharding_type: str, cuts: Sequence[tuple[Sequence[int], Sequence[int]]]
            ) -> list[list[int]]:
    """Sizes and offsets of shards in the form of plan files: equal neighbours are one run."""
    layout: list[list[int]] = []
    for (rows, columns), (row, column) in cuts:
        step = [rows if sharding_type in _CUT_BY_ROW else 0,
                columns if sharding_type in _CUT_BY_COLUMN else 0]
        last = layout[-1] if layout else None
        if last and last[:2] == [rows, columns] and [row, column] == [
                last[2] + last[6] * step[0], last[3] + last[6] * step[1]]:
            last[6] += 1
        else:
            layout.append([rows, columns, row, column, *step, 1])
    return layout
