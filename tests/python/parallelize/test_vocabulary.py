"""Training with the vocabulary sharded from the embedding to the loss."""

import unittest

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

from dtensor.groups import in_group
from shardwright.torch import parallelize

from .models import Block
from .training import alone, differences, step

F = nn.functional
TOLERANCE = 1e-9  # as in test_random_plans.py
IGNORED = -100
# A vocabulary that four ranks cut evenly, with a head that is tied to the embedding, and one that they do not.
MODELS = ((1000, True), (993, False))
# Links on which bytes cost so much that a plan does not gather what has the vocabulary.
SLOW = {"latency_us": 0, "bandwidth_gb_per_s": 1e-4}
# By name: mesh, and the placement of what has the vocabulary, with "V" for its dimension.
PLACEMENTS = {"all": ((4,), ("V",)), "both axes": ((2, 2), ("V", "V")), "inner": ((2, 2), ("R", "V"))}


class Model(nn.Module):
    """Token ids and targets in, loss and logits out. The head has weights of its own if it is not tied."""

    def __init__(self, vocabulary, is_tied, width=16):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width, padding_idx=vocabulary - 1)
        self.block = Block(width, 4)
        self.head = nn.Linear(width, vocabulary, bias=not is_tied)
        if is_tied:
            self.head.weight = self.tokens.weight

    def forward(self, ids, targets):
        logits = self.head(self.block(self.tokens(ids)))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORED), logits


def make(vocabulary, is_tied):
    torch.manual_seed(0)
    ids = torch.randint(0, vocabulary, (4, 6))
    ids[0, :2] = vocabulary - 1
    targets = torch.randint(0, vocabulary, (4, 6))
    targets[1, :3] = IGNORED
    return Model(vocabulary, is_tied).double(), (ids, targets)


def placed(words, is_tied):
    rows, last = ([word.replace("V", dim) for word in words] for dim in ("S0", "S2"))
    parameters = {"tokens.weight": rows}
    if not is_tied:
        parameters |= {"head.weight": rows, "head.bias": rows}
    return {"parameters": parameters, "outputs": {"1": last}, "tangents": {"1": last}}


def train(vocabulary, is_tied, case):
    """(what differs, placements of the operators that have the vocabulary)."""
    shape, words = PLACEMENTS[case]
    model, args = make(vocabulary, is_tied)
    collectives = {"model": "rings", "links": [SLOW] * len(shape)}
    parallel = parallelize(model, init_device_mesh("cpu", shape), args, outputs="full",
                           placements=placed(words, is_tied), collectives=collectives)
    planned = {row.name: row for row in parallel.plan.nodes}
    nodes = parallel._planned.traced.nodes
    used = {str(node.target): planned[name].outputs[0] for name, node in nodes.items()
            if node.op == "call_function"}
    return differences(step(parallel, args), alone(model, args), TOLERANCE), used


def train_all():
    return {(vocabulary, is_tied, case): train(vocabulary, is_tied, case)
            for vocabulary, is_tied in MODELS for case in PLACEMENTS}


class Vocabulary(unittest.TestCase):
    def test_training_is_the_same_and_nothing_gathers_the_logits(self):
        for answers in in_group(4, train_all):
            for (vocabulary, is_tied, case), (sentences, used) in answers.items():
                with self.subTest(vocabulary=vocabulary, is_tied=is_tied, case=case):
                    self.assertEqual(sentences, [])
                    self.uses_pieces(PLACEMENTS[case][1], used)

    def uses_pieces(self, words, used):
        for operator, word in (("exp", "S2"), ("amax", "Pmax"), ("gather", "P"), ("scatter_add", "S2"),
                               ("embedding", "P"), ("embedding_dense_backward", "S0")):
            found = used[f"aten.{operator}.default"]
            for axis, own in enumerate(words):
                if own == "V":
                    self.assertEqual(found[axis], word, operator)


if __name__ == "__main__":
    unittest.main()
