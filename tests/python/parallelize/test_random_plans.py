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


def trained(plans_of, model, mesh, args, want):
    """Returns what differs, by the number of the plan."""
    found = {}
    for number, plan in plans_of.items():
        parallel = parallelize(model, mesh, args, plan=plan, outputs="full")
        found[number] = differences(step(parallel, args), want, TOLERANCE)
    return found


def train_all():
    """Per model, batch, mesh and plan: what differs."""
    found = {}
    for name in CASES:
        for batch in BATCHES:
            model, args = make(name, batch)
            want = alone(model, args)
            traced = trace(model, args)
            for shape in MESHES:
                plans = {seed: random_plan(traced, shape, seed) for seed in range(SEEDS)}
                mesh = init_device_mesh("cpu", shape)
                for seed, sentences in trained(plans, model, mesh, args, want).items():
                    found[name, batch, shape, seed] = sentences
    return found


def setUpModule():
    """Processes of a group inherit the rules that were made here, which takes most of the time."""
    torch.set_num_threads(1)
    for name in CASES:
        for batch in BATCHES:
            trace(*make(name, batch))


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
            model, args = make(name, 8)
            plan = random_plan(trace(model, args), (2, 2), 0)
            words = [word for row in plan.nodes for placed in row.outputs for word in placed]
            with self.subTest(name):
                self.assertIn("R", words)
                self.assertIn("P", words)
                self.assertGreater(sum(word[0] == "S" for word in words), len(words) // 4)


if __name__ == "__main__":
    unittest.main()
