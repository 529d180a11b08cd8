"""Models of the transformers package: plans that are random and plans that are the best."""

import unittest
import warnings

from torch.distributed.device_mesh import init_device_mesh

from dtensor.groups import in_group
from shardwright.torch import parallelize, trace

from . import hugging_face
from .random_plans import random_plan
from .training import alone, differences, step

MESH = (2, 2)
# These models compute norms and rotations in 32 bits whatever their weights have, so that sums in
# another order differ by about 1e-7 of their terms, and gradients by some times that.
TOLERANCE = 5e-5


def train(name):
    """What differs, under a random plan and under the best one."""
    warnings.simplefilter("ignore")
    model, arguments = hugging_face.make(name)
    want = alone(model, (), arguments)
    traced = trace(model, arguments)
    mesh = init_device_mesh("cpu", MESH)
    sharded = {"inputs": {each.target: ["S0", "S0"] for each in traced.joint.placeholders
                          if each.role == "input"}}
    models = {"random": parallelize(model, mesh, arguments, plan=random_plan(traced, MESH, 0)),
              "best": parallelize(model, mesh, arguments, placements=sharded, outputs="full")}
    found = {}
    for kind, parallel in models.items():
        result = parallel(**arguments)
        found[kind] = differences(step(parallel, (), arguments), want, TOLERANCE)
        if type(result).__name__ != type(model(**arguments)).__name__:
            found[kind].append(f"the result is a {type(result).__name__}")
    return found


def train_all():
    return {name: train(name) for name in hugging_face.NAMES}


class Transformers(unittest.TestCase):
    def test_a_step_of_training_is_the_same_under_random_and_best_plans(self):
        for answers in in_group(4, train_all):
            self.assertEqual(len(answers), len(hugging_face.NAMES))
            for name, by_kind in answers.items():
                for kind, sentences in by_kind.items():
                    with self.subTest(name=name, kind=kind):
                        self.assertEqual(sentences, [])


if __name__ == "__main__":
    unittest.main()
