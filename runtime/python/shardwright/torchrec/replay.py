"""Runs the lookups of a plan rank by rank, and compares with what was predicted: python -m shardwright.torchrec.replay.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import sys
import warnings
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Callable, Iterable, Mapping, Sequence

import torch

from .. import errors
from ..answer import ask
from ..torch.timing import Flush, default_device, keep_memory, machine_facts, memory_bytes
from .lookups import ROW_WISE_ADAGRAD, Call, CallTimes, Kind, Lookup
from .replay_page import page

_EPILOG = """\
  python -m shardwright.torchrec.replay my_tables.json plan.json --machine machine.json --html replay.html

One device is enough: ranks are replayed one after the other. Communication is not replayed, and not in the figures.
"""
# Names of optimizers in problems, and FBGEMM's. A table that names none is taken to have row-wise Adagrad.
_OPTIMIZERS = {"SGD": "exact_sgd", "Adam": "adam", "Adagrad": "exact_adagrad", "RowWiseAdagrad": ROW_WISE_ADAGRAD}
_DATA_BITS = {"FP32": 32, "FP16": 16, "BF16": 16, "INT8": 8, "UINT8": 8, "INT4": 4, "INT2": 2}
# What a plan says of its machine that costs depend on, by the names of the flags.
_MACHINE = ("ranks", "ranks_per_host", "device", "batch_size", "hbm_mem_bw", "intra_host_bw", "inter_host_bw", "torchrec")
_CUT_BY_ROW = ("row_wise", "table_row_wise", "grid_shard")


class PredictionWarning(UserWarning):
    """What the library says of its costs, such as shapes that were not measured."""


@dataclass(frozen=True)
class Shard:
    """A shard on its rank, with what a step reads from it and the predicted times, without the fixed part of a call."""

    table: str
    module: str
    sharding_type: str
    rank: int
    kind: Kind
    lookup: Lookup
    bags: int  # of a feature
    forward_ms: float
    backward_ms: float

    def group(self) -> tuple[Any, ...]:
        """Shards of a rank with equal groups are one call, as in TorchRec's `group_tables`."""
        return self.module, self.sharding_type, self.kind, self.bags, 0 if self.kind.pooled else self.lookup.dim

    def num_bytes(self) -> int:
        bits = _DATA_BITS.get(self.kind.data_type, 32)
        return self.lookup.rows * self.lookup.dim * bits // 8 * (2 if self.kind.kernel == "dense" else 1)


def shards_of(problem: Mapping[str, Any], plan: Mapping[str, Any], machine: str | None = None) -> list[Shard]:
    """The shards of a plan in its order, with the costs that `shardwright enumerate` gives their options. `problem` may
    be the plan's with fewer rows. Raises InvalidInputError if an option of the plan is not among them.
    """
    facts = {name: plan["machine"][name] for name in _MACHINE if plan["machine"].get(name)}
    request = {"problem": problem, **facts, **({} if machine is None else {"machine": machine})}
    options: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    answer = ask("enumerate", request)
    for sentence in answer.warnings:
        warnings.warn(sentence, PredictionWarning, stacklevel=2)
    for option in answer.data["search_space"]:
        options.setdefault(_name(option), []).append(option)
    tables = {table["name"]: _table(problem, table) for table in problem["tables"]}
    found: list[Shard] = []
    for number, entry in enumerate(plan["plan"]):
        columns = [run[1] for run in entry["layout"] for _ in range(run[-1])]
        option = next((own for own in options.get(_name(entry), ())
                       if [shard["size"][1] for shard in own["shards"]] == columns), None)
        if option is None:
            raise errors.InvalidInputError(
                f"table {entry['table']} has no option {entry['sharding_type']} with {len(columns)} such shards",
                f"/plan/plan/{number}")
        found += _shards(tables[entry["table"]], option, entry["ranks"], facts)
    return found


def _name(option: Mapping[str, Any]) -> tuple[Any, ...]:
    return (option["table"], option["module"], option["sharding_type"], option["compute_kernel"],
            option.get("load_factor"))


def _table(problem: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """What the library's answers lack: lookups of a sample, features, skew, optimizer, type."""
    constraint = problem.get("constraints", {}).get(table["name"], {})
    features: Sequence[Any] = table.get("features") or [table["name"]]
    pooling = constraint.get("pooling_factors") or [
        feature["pooling_factor"] for feature in features
        if isinstance(feature, Mapping) and "pooling_factor" in feature] or [table.get("pooling_factor", len(features))]
    poolings = constraint.get("num_poolings") or [1.0] * len(pooling)
    return {"pooling": sum(own * times for own, times in zip(pooling, poolings)), "features": len(features),
            "rows": table["num_embeddings"], "zipf": table.get("zipf", problem.get("zipf", 0.0)),
            "optimizer": _OPTIMIZERS.get(table.get("optimizer", "RowWiseAdagrad"), ROW_WISE_ADAGRAD),
            "data_type": table.get("data_type", "FP32").upper()}


def _shards(table: Mapping[str, Any], option: Mapping[str, Any], ranks: Sequence[int], facts: Mapping[str, Any]
            ) -> Iterable[Shard]:
    kernel = option["compute_kernel"]
    kind = Kind(kernel, table["data_type"], option["is_weighted"], option["is_pooled"],
                "" if kernel in ("dense", "quant") else table["optimizer"], option.get("load_factor"))
    bags = option["batch_size"] * (1 if option["sharding_type"] == "data_parallel" else facts["ranks"])
    for shard, rank in zip(option["shards"], ranks):
        rows, dim = shard["size"]
        share = rows / table["rows"] if option["sharding_type"] in _CUT_BY_ROW else 1.0
        lookups = round(bags * table["pooling"] * share)
        if rows and lookups:
            yield Shard(option["table"], option["module"], option["sharding_type"], rank, kind,
                        Lookup(rows, dim, lookups, table["zipf"], table["features"]), bags,
                        shard["perf"][0] + shard["perf"][4], shard["perf"][2])


def scaled(problem: Mapping[str, Any], factor: float) -> dict[str, Any]:
    """The problem with `factor` times as many rows in every table."""
    return {**problem, "tables": [{**table, "num_embeddings": max(1, round(table["num_embeddings"] * factor))}
                                  for table in problem["tables"]]}


def call_times(machine: str | None) -> Callable[[Kind], tuple[float, float]]:
    """The fixed times in ms of a call's passes, which no option has; 0 in TorchRec's model."""
    models = [] if machine is None else _read(machine).get("embedding", {}).get("models", [])
    found = {(model["kernel"], model["data_type"], model["weighted"], model["pooled"], model["optimizer"]): tuple(
        (model.get(name) or {"ns": {}})["ns"].get("call", 0.0) / 1e6 for name in ("forward", "backward"))
        for model in models}

    def of(kind: Kind) -> tuple[float, float]:
        times = found.get((kind.kernel, kind.data_type, kind.weighted, kind.pooled, kind.optimizer), (0.0, 0.0))
        return times[0], times[1]
    return of


def replay(problem: Any, plan: Any, *, machine: str | None = None, ranks: Sequence[int] | None = None,
           scale_rows: float = 1.0, device: str | torch.device | None = None, tables: bool = True, runs: int = 5,
           log: Callable[[str], object] | None = None) -> dict[str, Any]:
    """Runs the lookups of a plan's shards on the present device, rank after rank, on random indices, and returns
    predicted beside measured times of every rank and, with `tables`, of every shard alone.

    Predictions are those of the library with the file `machine`, or of TorchRec's constants. `scale_rows` gives all
    tables that share of their rows, where a rank would not fit into memory; predictions are for those rows, too.
    A CPU is replayed on one thread. Raises InvalidInputError.
    """
    where = default_device(device)
    if where.type == "cpu":
        torch.set_num_threads(1)
    keep_memory()
    document, planned = _read(problem), _read(plan)
    if not planned.get("plan"):
        raise errors.InvalidInputError("has no plan", "plan")
    document["zipf"] = planned["machine"].get("zipf", document.get("zipf", 0.0))
    shards = shards_of(scaled(document, scale_rows) if scale_rows != 1 else document, planned, machine)
    chosen = sorted({shard.rank for shard in shards} if ranks is None else ranks)
    if unknown := set(chosen) - set(range(planned["machine"]["ranks"])):
        raise errors.InvalidInputError(f"there is no rank {min(unknown)}", "ranks")
    fixed, flush = call_times(machine), Flush(where)
    answer: dict[str, Any] = {"replay": {
        "name": planned.get("name", ""), "device": machine_facts(where, "", {})["device_name"],
        "date": date.today().isoformat(), "scale_rows": scale_rows, "predicted_by": "torchrec" if machine is None
        else "machine", "ranks": planned["machine"]["ranks"]}, "ranks": [], "tables": []}
    alone: dict[tuple[Any, ...], dict[str, Any]] = {}
    for rank in chosen:
        own = [shard for shard in shards if shard.rank == rank]
        answer["ranks"].append({"rank": rank, **run_calls(own, where, flush, fixed, runs)})
        for shard in own if tables else ():
            same = (*shard.group()[2:], shard.lookup)  # equal shards take equal times
            if same not in alone:
                alone[same] = run_call([shard], where, flush, fixed, runs)
            answer["tables"].append({"table": shard.table, "rank": rank, "sharding_type": shard.sharding_type,
                                     "compute_kernel": shard.kind.kernel,
                                     "size": [shard.lookup.rows, shard.lookup.dim], **alone[same]})
        if log is not None:
            log(f"rank {rank}: {answer['ranks'][-1]['predicted_ms']:.3f} ms predicted, "
                f"{answer['ranks'][-1]['measured_ms']:.3f} ms measured")
    answer["errors"] = {name: error_figures(answer[name]) for name in ("ranks", "tables") if answer[name]}
    return answer


def run_calls(shards: Sequence[Shard], device: torch.device, flush: Flush,
              fixed: Callable[[Kind], tuple[float, float]], runs: int) -> dict[str, Any]:
    """The number of calls that shards of one rank make, and their predicted and measured times in ms together. Raises
    as run_call().
    """
    calls: dict[tuple[Any, ...], list[Shard]] = {}
    for shard in shards:
        calls.setdefault(shard.group(), []).append(shard)
    return {"calls": len(calls), **_sum(run_call(own, device, flush, fixed, runs) for own in calls.values())}


def run_call(shards: Sequence[Shard], device: torch.device, flush: Flush,
             fixed: Callable[[Kind], tuple[float, float]], runs: int) -> dict[str, Any]:
    """Predicted and measured times in ms of the one call of shards whose groups are equal. Raises InvalidInputError for
    a kernel that the device lacks, and if there is not enough memory.
    """
    kind, wanted = shards[0].kind, sum(shard.num_bytes() for shard in shards)
    if not kind.runs_on(device):
        raise errors.InvalidInputError(f"{' '.join(filter(None, (kind.kernel, kind.data_type, kind.optimizer)))} does not run on {device}", "plan")
    if wanted > (free := memory_bytes(torch.device("cpu") if "uvm" in kind.kernel else device, free=True)):
        raise errors.InvalidInputError(f"a call needs {wanted >> 20} MiB, but {free >> 20} MiB are free; "
                                       f"try {0.8 * free / wanted:.2g}", "scale_rows")
    times: CallTimes = Call(kind, [shard.lookup for shard in shards], shards[0].bags, device).measure(flush, runs=runs)
    call = fixed(kind)
    backward = times.backward
    return _with_sums({
        "forward_ms": [sum(shard.forward_ms for shard in shards) + call[0], times.forward.us / 1e3],
        "backward_ms": [sum(shard.backward_ms for shard in shards) + call[1], backward.us / 1e3] if backward
        else [0.0, 0.0],
        "spread": max(times.forward.spread, backward.spread if backward else 0.0)})


def _sum(calls: Iterable[dict[str, Any]]) -> dict[str, Any]:
    listed = list(calls)
    total: dict[str, Any] = {name: [sum(call[name][side] for call in listed) for side in (0, 1)]
                             for name in ("forward_ms", "backward_ms")}
    return _with_sums({**total, "spread": max((call["spread"] for call in listed), default=0.0)})


def _with_sums(times: dict[str, Any]) -> dict[str, Any]:
    predicted, measured = (times["forward_ms"][side] + times["backward_ms"][side] for side in (0, 1))
    return {**times, "predicted_ms": predicted, "measured_ms": measured}


def error_figures(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How far predictions are from measurements: relative errors, and Spearman's correlation of their orders."""
    pairs = [(row["predicted_ms"], row["measured_ms"]) for row in rows if row["measured_ms"] > 0]
    off = sorted(abs(predicted / measured - 1) for predicted, measured in pairs)
    return {"count": len(off), "median": statistics.median(off), "p90": off[min(len(off) - 1, int(0.9 * len(off)))],
            "rank_correlation": _spearman(pairs)}


def _spearman(pairs: Sequence[tuple[float, float]]) -> float | None:
    if len(pairs) < 3:
        return None
    order = [_places([pair[side] for pair in pairs]) for side in (0, 1)]
    try:
        return statistics.correlation(*order)
    except statistics.StatisticsError:  # all are equal
        return None


def _places(values: Sequence[float]) -> list[float]:
    """The place of every value in their order; equal values share the mean place."""
    ordered = sorted(values)
    first = {value: place for place, value in reversed(list(enumerate(ordered)))}
    return [first[value] + (ordered.count(value) - 1) / 2 for value in values]


def _read(source: Any) -> dict[str, Any]:
    if isinstance(source, Mapping):
        return dict(source)
    raw = Path(source).read_bytes()
    try:
        found: dict[str, Any] = json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    except ValueError as error:
        raise errors.InvalidInputError(f"is not JSON: {error}", str(source)) from None
    return found


def text(answer: Mapping[str, Any]) -> str:
    """The answer as people read it."""
    about = answer["replay"]
    source = "measured costs" if about["predicted_by"] == "machine" else "TorchRec's constants"
    lines = [f"{about['name']}: {len(answer['ranks'])} of {about['ranks']} ranks on {about['device']}, predicted by {source}"
             + (f", {about['scale_rows']:g} of the rows" if about["scale_rows"] != 1 else ""),
             f"{'rank':>6} {'calls':>6} {'predicted ms':>13} {'measured ms':>12} {'error':>8}"]
    for row in answer["ranks"]:
        lines.append(f"{row['rank']:>6} {row['calls']:>6} {row['predicted_ms']:>13.3f} {row['measured_ms']:>12.3f} "
                     f"{row['predicted_ms'] / row['measured_ms'] - 1 if row['measured_ms'] else 0:>+8.1%}")
    for name, figures in answer["errors"].items():
        order = figures["rank_correlation"]
        lines.append(f"{name}: median error {figures['median']:.1%}, p90 {figures['p90']:.1%}"
                     + ("" if order is None else f", correlation of order {order:.3f}"))
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status: 0, or 2 for bad input, which is printed."""
    parser = argparse.ArgumentParser(
        prog="python -m shardwright.torchrec.replay", epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Runs the lookups of a plan on this machine and compares with what was predicted.")
    parser.add_argument("problem", metavar="PROBLEM")
    parser.add_argument("plan", metavar="PLAN", help="what `shardwright plan -o` wrote")
    parser.add_argument("--machine", metavar="FILE", help="measured costs (default: TorchRec's constants)")
    parser.add_argument("--ranks", help="such as 0,3 (all)")
    parser.add_argument("--scale-rows", type=float, default=1.0, metavar="F", help="share of every table's rows (1)")
    parser.add_argument("--device", help="such as cuda:1 (default: cuda, or cpu without one)")
    parser.add_argument("--no-tables", action="store_true", help="leave out the tables, each of which runs alone")
    parser.add_argument("--runs", type=int, default=5, help="of a call, whose median counts (5)")
    parser.add_argument("-o", "--output", metavar="FILE", help="the answer as JSON")
    parser.add_argument("--html", metavar="FILE", help="a page with a scatter plot and the errors")
    parsed = parser.parse_args(arguments)
    try:
        ranks = None if parsed.ranks is None else [int(word) for word in parsed.ranks.split(",")]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", PredictionWarning)
            answer = replay(parsed.problem, parsed.plan, machine=parsed.machine, ranks=ranks,
                            scale_rows=parsed.scale_rows, device=parsed.device, tables=not parsed.no_tables,
                            runs=parsed.runs)
        if parsed.output is not None:
            Path(parsed.output).write_text(json.dumps(answer, indent=1), encoding="utf-8")
        if parsed.html is not None:
            Path(parsed.html).write_text(page(answer), encoding="utf-8")
    except (errors.ShardwrightError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for warning in caught:
        if issubclass(warning.category, PredictionWarning):
            print(f"warning: {warning.message}", file=sys.stderr)
    print(text(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
