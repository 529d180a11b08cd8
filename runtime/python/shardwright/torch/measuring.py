"""Measures what a traced model's operators take on this machine."""

from __future__ import annotations

import json
import os
import statistics
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence

import torch
import torch.fx

from .. import errors
from .model_plan import ModelPlan
from .timing import default_device, once_us
from .tracing.calls import HOLE, Meta, call_of, output_metas, replace, with_holes
from .tracing.document import TracedModel
from .tracing.localise import localised
from .tracing.pieces import piece_of
from .tracing.rules.entries import dim_of

Shape = tuple[int, ...]
# Placements of the outputs and the inputs, each a word per mesh axis.
_Words = tuple[tuple[Sequence[str], ...], tuple[Sequence[str], ...]]


class UnmeasuredOperatorWarning(UserWarning):
    """An operator that failed on local tensors of values that mean nothing. Estimates stay."""


@dataclass(frozen=True)
class _Key:
    """What the planner finds a time by."""

    op: str
    inputs: tuple[Shape, ...]  # local
    dtype: str  # of the first input

    def row(self, us: float) -> dict[str, Any]:
        return {"op": self.op, "inputs": [list(shape) for shape in self.inputs],
                "dtype": self.dtype, "us": us}


def measure_operators(traced: TracedModel, mesh_shape: Sequence[int], *, plan: ModelPlan | None = None,
                      device: str | torch.device | None = None,
                      file: str | os.PathLike[str] | None = None, warmup: int = 2,
                      runs: int = 7) -> list[dict[str, Any]]:
    """Returns rows for `plan(operator_times=...)`: the median time of every operator, on the local
    shapes of every placement that its rule allows on the mesh, or of those of `plan` alone.

    `device` is "cuda" where there is one, otherwise "cpu". After `warmup` runs, the operator runs
    `runs` times on arbitrary values: effects of values, such as where indices point, are not
    measured. Nodes that differ only in arguments that are no tensors have one time, that of the
    first. Views, and operators without tensors to read, are not measured.

    Rows that `file` has are not measured again. The file is then written with the old and new rows,
    for `shardwright operators plan --machine` to read; what else it has is kept. A file is of one
    kind of device.

    Warns with UnmeasuredOperatorWarning of operators that fail. Raises InvalidInputError for a plan
    of another graph or mesh, OSError for a file that cannot be read or written. Thread safety: any,
    but other work in the process makes times longer.
    """
    if runs < 1 or warmup < 0:
        raise errors.InvalidInputError("must be at least 1 run, and no less than 0 before", "runs")
    mesh = tuple(map(int, mesh_shape))
    if plan is not None and plan.mesh_shape != mesh:
        raise errors.InvalidInputError(f"is for the mesh {plan.mesh_shape}, not {mesh}", "plan")
    where = default_device(device)
    document: dict[str, Any] = {}
    if file is not None and os.path.exists(file):
        document = json.loads(Path(file).read_text(encoding="utf-8"))
    known: list[dict[str, Any]] = document.get("operator_times", [])
    rows = {_Key(row["op"], tuple(map(tuple, row["inputs"])), row["dtype"]): row for row in known}
    failed: dict[str, str] = {}
    with torch.no_grad():
        for key, prepare in _calls(traced, mesh, plan, where, rows):
            try:
                run = prepare()
                for _ in range(warmup):
                    run()
                rows[key] = key.row(statistics.median(once_us(run, where) for _ in range(runs)))
            except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError) as error:
                failed.setdefault(key.op, str(error).split("\n")[0])
    for op, sentence in failed.items():
        warnings.warn(f"{op} was not measured: {sentence}", UnmeasuredOperatorWarning, stacklevel=2)
    if file is not None:
        document["operator_times"] = list(rows.values())
        Path(file).write_text(json.dumps(document, indent=1), encoding="utf-8")
    return list(rows.values())


def _prepared(node: torch.fx.Node, words: _Words, mesh: tuple[int, ...], device: torch.device
              ) -> Callable[[], Any]:
    """Makes the tensors of one device, and returns what runs the node's operator on them."""
    inputs, first = call_of(node).inputs, [0] * len(mesh)
    pieces = [piece_of(meta.shape, own, mesh, first) for meta, own in zip(inputs, words[1])]
    outputs = [None if meta is None else piece_of(meta.shape, own, mesh, first)
               for meta, own in zip(output_metas(node), words[0])]
    tensors = iter([_tensor(meta, piece.shape, device) for meta, piece in zip(inputs, pieces)])

    def filled(leaf: Any) -> Any:
        return next(tensors) if leaf is HOLE else leaf

    function, arguments = localised(node.target, with_holes(node.args), pieces, outputs)
    arguments = replace(arguments, filled)
    keywords = {key: replace(with_holes(value), filled) for key, value in node.kwargs.items()}
    if keywords.get("device") is not None:
        keywords["device"] = device
    return lambda: function(*arguments, **keywords)


def _tensor(meta: Meta, shape: Shape, device: torch.device) -> torch.Tensor:
    """A tensor whose dimensions have the order in memory that those of the whole tensor have."""
    order = sorted(range(len(shape)), key=lambda dim: -meta.stride[dim])
    place = sorted(range(len(shape)), key=lambda dim: order[dim])
    tensor = torch.zeros([shape[dim] for dim in order], dtype=meta.dtype, device=device).permute(place)
    if meta.dtype.is_floating_point and meta.dtype.itemsize > 1:
        tensor.uniform_(0.5, 1.5)  # some devices add zeros faster
    return tensor


def _calls(traced: TracedModel, mesh: tuple[int, ...], plan: ModelPlan | None, device: torch.device,
           known: Mapping[_Key, Any]) -> Iterator[tuple[_Key, Callable[[], Callable[[], Any]]]]:
    """Each operator with local shapes that are not in `known`."""
    seen = set(known)
    planned = None if plan is None else {row.name: row for row in plan.nodes}
    rules = traced.document["rules"]
    for row in traced.document["nodes"]:
        node = traced.nodes[row["name"]]
        if node.op != "call_function" or row.get("view") or not row["inputs"]:
            continue
        inputs = call_of(node).inputs
        if planned is None:
            allowed = _allowed(rules[row["rule"]]["strategies"], output_metas(node), inputs, mesh)
        elif row["name"] in planned:
            own = planned[row["name"]]
            allowed = [(own.outputs, own.inputs)]
        else:
            raise errors.InvalidInputError(f"has no node {row['name']}", "plan")
        for words in allowed:
            key = _Key(row["op"], tuple(
                piece_of(meta.shape, own_words, mesh, [0] * len(mesh)).shape
                for meta, own_words in zip(inputs, words[1])),
                str(inputs[0].dtype).removeprefix("torch."))
            if key not in seen:
                seen.add(key)
                yield key, partial(_prepared, node, words, mesh, device)


def _allowed(strategies: Sequence[Mapping[str, Any]], outputs: Sequence[Meta | None],
             inputs: Sequence[Meta], mesh: tuple[int, ...]) -> Iterable[_Words]:
    """The placements of an operator on the mesh: a strategy for each axis, so that no device is left
    without elements. Strategies on a part of the batch are left out: parts of other inputs do not run there.
    """
    shapes = [None if meta is None else meta.shape for meta in (*outputs, *inputs)]
    entries = [((*entry["outputs"], *entry["inputs"]), entry.get("divides")) for entry in strategies
               if "by_part" not in entry]

    def extend(axis: int, words: tuple[Shape | tuple[str, ...], ...], devices: list[int]
               ) -> Iterator[_Words]:
        if axis == len(mesh):
            yield words[:len(outputs)], words[len(outputs):]  # type: ignore[misc]
            return
        for number, (entry, divides) in enumerate(entries):
            longer = tuple((*own, word) for own, word in zip(words, entry))
            more = [count * mesh[axis] if index == number else count
                    for index, count in enumerate(devices)]
            if (divides is None or divides % more[number] == 0) and all(
                    _has_elements(shape, own, mesh) for shape, own in zip(shapes, longer)):
                yield from extend(axis + 1, longer, more)

    return extend(0, ((),) * len(shapes), [1] * len(entries))


def _has_elements(shape: Shape | None, words: Sequence[str], mesh: tuple[int, ...]) -> bool:
    parts: dict[int, int] = {}
    for word, size in zip(words, mesh):
        if (dim := dim_of(word)) is not None:
            parts[dim] = parts.get(dim, 1) * size
    return shape is None or all(count == 1 or shape[dim] >= count for dim, count in parts.items())
