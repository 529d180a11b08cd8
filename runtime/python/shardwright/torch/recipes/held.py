"""What the first rank holds, as a plan predicts it. Needs no torch."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Mapping, Sequence


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
        extents: list[int] = list(tensor["shape"])
        for size, word in zip(sizes, words):
            if word.startswith("S"):
                extents[int(word[1:])] = -(-extents[int(word[1:])] // size)
        return math.prod(extents) * _bytes_of(tensor["dtype"])

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


def _bytes_of(dtype: str) -> int:
    """Of torch's name of a type, which ends with its bits, and of which bool is the exception."""
    bits = re.search(r"(\d+)", dtype)
    return int(bits[1]) // 8 if bits else 1
