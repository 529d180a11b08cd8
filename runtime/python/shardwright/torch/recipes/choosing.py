"""From a model to the fastest program that runs: meshes, roles of axes, recomputation."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, Callable, Mapping, Sequence, TypeVar

import torch

from ... import errors, operators
from ..tracing.document import TracedModel, trace
from ..tracing.rewriting.recompute import repeated_blocks
from . import fsdp2, known
from .from_plan import recipe_of
from .held import Held, predicted
from .recipe import Recipe
from .structure import Structure, structure_of
from .trial import try_program

_T = TypeVar("_T")
_MOST_TRIES = 3  # numbers of blocks to compute again


@dataclass(frozen=True, eq=False)
class Row:
    """A mesh with roles of its axes, planned."""

    mesh: tuple[int, ...]
    roles: tuple[str, ...]  # empty for placements of any kind, which no program has
    baseline: str  # its name, or ""
    checkpointed: tuple[str, ...]
    answer: Mapping[str, Any]  # of the sweep

    @property
    def time_us(self) -> float:
        return float(self.answer["objective_us"])

    @property
    def name(self) -> str:
        shape = "x".join(map(str, self.mesh))
        what = self.baseline or " + ".join(self.roles) or "placed freely"
        share = f", {len(self.checkpointed)} checkpointed" if self.checkpointed else ""
        return f"{shape} {what}{share}"


@dataclass(frozen=True)
class Choice:
    """The fastest program, what it was chosen among, and what was passed over."""

    recipe: Recipe
    program: str
    row: Row
    plan: Mapping[str, Any]
    held: Held  # by a run of the program without values
    predicted: Held  # by the plan
    rows: tuple[Row, ...]  # by time
    passed_over: tuple[str, ...]  # sentences
    seconds: Mapping[str, float]

    @property
    def free(self) -> Row | None:
        """The fastest plan of any kind."""
        return next((row for row in self.rows if not row.roles), None)

    @property
    def baselines(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.baseline)


def choose(model: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any], devices: int, *,
           device: str = "h100", memory: int | str | None = None, optimizer_states: int = 2, axes: int = 3,
           gap: float | None = None, threads: int = 0) -> Choice:
    """Plans a training step on all meshes of `devices` and takes the fastest plan whose program runs. Within
    a limit of memory, the backward may compute all blocks again, or as many as one more plan needs to fit.
    Raises InfeasibleError if nothing fits.
    """
    options: dict[str, Any] = {"memory": memory, "optimizer_states": optimizer_states, "device": device,
                               "threads": threads, "gap": gap}
    return _Choosing(model, args, kwargs, devices, axes, options).choice()


class _Choosing:
    """All plans of one model, by time."""

    def __init__(self, model: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any], devices: int,
                 axes: int, options: Mapping[str, Any]) -> None:
        self.model, self.args, self.kwargs = model, args, kwargs
        self.options = options
        self.seconds: dict[str, float] = {}
        self.graph: TracedModel = self._timed("trace", lambda: trace(model, args, kwargs, fused_attention=True))
        self.structure: Structure = self._timed("structure", lambda: structure_of(model, args, kwargs))
        self.graphs: dict[tuple[str, ...], TracedModel] = {(): self.graph}
        self.baselines = known.baselines(self.graph.document, self.structure, self.graph.joint.tied, devices)
        self.plans: dict[Row, Mapping[str, Any]] = {}
        self.passed_over: list[str] = []
        self.rows, short = self._swept(devices, axes, ())
        blocks = repeated_blocks(model)
        if blocks and options["memory"] is not None:
            full, _ = self._swept(devices, axes, blocks)
            self.rows += full
            self._add_partly(short, full, blocks)
        self.rows.sort(key=lambda row: row.time_us)

    def _timed(self, name: str, call: Callable[[], _T]) -> _T:
        begin = time.monotonic()
        try:
            return call()
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - begin

    def _graph(self, checkpointed: tuple[str, ...]) -> TracedModel:
        if checkpointed not in self.graphs:
            self.graphs[checkpointed] = self._timed("trace", lambda: self.graph.recomputed(checkpointed))
        return self.graphs[checkpointed]

    def _swept(self, devices: int, axes: int, checkpointed: tuple[str, ...]) -> tuple[list[Row], list[Row]]:
        """The rows that fit, and those of programs that do not, which have no time."""
        graph = self._graph(checkpointed)
        answer = self._timed("plan", lambda: operators.sweep(
            graph, devices, axes=axes, expressible=True, options={"baselines": self.baselines}, **self.options))
        rows = [Row(tuple(row["mesh"]["shape"]), tuple(row.get("roles", ())), row.get("baseline", ""), checkpointed,
                    row) for row in answer.data["meshes"]]
        return ([row for row in rows if row.answer.get("objective_us") is not None],
                [row for row in rows if row.answer.get("enough_bytes") and row.roles and not row.baseline])

    def _add_partly(self, short: Sequence[Row], full: Sequence[Row], blocks: tuple[str, ...]) -> None:
        """Of the programs that fit only if blocks are computed again, plans the one that may be the fastest
        with as few such blocks as fit, if the estimate is below all others.
        """
        programs = {(row.mesh, row.roles): row for row in full if row.roles and not row.baseline}
        fitting = {(row.mesh, row.roles): row for row in self.rows if not row.checkpointed}
        saved = min((row.time_us - fitting[key].time_us for key, row in programs.items() if key in fitting),
                    default=0.0)
        found = []
        for row in short:
            if (whole := programs.get((row.mesh, row.roles))) is not None:
                each = (row.answer["enough_bytes"] - whole.answer["peak_bytes"]) / len(blocks)
                count = ceil((row.answer["enough_bytes"] - row.answer["limit_bytes"]) / each) if each > 0 else 0
                if 0 < count < len(blocks):
                    found.append((whole.time_us - saved * (1 - count / len(blocks)), count, row))
        best = min((row.time_us for row in self.rows if row.roles), default=float("inf"))
        if found and (first := min(found, key=lambda entry: entry[0]))[0] < best:
            self._plan_partly(first[2], first[1], blocks)

    def _plan_partly(self, row: Row, count: int, blocks: tuple[str, ...]) -> None:
        """Tries a few counts of blocks: each plan says how much memory a block saves."""
        start, limit = row.answer["enough_bytes"], row.answer["limit_bytes"]
        found: Row | None = None
        tried: set[int] = set()
        while len(tried) < _MOST_TRIES and count not in tried and 0 < count < len(blocks):
            tried.add(count)
            now = replace(row, checkpointed=blocks[:count])
            plan = self._planned(now)
            fits = "nodes" in plan
            if fits and (found is None or count < len(found.checkpointed)):
                found = replace(now, answer=plan)
                self.plans[found] = plan
            saved = start - (plan["peak_bytes"] if fits else plan["enough_bytes"])
            wanted = ceil((start - limit) * count / saved) if saved > 0 else len(blocks)
            count = min(count, wanted) if fits else max(count + 1, wanted)
        if found is not None:
            self.rows.append(found)

    def _planned(self, row: Row) -> Mapping[str, Any]:
        """The plan of a row, with every tensor's placement."""
        graph = self._graph(row.checkpointed)
        named = next((each for each in self.baselines if each["name"] == row.baseline), {})
        placements = named.get("placements", {}) if row.baseline else _whole(graph, self.structure, row.roles)
        plan: Mapping[str, Any] = self._timed("plan", lambda: operators.plan(graph, options={
            "mesh": list(row.mesh), "roles": list(row.roles), "placements": placements}, **self.options).data)
        return plan

    def choice(self) -> Choice:
        if not any(row.roles for row in self.rows):
            raise errors.InfeasibleError("no program fits; give more devices or memory")
        # A baseline on data axes is what its roles without a name are. Only a row that its plan confirms is tried.
        waiting = [row for row in self.rows if row.roles and not (row.baseline and "tensor" not in row.roles)]
        while waiting:
            row = waiting.pop(0)
            if row not in self.plans:
                waiting = sorted([self._confirmed(row), *waiting], key=lambda other: other.time_us)
                continue
            plan = self.plans[row]
            try:
                recipe, program, held = self._timed("program", lambda: self._program(row, plan))
                said = predicted(self._graph(row.checkpointed).document, plan)
                _check_memory(plan, held.activations - said.activations)
            except (errors.UnsupportedError, errors.InfeasibleError) as error:
                self.passed_over.append(f"{row.name}: {error}")
                continue
            return Choice(recipe, program, row, plan, held, said, tuple(self.rows), tuple(self.passed_over),
                          self.seconds)
        raise errors.UnsupportedError("no plan has a program: " + "; ".join(self.passed_over), "model")

    def _confirmed(self, row: Row) -> Row:
        """The row with the figures of its plan, which may keep more parameters whole than the sweep's."""
        plan = self._planned(row)
        now = replace(row, answer={**row.answer, **{key: plan[key] for key in row.answer
                                                    if key in plan and key not in ("mesh", "baseline")}})
        self.rows = sorted((now if other is row else other for other in self.rows), key=lambda other: other.time_us)
        self.plans[now] = plan
        return now

    def _program(self, row: Row, plan: Mapping[str, Any]) -> tuple[Recipe, str, Held]:
        """The recipe, its program, and what it holds. Tries again without a divided sequence."""
        graph = self._graph(row.checkpointed)
        for sequence in (True, False):
            try:
                recipe = recipe_of(graph.document, graph.joint.tied, plan, self.structure,
                                   checkpointed=row.checkpointed, sequence=sequence)
                if not sequence:
                    recipe = replace(recipe, notes=("The plan divides the sequence between modules as well, which "
                                                    "this model's code does not allow; so tensors there are whole.",))
                program = fsdp2.program_of(recipe)
                return recipe, program, try_program(program, recipe, self.model, self.args, self.kwargs)
            except errors.UnsupportedError:
                if not sequence or "tensor" not in row.roles:
                    raise
        raise AssertionError("unreachable")


def _check_memory(plan: Mapping[str, Any], more: int) -> None:
    """Raises InfeasibleError if the program, which keeps that much more than the plan says, does not fit."""
    limit, peak = plan.get("memory_limit"), plan["peak_bytes"] + max(more, 0)
    if limit is not None and peak > limit:
        raise errors.InfeasibleError(f"the program needs {peak} bytes, since it keeps {more} more than planned")


def _whole(graph: TracedModel, structure: Structure, roles: Sequence[str]) -> dict[str, Any]:
    """Placements that leave parameters whole on a tensor axis that torch's tensor parallelism cannot divide."""
    wanted = set(structure.whole_parameters())
    fixed = [row["target"] for row in graph.document["nodes"]
             if row.get("role") == "parameter" and row["target"] in wanted and len(row["outputs"][0]["shape"]) == 2]
    if "tensor" not in roles or not fixed:
        return {}
    return {"parameters": {name: ["R" if role == "tensor" else "*" for role in roles] for name in fixed}}
