"""Tokens that travel to their experts: as many places for every expert, and products over experts."""

import unittest

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

from dtensor.groups import in_group
from shardwright.torch import parallelize, plan, trace

from .training import alone, differences, step

GROUPS, TOKENS, WIDTH, HIDDEN, EXPERTS, PLACES = 12, 10, 16, 64, 8, 4
MESHES = ((4,), (2, 2))
# In 64 bits, so that rounding does not send a token elsewhere.
TOLERANCE = 1e-9
# Links on which bytes cost so much that nothing else counts.
SLOW = {"latency_us": 0, "bandwidth_gb_per_s": 1e-3}


class Dispatched(nn.Module):
    """Every token of a group goes to its best expert while that has places for the group."""

    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(WIDTH, WIDTH, bias=False)
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.up = nn.Parameter(torch.randn(EXPERTS, WIDTH, HIDDEN) / WIDTH**0.5)
        self.down = nn.Parameter(torch.randn(EXPERTS, HIDDEN, WIDTH) / HIDDEN**0.5)

    def forward(self, x):
        x = self.enter(x)
        gate, best = self.router(x).softmax(-1).max(-1)
        chosen = (best.unsqueeze(-1) == torch.arange(EXPERTS)).to(x.dtype)
        place = chosen.cumsum(1) - 1
        slots = chosen.unsqueeze(-1) * (place.unsqueeze(-1) == torch.arange(PLACES))
        tokens = torch.einsum("gtec,gtw->egcw", slots, x)
        made = torch.bmm(torch.bmm(tokens.reshape(EXPERTS, -1, WIDTH), self.up).relu(), self.down)
        made = made.reshape(EXPERTS, GROUPS, PLACES, WIDTH)
        return x + torch.einsum("gtec,egcw->gtw", slots * gate[..., None, None], made)


def make():
    torch.manual_seed(0)
    return Dispatched().double(), (torch.randn(GROUPS, TOKENS, WIDTH).double(),)


def options(shape):
    """Groups over the first axis, experts over the last one."""
    tokens, experts = ["S0"] + ["R"] * (len(shape) - 1), ["R"] * (len(shape) - 1) + ["S0"]
    return {"placements": {"inputs": {"x": tokens}, "outputs": {"0": tokens},
                           "parameters": {"up": experts, "down": experts}},
            "collectives": {"model": "rings", "links": [SLOW] * len(shape)}}


def moves(graph, planned):
    """(elements, source, target) of what the plan moves."""
    nodes, rows = graph.document["nodes"], planned.nodes
    found = []
    for node, row in zip(nodes, rows):
        for (producer, output), target, us in zip(node.get("inputs", ()), row.inputs, row.redistribute_us):
            if us > 0:
                elements = torch.Size(nodes[producer]["outputs"][output]["shape"]).numel()
                found.append((elements, rows[producer].outputs[output], target))
    return found


def train(shape):
    model, args = make()
    parallel = parallelize(model, init_device_mesh("cpu", shape), args, outputs="full", **options(shape))
    return differences(step(parallel, args), alone(model, args), TOLERANCE)


def train_all():
    return {shape: train(shape) for shape in MESHES}


class TokensThatTravel(unittest.TestCase):
    def test_all_to_alls_take_tokens_to_experts_and_back(self):
        graph = trace(*make())
        planned = plan(graph, (4,), **options((4,)))
        self.assertEqual(planned.status, "optimal")
        products = [row for node, row in zip(graph.document["nodes"], planned.nodes)
                    if node["op"] == "aten.bmm.default" and node["outputs"][0]["shape"][0] == EXPERTS]
        self.assertEqual(len(products), 6)  # two, and two gradients of each
        for row in products:
            self.assertEqual(row.inputs, (("S0",), ("S0",)))
        tokens = [(source, target) for elements, source, target in moves(graph, planned)
                  if elements == EXPERTS * GROUPS * PLACES * WIDTH]
        self.assertEqual(len(tokens), 4)  # there and back, in the forward and in the backward
        for source, target in tokens:
            self.assertEqual((source[0][0], target[0][0]), ("S", "S"))
            self.assertNotEqual(source, target)

    def test_training_is_the_same(self):
        for answers in in_group(4, train_all):
            for shape, sentences in answers.items():
                with self.subTest(shape=shape):
                    self.assertEqual(sentences, [])


if __name__ == "__main__":
    unittest.main()
