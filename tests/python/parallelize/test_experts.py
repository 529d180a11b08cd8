"""Training with experts sharded over the ranks."""

import unittest

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

from dtensor.groups import in_group
from shardwright.torch import parallelize, trace

from .random_plans import random_plan
from .training import alone, differences, step

F = nn.functional
# Torch traces products of groups in bfloat16 alone, whose numbers have 8 bits. A wrong rule gives
# differences of the size of the numbers.
TOLERANCE = 3e-2
ROWS, WIDTH, HIDDEN = 12, 32, 64
# Experts that four ranks cut evenly, and experts of which the last rank has fewer than the others.
COUNTS = (4, 7)
MESHES = ((4,), (2, 2))
SEEDS = 3
# Links on which bytes cost so much that a plan does not move the experts' weights.
SLOW = {"latency_us": 0, "bandwidth_gb_per_s": 1e-4}


class Experts(nn.Module):
    """Each row goes through the expert that `chosen` names."""

    def __init__(self, count):
        super().__init__()
        self.count = count
        self.up = nn.Parameter(torch.randn(count, WIDTH, 2 * HIDDEN) / 8)  # gate and up
        self.down = nn.Parameter(torch.randn(count, HIDDEN, WIDTH) / 8)

    def forward(self, rows, chosen):
        ends = (chosen.unsqueeze(1) <= torch.arange(self.count)).sum(0).to(torch.int32)
        order = chosen.argsort(stable=True)
        gate, up = F.grouped_mm(rows[order], self.up, offs=ends).chunk(2, -1)
        return F.grouped_mm(F.silu(gate) * up, self.down, offs=ends)[order.argsort()]


def make(count):
    torch.manual_seed(0)
    chosen = torch.randint(0, count, (ROWS,))
    chosen[chosen == 1] = 0  # one expert has no rows
    return Experts(count).bfloat16(), (torch.randn(ROWS, WIDTH).bfloat16(), chosen)


def train(count, shape):
    """(what differs, placements of the matrices that are multiplied)."""
    model, args = make(count)
    sharded = {name: ["S0"] * len(shape) for name in ("up", "down")}
    parallel = parallelize(model, init_device_mesh("cpu", shape), args, outputs="full",
                           placements={"parameters": sharded},
                           collectives={"model": "rings", "links": [SLOW] * len(shape)})
    nodes = parallel._planned.traced.nodes
    used = [row.inputs[1] for row in parallel.plan.nodes
            if str(nodes[row.name].target) == "aten._grouped_mm.default"
            and len(nodes[row.name].args[1].meta["val"].shape) == 3]
    return differences(step(parallel, args), alone(model, args), TOLERANCE), used


def train_randomly(count, shape, seed):
    """What differs."""
    model, args = make(count)
    plan = random_plan(trace(model, args), shape, seed)
    parallel = parallelize(model, init_device_mesh("cpu", shape), args, plan=plan, outputs="full")
    return differences(step(parallel, args), alone(model, args), TOLERANCE)


def train_all_randomly():
    return {(count, shape, seed): train_randomly(count, shape, seed)
            for count in COUNTS for shape in MESHES for seed in range(SEEDS)}


def train_all():
    return {(count, shape): train(count, shape) for count in COUNTS for shape in MESHES}


class ExpertsOnRanks(unittest.TestCase):
    def test_training_is_the_same_and_the_weights_stay(self):
        for answers in in_group(4, train_all):
            for (count, shape), (sentences, used) in answers.items():
                with self.subTest(count=count, shape=shape):
                    self.assertEqual(sentences, [])
                    self.assertGreaterEqual(len(used), 3)
                    for words in used:
                        self.assertEqual(tuple(words), ("S0",) * len(shape))

    def test_training_is_the_same_under_random_plans(self):
        for answers in in_group(4, train_all_randomly):
            for case, sentences in answers.items():
                with self.subTest(case=case):
                    self.assertEqual(sentences, [])


class Columns(unittest.TestCase):
    def test_halves_of_the_columns_can_be_cut_alike(self):
        """Each product of rows and experts can be run on a part of its columns, up to the second one's sums."""
        model, args = make(4)
        document = trace(model, args, train=False).document
        rows = {row["name"]: row for row in document["nodes"]}
        products = [row for row in rows.values() if row["op"] == "aten._grouped_mm.default"]
        self.assertEqual([row["outputs"][0]["shape"] for row in products],
                         [[ROWS, HIDDEN], [ROWS, HIDDEN], [ROWS, WIDTH]])
        for row, outputs in zip(products, ("S1", "S1", "P")):
            found = [entry["outputs"][0] for entry in document["rules"][row["rule"]]["strategies"]]
            self.assertIn(outputs, found)


if __name__ == "__main__":
    unittest.main()
