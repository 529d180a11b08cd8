"""Plans how every tensor of a traced model is sharded on a mesh. Needs no torch."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Literal, Mapping, Sequence, SupportsIndex

from .. import errors, operators
from ..answer import Cancel, made, write
from ..arguments import Document, Size

Placement = tuple[str, ...]  # a word per mesh axis: "R", "S0", "P"; "-" where there is no tensor


@dataclass(frozen=True)
class NodePlan:
    """How one operator runs."""

    name: str
    outputs: tuple[Placement, ...]
    inputs: tuple[Placement, ...] = ()  # what the operator takes; none for placeholders
    compute_us: float = 0.0
    redistribute_us: tuple[float, ...] = ()  # by input; 0 where nothing moves
    hidden_us: tuple[float, ...] = ()  # of `redistribute_us`, behind operators; none without overlap


@dataclass(frozen=True)
class OutputPlan:
    """How a tensor leaves the graph. The target of a gradient is its parameter or input."""

    role: str  # "output" or "gradient"
    target: str
    placement: Placement
    redistribute_us: float
    hidden_us: float = 0.0


@dataclass(frozen=True)
class ModelPlan:
    """The cheapest placements of a traced model. Thread safety: immutable."""

    mesh_shape: tuple[int, ...]
    status: str  # "optimal", or "feasible" if a limit ended the proof
    objective_us: float
    lower_bound_us: float  # no plan takes less time
    compute_us: float
    redistribute_us: float
    peak_bytes: int  # of a device
    memory_limit: int | None
    nodes: tuple[NodePlan, ...]  # in the order of the graph
    outputs: tuple[OutputPlan, ...]
    _json: str
    hidden_us: float = 0.0  # of `redistribute_us`, behind operators; 0 without overlap

    def to_json(self) -> str:
        """The text of a plan file."""
        return self._json

    def save(self, path: str | os.PathLike[str]) -> None:
        write(path, self._json)

    def __getitem__(self, name: str) -> NodePlan:
        """The node with this name. Raises KeyError."""
        for node in self.nodes:
            if node.name == name:
                return node
        raise KeyError(name)

    @classmethod
    def from_json(cls, text: str) -> ModelPlan:
        """Reads the text of a plan file. Raises InfeasibleError or StoppedError if it has no plan."""
        read = json.loads(text)
        if read.get("format") != "shardwright.aten_plan":
            raise errors.InvalidInputError("is no shardwright.aten_plan", "/format")
        if read["status"] == "infeasible":
            raise errors.InfeasibleError(read.get("reason", "no placements satisfy the request"))
        if "nodes" not in read:
            raise errors.StoppedError("the search was stopped before it found a plan")
        return made(cls, read, mesh_shape=tuple(read["mesh"]["shape"]), _json=text,
                    nodes=tuple(made(NodePlan, node) for node in read["nodes"]),
                    outputs=tuple(made(OutputPlan, output) for output in read["outputs"]))


def plan(graph: Document, mesh_shape: Sequence[SupportsIndex], *, memory: Size | None = None,
         optimizer_states: SupportsIndex = 2, device: str = "h100",
         redistribution: Literal["shortest", "autoparallel"] = "shortest",
         collectives: Mapping[str, Any] | None = None, blocks: Literal["free", "equal"] = "free",
         placements: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
         operator_times: Sequence[Mapping[str, Any]] | None = None,
         backend: Literal["nccl", "gloo"] = "nccl",
         overlap: float | Mapping[str, float] | None = None, threads: SupportsIndex = 0,
         time_limit: float | None = None, work_limit: SupportsIndex | None = None,
         seed: SupportsIndex = 0, cancel: Cancel | None = None) -> ModelPlan:
    """Chooses a placement for every tensor of a traced model so that a step takes least time.

    `graph` comes from `shardwright.torch.trace`, or is the dict, JSON text or path of a
    graph file. `mesh_shape` has the devices along each axis, the last axis the innermost. `memory`
    is what a device may hold: bytes or a text such as "16GiB"; every parameter counts with its
    gradient and `optimizer_states` tensors like it. `device` is the GPU whose times are estimated.
    `redistribution` is "shortest" (the cheapest moves) or "autoparallel" (AutoParallel's estimate).
    `collectives` is a model of their times, such as {"model": "dtensor"}; by default that of NCCL
    where AutoParallel knows it. `blocks` "equal" shards all repeated blocks alike. `placements`
    fixes tensors: {"inputs": {"0": ["S0", "R"]}, "parameters": {...}, "outputs": {...}}.
    `operator_times` were measured and take the place of estimates: {"op": "aten.mm.default",
    "inputs": [[8, 4], [4, 4]], "dtype": "bfloat16", "us": 8.5}, with the shapes of one device.
    `backend` runs the collectives and decides what they hold meanwhile. `overlap` is the share, from
    0 to 1, of moving parameters and their gradients that operators may hide: one number, or
    {"parameters": 0.9, "gradients": 0.5}.

    The plan is optimal unless a limit ends the search. Raises InfeasibleError if no plan fits (the
    message says how much memory would do), StoppedError if a limit ended the search before it found
    a plan, InvalidInputError with the place in the graph or the options. Thread safety: any.
    Releases the GIL.
    """
    options: dict[str, Any] = {"mesh": [int(size) for size in mesh_shape], "backend": backend}
    if overlap is not None:
        options["overlap"] = (dict(overlap) if isinstance(overlap, Mapping)
                              else {"parameters": overlap, "gradients": overlap})
    if collectives is not None:
        options["collectives"] = dict(collectives)
    machine = None if operator_times is None else {"operator_times": [dict(row) for row in operator_times]}
    if placements is not None:
        options["placements"] = {kind: {name: list(words) for name, words in by_name.items()}
                                 for kind, by_name in placements.items()}
    return ModelPlan.from_json(operators.plan(
        graph, options=options, machine=machine, memory=memory, optimizer_states=optimizer_states, device=device,
        redistribution=redistribution, blocks=blocks, threads=threads, time_limit=time_limit,
        work_limit=work_limit, seed=seed, cancel=cancel).to_json())
