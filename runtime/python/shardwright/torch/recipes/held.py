"""What the first rank holds, as a plan predicts it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Mapping, Sequence

import torch

from ..tracing.pieces import piece_of


@dataclass(frozen=True)
class Held:
    """Bytes of the first rank."""

    parameters: int
    gradients: int
    activations: int  # what the forward leaves for the backward, without parameters and inputs


def predicted(document: Mapping[str, Any], plan: Mapping[str, Any]) -> Held:
    """What a plan of a traced graph says. A view is counted as the tensor that it views, once."""
    rows, sizes = document["nodes"], plan["mesh"]["shape"]
    placed = {row["name"]: row["outputs"] for row in plan["nodes"]}

    def held(node: int, output: int, words: Sequence[str]) -> int:
        tensor = rows[node]["outputs"][output]
        piece = piece_of(tensor["shape"], words, sizes, [0] * len(sizes))
        return math.prod(piece.shape) * int(getattr(torch, tensor["dtype"]).itemsize)

    trained = {each["target"] for each in document["outputs"] if each["role"] == "gradient"}
    weights = {row["target"]: held(node, 0, placed[row["name"]][0]) for node, row in enumerate(rows)
               if row.get("role") == "parameter"}
    left = {_viewed(rows, node, output) for row in rows if row.get("phase") == "backward"
            for node, output in row["inputs"] if rows[node].get("phase") == "forward"}
    return Held(sum(weights.values()), sum(size for name, size in weights.items() if name in trained),
                sum(held(node, output, placed[rows[node]["name"]][output]) for node, output in left
                    if rows[node]["op"] != "placeholder"))


def _viewed(rows: Sequence[Mapping[str, Any]], node: int, output: int) -> tuple[int, int]:
    while rows[node].get("view") and rows[node]["inputs"]:
        node, output = rows[node]["inputs"][0]
    return node, output
