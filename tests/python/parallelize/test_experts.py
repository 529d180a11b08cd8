"""Training with experts sharded over the ranks."""

import unittest

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

from dtensor.groups import in_group
from shardwright.torch import parallelize

from .training import alone, differences, step

F = nn.functional
# Torch traces products of groups in bfloat16 alone, whose numbers have 8 bits. A wrong rule gives
# differences of the size of the numbers.
TOLERANCE = 3e-2
ROWS, WIDTH, HIDDEN = 12, 32, 64
# Experts that four ranks cut evenly, and experts of which the last rank has fewer than the others.
COUNTS = (4, 7)
MESHES = ((4,), (2, 2))
# Links on which bytes cost so much that a plan does not move the experts' weights.
SLOW = {"latency_us": 0, "bandwidth_gb_per_s": 1e-4}


class Experts(nn.Module):
    """Each row goes through the expert that `chosen` names."""

    def __init__(self, count):
        super().__init__()
        self.count = count
        self.up = nn.Parameter(torch.randn(count, WIDTH, HIDDEN) / 8)
        self.down = nn.Parameter(torch.randn(count, HIDDEN, WIDTH) / 8)

    def forward(self, rows, chosen):
        ends = (chosen.unsqueeze(1) <= torch.arange(self.count)).sum(0).to(torch.int32)
        order = chosen.argsort(stable=True)
        hidden = F.silu(F.grouped_mm(rows[order], self.up, offs=ends))
        return F.grouped_mm(hidden, self.down, offs=ends)[order.argsort()]


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


if __name__ == "__main__":
    unittest.main()
