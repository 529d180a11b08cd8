"""Plans that people know, as roles of axes and placements of parameters on a tensor axis."""

from __future__ import annotations

from typing import Any, Iterator, Mapping

from .recipe import pattern_of
from .structure import Structure

_WIDEST_TENSOR_AXES = (2, 4, 8)


def tensor_parallel(document: Mapping[str, Any], structure: Structure, tied: Mapping[str, str]) -> dict[str, str]:
    """Words of divided parameters, as in Megatron: a linear module of a block divides its columns, and the next
    one, which has nothing but elementwise operators and attention before it, its rows. Embeddings of
    words and heads divide the vocabulary.
    """
    leaves = _Leaves(document, structure)
    words: dict[str, str] = {}
    for rows in leaves.linears:
        before = leaves.before(rows)
        is_second = before and before <= leaves.linears and rows not in words
        if not is_second or any(words.get(each, "S0") != "S0" for each in before):
            continue
        words[rows] = "S1"
        words.update({each: "S0" for each in before})
    found = {}
    for path, word in words.items():
        found[f"{path}.weight"] = word
        if word == "S0" and getattr(structure.model.get_submodule(path), "bias", None) is not None:
            found[f"{path}.bias"] = "S0"
    found.update(_vocabulary(structure, leaves, tied))
    return {tied.get(name, name): word for name, word in found.items()}


def _vocabulary(structure: Structure, leaves: _Leaves, tied: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Tables and heads with the extent of the vocabulary. The planner divides a bias with the weight of its
    module by their names, so a head whose bias is another module's stays whole with its table.
    """
    size = getattr(getattr(structure.model, "config", None), "vocab_size", None)
    kept = {tied.get(f"{path}.weight", f"{path}.weight") for path, _ in structure.model.named_modules()
            if f"{path}.bias" in tied}
    for path, module in structure.model.named_modules():
        kind, weight = structure.kind(path), getattr(module, "weight", None)
        name = f"{path}.weight"
        if weight is None or weight.shape[0] != size or tied.get(name, name) in kept:
            continue
        if kind == "embedding" or (kind == "linear" and leaves.is_head(path)):
            yield name, "S0"
            if getattr(module, "bias", None) is not None:
                yield f"{path}.bias", "S0"


class _Leaves:
    """Which linear modules come right before which."""

    def __init__(self, document: Mapping[str, Any], structure: Structure) -> None:
        self._nodes = document["nodes"]
        self._heads = {self._nodes[each["node"]].get("module", "") for each in document["outputs"]
                       if each["role"] == "output"}
        self._own = {path for path, module in structure.model.named_modules()
                     if path and any(True for _ in module.parameters(recurse=False))}
        lists = tuple(each.path + "." for each in structure.lists)
        self.linears = {path for path in self._own if structure.kind(path) == "linear" and path.startswith(lists)}
        self._before: list[frozenset[str]] = []
        for row in self._nodes:
            sources = frozenset().union(*(self._result(node) for node, _ in row.get("inputs", ())))
            self._before.append(sources if row.get("phase") == "forward" else frozenset())
        self._of: dict[str, set[str]] = {}
        for row in self._nodes:
            if row.get("phase") == "forward" and (path := row.get("module", "")) in self.linears:
                self._of.setdefault(path, set()).update(*(self._result(node) for node, _ in row["inputs"]
                                                          if self._nodes[node].get("module") != path))

    def _result(self, node: int) -> frozenset[str]:
        """The modules with parameters whose results a tensor is made of."""
        path = self._nodes[node].get("module", "")
        if self._nodes[node]["op"] == "aten.alias.default":
            return self._result(self._nodes[node]["inputs"][0][0])
        return frozenset((path,)) if path in self._own else self._before[node]

    def before(self, path: str) -> set[str]:
        return self._of.get(path, set())

    def is_head(self, path: str) -> bool:
        return path in self._heads


def baselines(document: Mapping[str, Any], structure: Structure, tied: Mapping[str, str], devices: int
              ) -> list[dict[str, Any]]:
    """FSDP, FSDP with tensor parallelism of 2, 4 and 8, and HSDP with two replicas, for a sweep's options."""
    found: list[dict[str, Any]] = [{"name": "FSDP", "mesh": [devices], "roles": ["shard"]}]
    divided = tensor_parallel(document, structure, tied)
    words = {row["target"]: divided.get(row["target"], "R") for row in document["nodes"]
             if row.get("role") == "parameter"}
    for size in _WIDEST_TENSOR_AXES:
        if divided and devices % size == 0 and size <= devices and _fits(structure, size):
            alone = devices == size
            axes: list[str] = [] if alone else ["*"]
            found.append({"name": f"TP {size}" if alone else f"FSDP + TP {size}",
                          "mesh": [size] if alone else [devices // size, size],
                          "roles": ["tensor"] if alone else ["shard", "tensor"],
                          "placements": {"parameters": by_pattern(
                              {name: [*axes, word] for name, word in words.items()}, structure)}})
    if devices % 2 == 0 and devices > 2:
        found.append({"name": "HSDP", "mesh": [2, devices // 2], "roles": ["replicate", "shard"]})
    return found


def _fits(structure: Structure, size: int) -> bool:
    """Heads of attention divide by the tensor axis."""
    config = getattr(structure.model, "config", None)
    heads = [getattr(config, name, None) for name in ("num_attention_heads", "num_key_value_heads", "n_head", "num_heads")]
    return all(count % size == 0 for count in heads if isinstance(count, int))


def by_pattern(words: Mapping[str, Any], structure: Structure) -> dict[str, Any]:
    """With `*` for the numbers of blocks that are alike."""
    groups: dict[str, dict[str, Any]] = {}
    for name, word in words.items():
        groups.setdefault(pattern_of(name, structure.lists), {})[name] = word
    found: dict[str, Any] = {}
    for pattern, group in groups.items():
        alike = len({tuple(word) for word in group.values()}) == 1
        found.update({pattern: next(iter(group.values()))} if alike and "*" in pattern else group)
    return found
