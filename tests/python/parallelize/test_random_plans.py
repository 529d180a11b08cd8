"""Under every plan that the rules allow, a model computes what it computes by itself."""

import unittest

import torch
from torch.distributed.device_mesh import init_device_mesh

from dtensor.groups import in_group
from shardwright.torch import parallelize, trace

from .models import CASES, make
from .random_plans import random_plan
from .training import alone, differences, step

MESHES = ((4,), (2, 2))
BATCHES = (8, 5)  # four ranks hold 2, 2, 1 and 0 of five
SEEDS = 2
# Sums in another order differ by about 1e-16 for each of some hundred terms; sums of a few of those
# are divided by small numbers. A wrong rule gives differences of at least 1e-3 here.
TOLERANCE = 1e-9


TRACED = {}  # by model and batch; processes of a group inherit them


def train_all():
    """Per model, batch, mesh and plan: what differs."""
    found = {}
    for name in CASES:
        for batch in BATCHES:
            model, args = make(name, batch)
            want, traced = alone(model, args), TRACED[name, batch]
            for shape in MESHES:
                mesh = init_device_mesh("cpu", shape)
                for seed in range(SEEDS):
                    parallel = parallelize(model, mesh, args, traced=traced, outputs="full",
                                           plan=random_plan(traced, shape, seed))
                    found[name, batch, shape, seed] = differences(step(parallel, args), want, TOLERANCE)
    return found


def setUpModule():
    torch.set_num_threads(1)
    TRACED.update({(name, batch): trace(*make(name, batch)) for name in CASES for batch in BATCHES})


class RandomPlans(unittest.TestCase):
    def test_a_step_of_training_is_the_same_under_every_plan(self):
        for answers in in_group(4, train_all):
            self.assertEqual(len(answers), len(CASES) * len(BATCHES) * len(MESHES) * SEEDS)
            for case, sentences in answers.items():
                with self.subTest(case=case):
                    self.assertEqual(sentences, [])

    def test_plans_are_mixed(self):
        """Otherwise the sample shows nothing."""
        for name in CASES:
            plan = random_plan(TRACED[name, 8], (2, 2), 0)
            words = [word for row in plan.nodes for placed in row.outputs for word in placed]
            with self.subTest(name):
                self.assertIn("R", words)
                self.assertIn("P", words)
                self.assertGreater(sum(word[0] == "S" for word in words), len(words) // 4)


if __name__ == "__main__":
    unittest.main()
