"""Operator graphs: which strategy every operator takes, how a traced model lies on a mesh.

The functions are the commands `shardwright operators ...`. `shardwright.torch` traces models and
runs plans.
"""

from __future__ import annotations

from typing import Literal, SupportsIndex

from .answer import Answer, Cancel, ProgressLike, Row, ask_for, member
from .arguments import Document, Mesh, Size

Status = Literal["optimal", "feasible", "infeasible", "unknown"]


class CostInstance(Answer):
    """The answer of `build`: every strategy of every operator, and what resharding costs."""


class Solution(Answer):
    """The answer of `solve`."""

    status: Status = member("status", '"optimal" if proved, "feasible" if a limit ended the proof.')
    objective: float | None = member("objective", "The cost of the choice; None without one.")
    lower_bound: float | None = member("lower_bound", "No choice costs less.")

    @property
    def choice(self) -> tuple[int, ...]:
        """By operator: the number of its strategy. Empty without a choice."""
        return tuple(self.data.get("choice") or ())

    def _rows(self) -> list[Row]:
        names = self.data.get("names") or [""] * len(self.choice)
        return [{"operator": number, "strategy": strategy, "name": name}
                for number, (strategy, name) in enumerate(zip(self.choice, names))]


class Strategies(Answer):
    """The answer of `strategies`."""

    def _rows(self) -> list[Row]:
        return [{"operator": record["id"], "strategy": strategy["name"], **strategy["specs"],
                 "comm_cost": strategy["comm_cost"][-1],
                 "compute_cost": strategy["compute_cost"][-1]}
                for record in self.data["records"] for strategy in record["strategies"]]


class Paths(Answer):
    """The answer of `paths`: how tensors get from one sharding to another."""

    def _rows(self) -> list[Row]:
        return [{"mesh": tuple(asked["mesh"]), "shape": tuple(asked["shape"]),
                 **dict(zip(asked["columns"], pair))}
                for asked in self.data for pair in asked["pairs"]]


class Autoshard(Answer):
    """The answer of `autoshard`."""

    def _rows(self) -> list[Row]:
        answers = self.data if isinstance(self.data, list) else [self.data]
        return [{"answer": number, "node": row[0], "spec": row[1], "result": row[2],
                 "cost": row[3]}
                for number, answer in enumerate(answers) for row in answer["table"]]


class MeshPlan(Answer):
    """The answer of `plan`: how every tensor of a traced model lies on a mesh."""

    status: Status = member("status", '"optimal" if proved, "feasible" if a limit ended the proof, '
                            '"infeasible" if no plan fits.')
    objective_us: float | None = member("objective_us", "The time of a step; None without a plan.")
    lower_bound_us: float | None = member("lower_bound_us", "No plan takes less time.")
    peak_bytes: int | None = member("peak_bytes", "What a device needs; None without a plan.")

    def _rows(self) -> list[Row]:
        return list(self.data.get("nodes", ()))


class MeshSweep(Answer):
    """The answer of `sweep`: every mesh, the fastest first."""

    _shows_rows = True

    def _rows(self) -> list[Row]:
        return [{**found, "mesh": tuple(found["mesh"]["shape"])} for found in self.data["meshes"]]


def build(graph: Document, mesh: Mesh, *, threads: SupportsIndex = 0) -> CostInstance:
    """Lists the strategies of every operator with what resharding between them costs."""
    return ask_for(CostInstance, "operators build", locals())


def solve(instance: Document, *, budget: Size | None = None, unmerged: bool = False,
          threads: SupportsIndex = 0, time_limit: float | None = None,
          work_limit: SupportsIndex | None = None, seed: SupportsIndex = 0,
          progress: ProgressLike = None, cancel: Cancel | None = None) -> Solution:
    """Finds the cheapest choice of strategies within the memory `budget`.

    `instance` is an answer of `build`, or a cost instance in the form of ColossalAI, of XLA or of
    the contest.
    """
    return ask_for(Solution, "operators solve", locals())


def strategies(file: Document) -> Strategies:
    """Lists the ways in which single operators can be sharded, with their costs."""
    return ask_for(Strategies, "operators strategies", locals())


def paths(file: Document, *, cost: Literal["compat", "sum", "exact"] = "compat") -> Paths:
    """Finds how tensors are converted from one sharding to another, and the cost."""
    return ask_for(Paths, "operators paths", locals())


def autoshard(graph: Document, *, devices: SupportsIndex | None = None,
              cost_model: Literal["v1", "v2"] | None = None, iterations: bool = False,
              threads: SupportsIndex = 0) -> Autoshard:
    """Shards the tensors of a graph over devices at the least printed cost, as Slapo does.

    With `iterations` the text has the table of costs of every improvement.
    """
    return ask_for(Autoshard, "operators autoshard", locals())


def plan(graph: Document, mesh: Mesh | None = None, *,
         options: Document | None = None, machine: Document | None = None,
         memory: Size | None = None, optimizer_states: SupportsIndex | None = None,
         device: str | None = None,
         redistribution: Literal["shortest", "autoparallel"] | None = None,
         blocks: Literal["free", "equal"] | None = None, overlap: float | None = None,
         threads: SupportsIndex = 0, time_limit: float | None = None,
         work_limit: SupportsIndex | None = None, seed: SupportsIndex = 0,
         progress: ProgressLike = None, cancel: Cancel | None = None) -> MeshPlan:
    """Shards a traced PyTorch model over a mesh, and proves that no plan is faster.

    `options` has placements, a model of collectives, and values for the other arguments, which take
    precedence; runtime/io/README.md describes it. `machine` is a file with measured times of
    operators, which take the place of estimates. `overlap` is the share, from 0 to 1, of moving
    parameters and their gradients that operators may hide.
    """
    return ask_for(MeshPlan, "operators plan", locals())


def sweep(graph: Document, devices: SupportsIndex, *, axes: SupportsIndex = 3,
          options: Document | None = None, machine: Document | None = None,
          memory: Size | None = None, optimizer_states: SupportsIndex | None = None,
          device: str | None = None,
          redistribution: Literal["shortest", "autoparallel"] | None = None,
          blocks: Literal["free", "equal"] | None = None, overlap: float | None = None,
          threads: SupportsIndex = 0, time_limit: float | None = None,
          work_limit: SupportsIndex | None = None, seed: SupportsIndex = 0,
          progress: ProgressLike = None, cancel: Cancel | None = None) -> MeshSweep:
    """Plans a traced PyTorch model on every mesh of so many devices with at most `axes` axes."""
    return ask_for(MeshSweep, "operators sweep", locals())


__all__ = ["Autoshard", "CostInstance", "MeshPlan", "MeshSweep", "Paths", "Solution", "Strategies",
           "autoshard", "build", "paths", "plan", "solve", "strategies", "sweep"]
