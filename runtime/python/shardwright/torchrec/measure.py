"""Measures embedding kernels and collectives on this machine: python -m shardwright.torchrec.measure."""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import statistics
import sys
import time
import warnings
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, Callable, Iterator, Sequence

import torch

from .. import __version__, errors
from ..machine import fit as fit_machine
from ..torch.timing import Flush, default_device, keep_memory, machine_facts, timed
from .collectives import measure_collectives, process_group
from .lookups import ROW_WISE_ADAGRAD, Call, Kind, Lookup

_EPILOG = """\
  python -m shardwright.torchrec.measure -o machine.json --device cpu
  torchrun --nnodes 2 --nproc-per-node 8 ... -m shardwright.torchrec.measure -o machine.json
  shardwright plan my_tables.json --ranks 16 --machine machine.json

With torchrun, rank 0 measures the lookups, and all ranks the collectives. What else the file has is kept.
"""
LOOKUP_COLUMNS = ("kernel", "data_type", "weighted", "optimizer", "pooled", "tables", "rows", "dim", "batch", "pooling",
                  "zipf", "hit_rate", "forward_us", "backward_us", "spread")
PARTS = ("lookups", "collectives")
NOISY = 0.15  # median spread above which the machine has too much else to do

_FIRST_SHAPES = 24  # of a kind, before its first fit
_ROUND_SHAPES = 12
_SMALL = 0.2  # share of small calls that are measured
_CANDIDATES = 6  # random shapes, of which the one is measured that is farthest from those measured before
_IMPROVEMENT = 0.97  # a fit is better if its error is below this share of the best
_PATIENCE = 3  # fits without improvement after which a kind has been measured enough
_REFERENCE_EVERY = 16  # shapes between two measurements of the reference, which tell whether the machine's speed changes


class NoisyMachineWarning(UserWarning):
    """Repetitions of a call, or of a reference over the whole time, lie so far apart that medians mean little."""


@dataclass(frozen=True)
class Shape:
    """A call of `tables` equal tables."""

    tables: int
    rows: int
    dim: int
    batch: int
    pooling: float
    zipf: float

    @property
    def lookups(self) -> int:
        return max(1, round(self.batch * self.pooling))

    def place(self) -> tuple[float, ...]:
        """Where the shape lies in the space of shapes; one unit is about as telling in each direction."""
        return (math.log2(self.tables), math.log(self.rows), math.log2(self.dim), math.log(self.batch),
                math.log(self.pooling), 3 * self.zipf)


@dataclass(frozen=True)
class Grid:
    """What shapes are drawn from, and how large a call may be."""

    tables: tuple[int, ...] = (1, 1, 2, 4, 8)
    rows: tuple[int, int] = (10, 20_000_000)
    dims: tuple[int, ...] = (4, 8, 12, 16, 32, 48, 64, 96, 128, 160, 192, 256)
    batch: tuple[int, int] = (128, 16_384)
    pooling: tuple[float, float] = (0.25, 100.0)
    zipfs: tuple[float, ...] = (0.0, 0.0, 0.4, 0.7, 0.9, 1.05, 1.2)
    most_bytes: int = 1 << 30  # of all tables
    most_elements: int = 1 << 26  # read by one call
    least_elements: int = 1 << 18  # calls that read fewer are mostly launching, so most of them are left out

    def draw(self, random_: random.Random) -> Shape:
        while True:
            shape = Shape(random_.choice(self.tables), round(_log_uniform(random_, *self.rows)),
                          random_.choice(self.dims), round(_log_uniform(random_, *self.batch)),
                          round(_log_uniform(random_, *self.pooling), 2), random_.choice(self.zipfs))
            elements = shape.tables * shape.lookups * shape.dim
            if shape.tables * shape.rows * shape.dim * 4 <= self.most_bytes and elements <= self.most_elements and (
                    elements >= self.least_elements or random_.random() < _SMALL):
                return shape


def grid_for(device: torch.device) -> Grid:
    """A GPU has larger batches, and the memory for larger tables."""
    if device.type == "cpu":
        return Grid()
    return Grid(rows=(10, 50_000_000), batch=(128, 131_072), most_bytes=8 << 30, most_elements=1 << 31)


_REFERENCE = Shape(1, 100_000, 64, 1024, 20.0, 0.0)


def _log_uniform(random_: random.Random, low: float, high: float) -> float:
    return math.exp(random_.uniform(math.log(low), math.log(high)))


@dataclass
class _Progress:
    """How a kind of kernel fares."""

    kind: Kind
    shapes: list[Shape] = field(default_factory=list)
    best: float = math.inf  # the sum of the errors' medians and 90 % quantiles
    worse: int = 0  # fits since the best

    def next_shape(self, grid: Grid, random_: random.Random) -> Shape:
        drawn = [grid.draw(random_) for _ in range(_CANDIDATES if self.shapes else 1)]
        places = [shape.place() for shape in self.shapes]
        chosen = max(drawn, key=lambda shape: min((math.dist(shape.place(), own) for own in places), default=0.0))
        self.shapes.append(chosen)
        return chosen

    def hear(self, error: float) -> None:
        self.worse = 0 if error < _IMPROVEMENT * self.best else self.worse + 1
        self.best = min(self.best, error)


def kinds_for(device: torch.device, kernels: Sequence[str] | None = None,
              data_types: Sequence[str] | None = None) -> list[Kind]:
    """The kernels that TorchRec would run on the device, the most frequent first."""
    trained = [Kind(kernel, data_type, weighted, pooled, "" if kernel == "dense" else ROW_WISE_ADAGRAD)
               for pooled in (True, False) for kernel in ("fused", "dense", "fused_uvm", "fused_uvm_caching")
               for data_type in ("FP32", "FP16") for weighted in (False, True) if pooled or not weighted]
    listed = [*trained, Kind("quant", "INT8", optimizer="")]
    return [kind for kind in listed if kind.runs_on(device)
            and kind.kernel in (kernels or [kind.kernel]) and kind.data_type in (data_types or [kind.data_type])]


Fit = Callable[[dict[str, Any]], dict[str, Any]]


class Lookups:
    """Measures calls of every kind until the fits improve no more or the time is over."""

    def __init__(self, kinds: Sequence[Kind], device: torch.device, grid: Grid, *, seed: int = 0, runs: int = 5) -> None:
        self._progress = [_Progress(kind) for kind in kinds]
        self._device, self._grid, self._runs = device, grid, runs
        self._random = random.Random(seed)
        self._flush = Flush(device)
        self.rows: list[list[Any]] = []
        self.reference_us: list[float] = []

    def run(self, until: float, fit: Callable[[list[list[Any]]], dict[str, Any]]) -> None:
        """`until` is a time of time.monotonic(). Every kind gets its first shapes before any gets more."""
        self._measure(self._progress, _FIRST_SHAPES, until)
        while time.monotonic() < until:
            errors_of = _errors(fit(self.rows))
            for own in self._progress:
                own.hear(errors_of.get(_key(own.kind), math.inf))
            active = [own for own in self._progress if own.worse < _PATIENCE]
            if not active:
                return
            self._measure(active, _ROUND_SHAPES, until)

    def _measure(self, active: Sequence[_Progress], count: int, until: float) -> None:
        """Kinds take turns, so that a disturbance does not meet one kind alone."""
        for _ in range(count):
            for own in (active[0], *active):  # the most frequent kind twice
                if time.monotonic() >= until:
                    return
                if len(self.rows) % _REFERENCE_EVERY == 0:
                    self.reference_us.append(self._row(self._progress[0].kind, _REFERENCE)[-3])
                self.rows.append(self._row(own.kind, own.next_shape(self._grid, self._random)))

    def _row(self, kind: Kind, shape: Shape) -> list[Any]:
        tables = [Lookup(shape.rows, shape.dim, shape.lookups, shape.zipf)] * shape.tables
        times = Call(kind, tables, shape.batch, self._device, seed=len(self.rows)).measure(
            self._flush, runs=self._runs, seconds=1.0)
        backward = times.backward
        return [kind.kernel, kind.data_type, kind.weighted, kind.optimizer, kind.pooled, shape.tables, shape.rows,
                shape.dim, shape.batch, shape.lookups / shape.batch, shape.zipf, times.hit_rate,
                times.forward.us, None if backward is None else backward.us,
                max(times.forward.spread, backward.spread if backward else 0.0)]


def _key(kind: Kind) -> tuple[Any, ...]:
    return kind.kernel, kind.data_type, kind.weighted, kind.pooled, kind.optimizer


def _errors(document: dict[str, Any]) -> dict[tuple[Any, ...], float]:
    """The error that a kind's fit has for shapes that it did not see."""
    found = {}
    for model in document["embedding"]["models"]:
        parts = [model[name]["error"] for name in ("forward", "backward") if model.get(name)]
        found[tuple(model[name] for name in ("kernel", "data_type", "weighted", "pooled", "optimizer"))] = sum(
            error["median"] + error["p90"] for error in parts) / len(parts)
    return found


def measure(path: str | os.PathLike[str] | None = None, *, device: str | torch.device | None = None,
            time_limit: float = 180.0, parts: Sequence[str] = PARTS, kinds: Sequence[Kind] | None = None,
            grid: Grid | None = None, name: str = "", runs: int = 5, seed: int = 0) -> dict[str, Any]:
    """Returns measured costs of this machine with the fits to them, and writes them to the file `path`.

    Lookups are measured on one device, by rank 0 if there are several processes; on a CPU by one thread. Caches are
    empty before every call, as in a training step, and freed memory stays with the process. Collectives are measured
    if torchrun has started several processes. Rows and members that an existing file has of other parts are kept.

    Warns with NoisyMachineWarning. Raises OSError, and InvalidInputError for a file of another device. Thread safety:
    one call at a time, and other work makes times longer.
    """
    begin = time.monotonic()
    where = default_device(device)
    document: dict[str, Any] = {}
    if path is not None and os.path.exists(path):
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    with process_group(where) as group:
        if where.type == "cpu":
            torch.set_num_threads(1)
        facts = machine_facts(where, name or document.get("machine", {}).get("name", ""), _versions())
        known = document.get("machine", facts)
        if (known["device"], known["device_name"]) != (facts["device"], facts["device_name"]):
            raise errors.InvalidInputError(f"has costs of {known['device_name']}, not of {facts['device_name']}", "path")
        document["machine"] = facts
        if group.rank == 0 and "lookups" in parts:
            keep_memory()
            lookups = Lookups(kinds_for(where) if kinds is None else kinds, where, grid or grid_for(where), seed=seed, runs=runs)

            def fit(rows: list[list[Any]]) -> dict[str, Any]:
                found: dict[str, Any] = fit_machine({"machine": facts, "embedding": _embedding(rows)}).data
                return found

            lookups.run(begin + time_limit, fit)
            document["embedding"] = _embedding(lookups.rows)
            facts["spread"] = _noise(lookups)
        if "collectives" in parts and group.size > 1:
            document["collectives"] = {"measurements": measure_collectives(group, where)}
        if group.rank == 0:
            facts["seconds"] = round(time.monotonic() - begin, 1)
            document = fit_machine(document).data
            if path is not None:
                Path(path).write_text(json.dumps(document), encoding="utf-8")
    return document


def _embedding(rows: list[list[Any]]) -> dict[str, Any]:
    return {"lookups": {"columns": list(LOOKUP_COLUMNS), "rows": rows}}


def _noise(lookups: Lookups) -> float:
    """The median spread of the repetitions. Warns if it, or that of the reference, is too large."""
    spread = statistics.median([row[-1] for row in lookups.rows]) if lookups.rows else 0.0
    if (most := max(spread, timed(lookups.reference_us or [1.0]).spread)) > NOISY:
        warnings.warn(f"measurements of equal calls vary by {most:.0%}: other programs use this machine; measure again "
                      "when it is quiet", NoisyMachineWarning, stacklevel=3)
    return spread


def _versions() -> dict[str, str]:
    def found() -> Iterator[tuple[str, str]]:
        for name in ("torchrec", "fbgemm-gpu", "fbgemm-gpu-cpu"):
            try:
                yield name.replace("-cpu", "").replace("-", "_"), metadata.version(name)
            except metadata.PackageNotFoundError:
                pass
    return {**dict(found()), "shardwright": __version__}


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status: 0, or 2 for bad input, which is printed."""
    parser = argparse.ArgumentParser(
        prog="python -m shardwright.torchrec.measure", epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Measures embedding kernels and collectives on this machine, for plans to be made with them.")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the machine's costs")
    parser.add_argument("--device", help="such as cuda:1 (default: cuda, or cpu without one)")
    parser.add_argument("--time-limit", type=float, default=180.0, metavar="S", help="of the lookups (180 s)")
    parser.add_argument("--parts", default=",".join(PARTS), help="lookups, collectives (both)")
    parser.add_argument("--kernels", help="such as fused,dense (all that run here)")
    parser.add_argument("--data-types", help="such as FP32,FP16 (all that run here)")
    parser.add_argument("--name", default="", help="of the machine (default: that of the device)")
    parser.add_argument("--runs", type=int, default=5, help="of a shape, whose median counts (5)")
    parsed = parser.parse_args(arguments)
    try:
        parts = parsed.parts.split(",")
        if unknown := set(parts) - set(PARTS):
            raise errors.InvalidInputError(f"has no part {sorted(unknown)[0]!r}", "--parts")
        device = default_device(parsed.device)
        kinds = kinds_for(device, *(words.split(",") if words else None
                                    for words in (parsed.kernels, parsed.data_types)))
        if not kinds:
            raise errors.InvalidInputError(f"leaves no kernel that runs on {device}", "--kernels")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", NoisyMachineWarning)
            document = measure(parsed.output, device=device, time_limit=parsed.time_limit, parts=parts, kinds=kinds,
                               name=parsed.name, runs=parsed.runs)
    except (errors.ShardwrightError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for warning in caught:
        if issubclass(warning.category, NoisyMachineWarning):
            print(f"warning: {warning.message}", file=sys.stderr)
    if os.environ.get("RANK", "0") == "0":
        lookups = document.get("embedding", {}).get("lookups", {}).get("rows", [])
        collectives = document.get("collectives", {}).get("measurements", {}).get("rows", [])
        print(f"{len(lookups)} calls and {len(collectives)} collectives in {parsed.output}; "
              f"`shardwright machine show {parsed.output}` says how good the fits are")
    return 0


if __name__ == "__main__":
    sys.exit(main())
