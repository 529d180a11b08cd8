"""From a model to the fastest program that runs: meshes, roles of axes, recomputation."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, Callable, Mapping, Sequence

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
        return f"{shape} {what}{', checkpointed' if self.checkpointed else ''}"


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
    """Plans a training step on all meshes of `devices`, without and with recomputation of all blocks, and
    takes the fastest plan whose program runs. Raises InfeasibleError if nothing fits.
    """
    seconds: dict[str, float] = {}

    def timed(name: str, call: Callable[[], Any]) -> Any:
        begin = time.monotonic()
        try:
            return call()
        finally:
            seconds[name] = seconds.get(name, 0.0) + time.monotonic() - begin

    graph: TracedModel = timed("trace", lambda: trace(model, args, kwargs, fused_attention=True))
    structure: Structure = timed("structure", lambda: structure_of(model, args, kwargs))
    options: dict[str, Any] = {"memory": memory, "optimizer_states": optimizer_states, "device": device,
                               "threads": threads, "gap": gap}
    graphs: dict[tuple[str, ...], TracedModel] = {(): graph}
    blocks = repeated_blocks(model)
    if blocks and memory is not None:
        graphs[blocks] = timed("trace", lambda: graph.recomputed(blocks))
    baselines = known.baselines(graph.document, structure, graph.joint.tied, devices)
    rows: list[Row] = []
    for checkpointed, each in graphs.items():
        rows += timed("plan", lambda: _swept(each, devices, axes, checkpointed, baselines, options))
    rows.sort(key=lambda row: row.time_us)
    if not any(row.roles for row in rows):
        raise errors.InfeasibleError("no program fits; give more devices or memory")
    fixed = _fixed(graph, structure)
    placed = {each["name"]: each.get("placements", {}) for each in baselines}
    passed_over: list[str] = []
    plans: dict[Row, Any] = {}
    # A baseline on data axes is what its roles without a name are. Only a row that its plan confirms is tried.
    waiting = [row for row in rows if row.roles and not (row.baseline and "tensor" not in row.roles)]
    while waiting:
        row = waiting.pop(0)
        each = graphs[row.checkpointed]
        try:
            if row not in plans:
                placements = placed[row.baseline] if row.baseline else _whole(fixed, row.roles)
                plan = timed("plan", lambda: operators.plan(each, options={
                    "mesh": list(row.mesh), "roles": list(row.roles), "placements": placements}, **options).data)
                now = replace(row, answer={**row.answer, **{key: plan[key] for key in row.answer if key in plan
                                                            and key not in ("mesh", "baseline")}})
                rows = sorted((now if other is row else other for other in rows), key=lambda other: other.time_us)
                plans[now] = plan
                waiting = sorted([now, *waiting], key=lambda other: (other.time_us, other is not now))
                continue
            recipe, program, held = timed("program", lambda: _program(
                each, structure, plans[row], row.checkpointed, model, args, kwargs))
        except (errors.UnsupportedError, errors.InfeasibleError) as error:
            passed_over.append(f"{row.name}: {error}")
            continue
        return Choice(recipe, program, row, plans[row], held,
                      predicted(each.document, plans[row]), tuple(rows), tuple(passed_over), seconds)
    raise errors.UnsupportedError("no plan has a program: " + "; ".join(passed_over), "model")


def _whole(fixed: Sequence[str], roles: Sequence[str]) -> dict[str, Any]:
    """Placements that leave these parameters whole on a tensor axis."""
    if "tensor" not in roles or not fixed:
        return {}
    return {"parameters": {name: ["R" if role == "tensor" else "*" for role in roles] for name in fixed}}


def _fixed(graph: TracedModel, structure: Structure) -> list[str]:
    """Parameters that torch's tensor parallelism cannot divide."""
    wanted = set(structure.whole_parameters())
    return [row["target"] for row in graph.document["nodes"]
            if row.get("role") == "parameter" and row["target"] in wanted and len(row["outputs"][0]["shape"]) == 2]


def _swept(graph: TracedModel, devices: int, axes: int, checkpointed: tuple[str, ...],
           baselines: Sequence[Mapping[str, Any]], options: Mapping[str, Any]) -> list[Row]:
    answer = operators.sweep(graph, devices, axes=axes, expressible=True, options={"baselines": list(baselines)}, **options)
    return [Row(tuple(row["mesh"]["shape"]), tuple(row.get("roles", ())), row.get("baseline", ""), checkpointed, row)
            for row in answer.data["meshes"] if row.get("objective_us") is not None]


def _program(graph: TracedModel, structure: Structure, plan: Mapping[str, Any], checkpointed: Sequence[str],
             model: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Recipe, str, Held]:
    """The recipe, its program, and what it holds. Tries again without a divided sequence."""
    for sequence in (True, False):
        try:
            recipe = recipe_of(graph.document, graph.joint.tied, plan, structure, checkpointed=checkpointed,
                               sequence=sequence)
            if not sequence:
                recipe = replace(recipe, notes=("The plan divides the sequence between modules as well, which this "
                                                "model's code does not allow; so tensors there are whole.",))
            program = fsdp2.program_of(recipe)
            return recipe, program, try_program(program, recipe, model, args, kwargs)
        except errors.UnsupportedError:
            if not sequence or "tensor" not in plan.get("roles", ()):
                raise
    raise AssertionError("unreachable")
