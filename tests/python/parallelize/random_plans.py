"""Valid plans of a traced model whose every choice is random."""

import json
import random

from shardwright.torch import ModelPlan

TRIES = 20  # the last one replicates


def fits(tensor, words, mesh):
    """No dimension has fewer elements than the axes that shard it have ranks."""
    ranks = {}
    for word, size in zip(words, mesh):
        if word[0] == "S":
            dim = int(word[1:])
            ranks[dim] = ranks.get(dim, 1) * size
    return all(dim < len(tensor["shape"]) and tensor["shape"][dim] >= count
               for dim, count in ranks.items())


def mixes(words):
    """DTensor reduces terms of one kind only."""
    kinds = {word for word in words if word[0] == "P"}
    return len(kinds - {"Pavg"} | ({"P"} if "Pavg" in kinds else set())) > 1


def tensors_of(graph, node):
    """Descriptions of outputs and inputs, in the order of an entry's words."""
    inputs = [graph["nodes"][producer]["outputs"][output]
              for producer, output in node.get("inputs", [])]
    return [*node["outputs"], *inputs]


def divisible(entries, mesh):
    products = {}
    for number, (entry, size) in enumerate(zip(entries, mesh)):
        key = json.dumps(entry)
        products[key] = products.get(key, 1) * size
    return all("divides" not in entry or entry["divides"] % products[json.dumps(entry)] == 0
               for entry in entries)


def can_reach(source, target):
    """Returns true if a redistribution from one to the other exists."""
    return all(new[0] != "P" or old == new for old, new in zip(source, target))


class Chooser:
    def __init__(self, graph, mesh, seed):
        self.graph = graph
        self.mesh = mesh
        self.random = random.Random(seed)
        self.rows = []

    def plan(self):
        for node in self.graph["nodes"]:
            self.rows.append(self.row(node))
        return ModelPlan.from_json(json.dumps({
            "format": "shardwright.aten_plan", "version": 1, "mesh": {"shape": list(self.mesh)},
            "status": "feasible", "objective_us": 0.0, "lower_bound_us": 0.0, "compute_us": 0.0,
            "redistribute_us": 0.0, "peak_bytes": 0, "memory_limit": None, "nodes": self.rows,
            "outputs": self.outputs()}))

    def row(self, node):
        tensors = tensors_of(self.graph, node)
        entries_of_rule = [entry for entry in self.graph["rules"][node["rule"]]["strategies"]
                           if "by_part" not in entry]
        for attempt in range(TRIES):
            entries = [self.random.choice(entries_of_rule) for _ in self.mesh]
            if attempt == TRIES - 1:
                entries = [entries_of_rule[0]] * len(self.mesh)
            placed = list(zip(*([*entry["outputs"], *entry["inputs"]] for entry in entries)))
            if self.is_valid(node, tensors, placed, entries):
                break
        outputs = len(node["outputs"])
        row = {"name": node["name"], "outputs": [list(words) for words in placed[:outputs]]}
        if "inputs" in node:
            row["inputs"] = [list(words) for words in placed[outputs:]]
        return row

    def is_valid(self, node, tensors, placed, entries):
        if not divisible(entries, self.mesh):
            return False
        if not all(tensor is None or (fits(tensor, words, self.mesh) and not mixes(words))
                   for tensor, words in zip(tensors, placed)):
            return False
        inputs = placed[len(node["outputs"]):]
        return all(can_reach(self.rows[producer]["outputs"][output], words)
                   for (producer, output), words in zip(node.get("inputs", []), inputs))

    def outputs(self):
        """Gradients and mutations are placed as what they belong to, outputs R or sharded."""
        placed = {node["target"]: row["outputs"][0]
                  for node, row in zip(self.graph["nodes"], self.rows)
                  if node.get("role") in ("parameter", "buffer", "input")}
        rows = []
        for output in self.graph["outputs"]:
            tensor = self.graph["nodes"][output["node"]]["outputs"][output["output"]]
            words = placed.get(output["target"]) if output["role"] != "output" else None
            while words is None:
                words = [self.random.choice(["R", *(f"S{dim}" for dim in range(len(tensor["shape"])))])
                         for _ in self.mesh]
                words = words if fits(tensor, words, self.mesh) else None
            rows.append({"role": output["role"], "target": output["target"], "placement": words,
                         "redistribute_us": 0.0})
        return rows


def random_plan(traced, mesh, seed):
    """The same for equal arguments."""
    return Chooser(traced.document, tuple(mesh), seed).plan()
